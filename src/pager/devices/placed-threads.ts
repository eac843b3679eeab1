/** Threads of a device's process that were told where to run, and what they may run on again. */
import { statSync } from 'node:fs';
import { restoreAffinity } from '../../linux/affinity.js';
import { threadsOf } from '../../linux/process.js';

export interface Placed {
  /** What the thread may run on otherwise, and what it may run on now. */
  readonly cpus: readonly number[];
  now: readonly number[];
}

/**
 * How many threads a process has, or a little more: the directory of them has a link for each, and
 * two of its own.
 */
export function tasksOf(pid: number): number {
  return statSync(`/proc/${pid}/task`).nlink;
}

/**
 * Gives threads back what they could run on, and so to those that they have started: the kernel
 * hands it on.
 * @param tasks how many threads the process had before the first was told
 */
export function letGo(pid: number, tasks: number, placed: ReadonlyMap<number, Placed>): void {
  for (const [thread, { now, cpus }] of placed)
    if (now !== cpus) restoreAffinity(thread, now, cpus);
  try {
    if (tasksOf(pid) === tasks) return;
    for (const task of threadsOf(pid)) {
      for (const { now, cpus } of placed.values())
        if (now !== cpus) restoreAffinity(task, now, cpus);
    }
  } catch {
    // The process has ended.
  }
}
