/** How much host memory the arrays of a space may take. */
import { textReader } from '../../linux/base/text-files.js';
import {
  cgroupMemory,
  memoryGroups,
  memoryLeft,
  systemMemory,
} from '../../linux/memory/system-memory.js';
import {
  firstBudget,
  type HostDevices,
  LEAST_HOST_BYTES,
  memoryNeeds,
} from '../../policy/host-budget.js';
import { argumentError, OnememError, warn } from '../values/errors.js';
import { toBytes } from '../values/sizes.js';
import { rulesOf } from './described-devices.js';
import type { DescribedDevice } from './device-specification.js';

/** The host's budget follows what the machine and its control groups have left. */
export const AUTO = 'auto';

/**
 * The host's budget in bytes. Warns of more than there is.
 * @param root of the machine's files
 * @param besides bytes of this machine's memory that the space takes, too
 */
export function hostBudget(
  said: number | string | undefined,
  devices: readonly DescribedDevice[],
  root: string,
  besides: number,
): number {
  const { processes, bytes: taken } = onHost(devices);
  const own = { processes, bytes: taken + besides };
  const follows = said === AUTO;
  const bytes = said === undefined || follows ? defaultHostMemory(own, root) : hostBytes(said);
  const most = memoryLimit();
  if (said !== undefined && !follows) checkGroup(bytes, own.bytes);
  warnOfMemory(bytes, most, said !== undefined && !follows, devices);
  return bytes;
}

/**
 * What arrays get unless the program says it. Fails where a control group has too little for all
 * that was asked for: its kernel would end a process. A machine may have more later, or swap.
 */
function defaultHostMemory(devices: HostDevices, root: string): number {
  const { limit, available, grouped } = memoryThere(root);
  const bytes = firstBudget(limit, available, devices);
  if (bytes >= LEAST_HOST_BYTES || !grouped) return Math.max(bytes, LEAST_HOST_BYTES);
  const { space, processes, devices: memory, spare } = memoryNeeds(limit, devices);
  const parts = [
    `${mebibytes(limit - available)} are in use`,
    `${mebibytes(LEAST_HOST_BYTES)} are the least for arrays`,
    `${mebibytes(space)} for the space itself`,
    ...(memory > 0 ? [`${mebibytes(memory)} for the memory of devices`] : []),
    ...(processes > 0 ? [`${mebibytes(processes)} for their processes`] : []),
    `${mebibytes(spare)} to spare`,
  ];
  const needed = limit - available + LEAST_HOST_BYTES + space + memory + processes + spare;
  throw new OnememError(
    'MEMORY_LIMIT',
    `the control group of this process is limited to ${mebibytes(limit)}, and the space needs ${mebibytes(needed)}: ` +
      `${parts.join(', ')}; raise the limit, or give devices less memory`,
    { limitBytes: limit, neededBytes: needed },
  );
}

/** What arrays of a space without devices get unless the program says it. */
export function usualHostMemory(): number {
  return Math.max(memoryToShare(0), LEAST_HOST_BYTES);
}

/** What host and devices may share, less what so many device processes need themselves. */
export function memoryToShare(processes: number): number {
  const { limit, available } = memoryThere('');
  return firstBudget(limit, available, { processes, bytes: 0 });
}

export function memoryThere(root: string): { limit: number; available: number; grouped: boolean } {
  const read = textReader(root);
  const { total } = systemMemory(read('/proc/meminfo') ?? '');
  const left = memoryLeft(memoryGroups(read), read);
  return { ...left, grouped: left.limit < total };
}

/** Devices whose memory is the host's. */
function onHost(devices: readonly DescribedDevice[]): HostDevices {
  const others = devices.filter((device) => rulesOf(device.kind).isOnHost(device));
  return {
    processes: devices.filter(({ kind }) => rulesOf(kind).isProcess).length,
    bytes: others.reduce((sum, { memoryBytes }) => sum + (memoryBytes ?? 0), 0),
  };
}

/** Budgets that were said, and that a control group can never keep. */
function checkGroup(hostBytes: number, deviceBytes: number): void {
  const { limit } = cgroupMemory();
  if (hostBytes + deviceBytes <= limit) return;
  throw new OnememError(
    'MEMORY_LIMIT',
    `hostMemory is ${mebibytes(hostBytes)} and devices have ${mebibytes(deviceBytes)}, and the control group of this ` +
      `process is limited to ${mebibytes(limit)}; raise the limit, or give them less`,
    { limitBytes: limit, neededBytes: hostBytes + deviceBytes },
  );
}

function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 2 ** 20)} MiB`;
}

/** What a program has said, as bytes: refused where it is too little. */
export function hostBytes(said: number | string): number {
  if (typeof said === 'string' && /^auto$/i.test(said)) {
    throw argumentError(
      'SIZE',
      "hostMemory is followed by openSpace({ hostMemory: 'auto' }) alone, in these letters",
    );
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

/** Where budgets exceed the machine the kernel kills a process: programs should know. */
export function warnOfMemory(
  hostBytes: number,
  most: number,
  chosen: boolean,
  devices: readonly DescribedDevice[],
): void {
  const then = `more than the ${most} bytes of this machine or container; when they are used, the kernel ends a process`;
  if (chosen && hostBytes > most)
    warn('ONEMEM_MEMORY', `hostMemory is ${hostBytes} bytes, ${then}`);
  const together = onHost(devices).bytes;
  if (together > most)
    warn(
      'ONEMEM_MEMORY',
      `the memory of the devices is ${together} bytes, which are memory of the host, ${then}`,
    );
}

/** The memory of the machine, or of the control group where that is less. */
export function memoryLimit(): number {
  return Math.min(systemMemory().total, cgroupMemory().limit);
}
