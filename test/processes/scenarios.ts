/**
 * Scenarios of the kernel's tests of heterogeneous memory across processes: on a device with page
 * faults, and on one without. GPUs play them in test/webgpu.
 */
import { processScenarios } from '../harness/process-scenarios.js';
import { LONG, runTests } from '../harness/suite.js';

for (const kind of LONG ? (['process', 'simulated'] as const) : (['process'] as const))
  processScenarios(kind, { kind, memory: '8MiB' });

await runTests();
