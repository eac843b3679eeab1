/** How much host memory the arrays of a space may take. */
import { BLOCK_BYTES } from '../core/types.js';
import { cgroupMemory, systemMemory } from '../linux/process.js';
import type { DeviceOptions } from '../pager/protocol/space.js';
import { argumentError } from './errors.js';
import { toBytes } from './sizes.js';

/** Of the memory of the machine or the control group, what a space may use unless it is told. */
const HOST_SHARE = 0.7;

/** A block for each of 15 threads that may fault at once without getting in each other's way, and one. */
const LEAST_HOST_BYTES = 16 * BLOCK_BYTES;

/** The host's budget, in bytes, as it was said or by what there is. Warns of more than there is. */
export function hostBudget(said: number | string | undefined, devices: readonly DeviceOptions[]): number {
  const bytes = said === undefined ? defaultHostMemory() : hostBytes(said);
  warnOfMemory(bytes, said !== undefined, devices);
  return bytes;
}

/** What a program has said, as bytes: refused where it is too little. */
export function hostBytes(said: number | string): number {
  const bytes = toBytes('hostMemory', said);
  if (bytes < LEAST_HOST_BYTES) {
    throw argumentError(
      'HOST_MEMORY',
      `hostMemory is ${bytes} bytes; it must be at least ${LEAST_HOST_BYTES} (32MiB), of which each thread that waits in a fault needs 2 MiB`,
    );
  }
  return bytes;
}

/** Budgets that the machine cannot keep end in the kernel's choice of a process to kill: the program that asked for them should know. */
function warnOfMemory(hostBytes: number, chosen: boolean, devices: readonly DeviceOptions[]): void {
  const most = memoryLimit();
  const warn = (what: string): void =>
    process.emitWarning(
      `${what}, more than the ${most} bytes of this machine or container; when they are used, the kernel ends a process`,
      {
        type: 'OnememWarning',
        code: 'ONEMEM_MEMORY',
      },
    );
  if (chosen && hostBytes > most) warn(`hostMemory is ${hostBytes} bytes`);
  const together = devices.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
  if (together > most) warn(`the memory of the devices is ${together} bytes, which are memory of the host`);
}

/** The memory of the machine, or of the control group where that is less. */
function memoryLimit(): number {
  return Math.min(systemMemory().total, cgroupMemory().limit);
}

function defaultHostMemory(): number {
  return Math.max(Math.floor((memoryLimit() * HOST_SHARE) / BLOCK_BYTES) * BLOCK_BYTES, LEAST_HOST_BYTES);
}
