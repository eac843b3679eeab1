/** Stalls for memory (PSI): of the process's control group where counted, else the machine. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { POLLPRI } from '../base/constants.js';
import type { ReadText } from '../base/text-files.js';
import type { MemoryGroup } from './system-memory.js';

/** The trigger is raised after such a stall in a window. Shorter ones need a privilege. */
const STALL_US = 100_000;
const WINDOW_US = 2_000_000;

/** The events of a trigger's descriptor. */
export const PRESSURE_EVENTS = POLLPRI;

/** The file that tells of stalls; null: this kernel does not count them. */
export function pressureFile(groups: readonly MemoryGroup[], read: ReadText): string | null {
  const own = groups.find(({ version }) => version === 2);
  const files = [
    ...(own === undefined ? [] : [`${own.folder}/memory.pressure`]),
    '/proc/pressure/memory',
  ];
  return files.find((file) => read(file)?.startsWith('some ') === true) ?? null;
}

/** For how many milliseconds in all some thread has stood still, by the text of such a file. */
export function stalledMs(text: string): number {
  return Number(/^some .*\btotal=(\d+)$/m.exec(text)?.[1] ?? 0) / 1000;
}

/** A descriptor raised when threads stall; null where this process may not have one. */
export function openTrigger(file: string): number | null {
  let fd: number | null = null;
  try {
    fd = openSync(file, 'r+');
    writeSync(fd, `some ${STALL_US} ${WINDOW_US}\0`);
    return fd;
  } catch {
    if (fd !== null) closeSync(fd);
    return null;
  }
}
