/** How much host memory the arrays of a space may take. */
import { BLOCK_BYTES } from '../core/types.js';
import { cgroupMemory, memoryGroups, memoryLeft, systemMemory, textReader } from '../linux/system-memory.js';
import { firstBudget, LEAST_HOST_BYTES } from '../policy/host-budget.js';
import type { DescribedDevice } from './device-specification.js';
import { argumentError } from './errors.js';
import { toBytes } from './sizes.js';

/** Of the memory of the machine or the control group, what a space may use unless it is told. */
const HOST_SHARE = 0.7;

/** What a program says to have the host's budget follow what the machine and its control groups have left. */
export const AUTO = 'auto';

/** The host's budget, in bytes, as it was said or by what there is. Warns of more than there is. @param root of this machine's files */
export function hostBudget(
  said: number | string | undefined,
  devices: readonly DescribedDevice[],
  root: string,
): number {
  const follows = said === AUTO;
  const most = memoryLimit();
  const bytes = follows ? followedMemory(root) : said === undefined ? defaultHostMemory(most) : hostBytes(said);
  warnOfMemory(bytes, most, said !== undefined && !follows, devices);
  return bytes;
}

/** What `hostMemory: 'auto'` begins with. */
export function followedMemory(root = ''): number {
  const read = textReader(root);
  const { limit, available } = memoryLeft(memoryGroups(read), read);
  return firstBudget(limit, available);
}

/** What a program has said, as bytes: refused where it is too little. */
export function hostBytes(said: number | string): number {
  if (typeof said === 'string' && /^auto$/i.test(said)) {
    throw argumentError('SIZE', "hostMemory is followed by openSpace({ hostMemory: 'auto' }) alone, in these letters");
  }
  const bytes = toBytes('hostMemory', said, '32MiB');
  if (bytes < LEAST_HOST_BYTES) {
    throw argumentError(
      'SIZE',
      `hostMemory is ${bytes} bytes; it must be at least ${LEAST_HOST_BYTES} (32MiB), of which each thread that waits in a fault needs 2 MiB`,
    );
  }
  return bytes;
}

/** Budgets that the machine cannot keep end in the kernel's choice of a process to kill: the program that asked for them should know. */
export function warnOfMemory(
  hostBytes: number,
  most: number,
  chosen: boolean,
  devices: readonly DescribedDevice[],
): void {
  const warn = (what: string): void =>
    process.emitWarning(
      `${what}, more than the ${most} bytes of this machine or container; when they are used, the kernel ends a process`,
      {
        type: 'OnememWarning',
        code: 'ONEMEM_MEMORY',
      },
    );
  if (chosen && hostBytes > most) warn(`hostMemory is ${hostBytes} bytes`);
  // A GPU has memory of its own, but for one that is lent, whose content is in the host's memory, too.
  const others = devices.filter(({ kind, lossy }) => kind !== 'webgpu' || !lossy);
  const together = others.reduce((sum, { memoryBytes }) => sum + (memoryBytes ?? 0), 0);
  if (together > most) warn(`the memory of the devices is ${together} bytes, which are memory of the host`);
}

/** The memory of the machine, or of the control group where that is less. */
export function memoryLimit(): number {
  return Math.min(systemMemory().total, cgroupMemory().limit);
}

export function defaultHostMemory(most = memoryLimit()): number {
  return Math.max(Math.floor((most * HOST_SHARE) / BLOCK_BYTES) * BLOCK_BYTES, LEAST_HOST_BYTES);
}
