/**
 * Time in which threads of a process were ready to run and had no processor. What waits for such a
 * process cannot take it for one that does nothing.
 */
import { readText } from '../base/text-files.js';
import { threadsOf } from '../processes/process.js';

export class QueuedTime {
  private before: ReadonlyMap<number, number>;

  constructor(private readonly pid: number) {
    this.before = queuedBy(pid);
  }

  /** Milliseconds since the last call, of the thread that was queued longest. */
  takeMs(): number {
    const now = queuedBy(this.pid);
    let most = 0;
    for (const [thread, ms] of now) most = Math.max(most, ms - (this.before.get(thread) ?? 0));
    this.before = now;
    return most;
  }
}

/** By thread. None where the process has ended, or this kernel does not count it. */
function queuedBy(pid: number): Map<number, number> {
  const queued = new Map<number, number>();
  for (const thread of threads(pid)) {
    // Null: the thread has ended since the list was made.
    const stat = readText(`/proc/${pid}/task/${thread}/schedstat`);
    if (stat !== null) queued.set(thread, Number(stat.split(' ')[1]) / 1e6);
  }
  return queued;
}

function threads(pid: number): Iterable<number> {
  try {
    return threadsOf(pid);
  } catch {
    return [];
  }
}
