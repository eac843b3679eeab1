/**
 * What the kernel says of a thread of this process. Read from files, without the foreign function
 * interface, so that a thread that comes and goes may use it.
 */
import { readText } from '../base/text-files.js';

export interface ThreadState {
  /** 'running' also while it waits for a processor; 'held': stopped by a signal or a tracer. */
  readonly doing: 'running' | 'sleeping' | 'waiting' | 'held';
  /** Milliseconds that it has had a processor. */
  readonly ranMs: number;
}

/** Clock ticks of /proc are hundredths of a second on x64 and arm64. */
const TICK_MS = 10;

const DOING: Readonly<Record<string, ThreadState['doing']>> = {
  R: 'running',
  D: 'waiting',
  T: 'held',
  t: 'held',
};

/** Reads the text of /proc/PID/task/TID/stat, and of schedstat if this kernel has it. */
export function parseThreadState(stat: string, schedstat: string | null): ThreadState {
  // The name of the thread stands in brackets, and may have any character in it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ranMs =
    schedstat === null
      ? (Number(fields[11]) + Number(fields[12])) * TICK_MS
      : Number(schedstat.split(' ')[0]) / 1e6;
  return { doing: DOING[fields[0]] ?? 'sleeping', ranMs };
}

/** Null: the thread has ended, or nothing can be read now. */
export function threadState(thread: number): ThreadState | null {
  const folder = `/proc/self/task/${thread}`;
  const stat = readText(`${folder}/stat`);
  return stat === null ? null : parseThreadState(stat, readText(`${folder}/schedstat`));
}
