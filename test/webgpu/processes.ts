/**
 * Scenarios of the kernel's tests of heterogeneous memory across processes, on GPUs: of a process
 * of their own, and lent by the program.
 */
import { ownGpu } from '../harness/own-gpu.js';
import { processScenarios } from '../harness/process-scenarios.js';
import { LONG, runTests } from '../harness/suite.js';

const lent = LONG ? await ownGpu() : null;
processScenarios('webgpu', { kind: 'webgpu', memory: '8MiB' });
if (lent !== null)
  processScenarios('webgpu-lent', { kind: 'webgpu', device: lent, memory: '8MiB' });

await runTests(60);
lent?.destroy();
await lent?.lost;
