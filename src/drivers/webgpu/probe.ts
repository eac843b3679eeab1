/** Says on standard output what GPU there is, as JSON: `{ facts, memory }` or `{ problem }`. */
import { writeSync } from 'node:fs';
import { exitImmediately } from '../../linux/processes/process.js';
import { openTransport } from './gpu/choice.js';
import { type GpuMemory, memoryOf } from './gpu/gpu-memory.js';
import { physicalGpus } from './gpu/vulkan.js';
import type { TransportChoice } from './link/protocol.js';

const STANDARD_OUTPUT = 1;
/** What is to drive it, if that was said. */
const [, , said] = process.argv;

function say(found: unknown): never {
  writeSync(STANDARD_OUTPUT, JSON.stringify(found));
  return exitImmediately(0);
}

/** Null where Vulkan cannot be asked. */
function memoryNamed(model: string): GpuMemory | null {
  try {
    return memoryOf(physicalGpus(), model);
  } catch {
    return null;
  }
}

openTransport(said === undefined ? undefined : (JSON.parse(said) as TransportChoice), null).then(
  ({ facts }) =>
    say({ facts, memory: facts.model === undefined ? null : memoryNamed(facts.model) }),
  (error: unknown) => say({ problem: error instanceof Error ? error.message : String(error) }),
);
