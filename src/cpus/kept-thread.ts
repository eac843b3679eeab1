/** A thread of the program that is kept on the manager's CPU for a while, and does not know of it. */
import { childrenOf, threadsOf } from '../linux/processes/process.js';
import { type PlacedThread, PlacedThreads } from './placed-threads.js';
import { isUsed } from './uses.js';

export class KeptThread {
  private readonly isOff = !isUsed('kept-thread');
  private readonly threads = new PlacedThreads('self');
  private thread = 0;
  /** Processes that it had started before. */
  private children: readonly number[] = [];

  /** Keeps a thread on a CPU until `letGo`. False: it may not run there, or nowhere else. */
  keep(thread: number, cpu: number): boolean {
    this.letGo();
    if (this.isOff) return false;
    this.children = childrenOf('self', thread);
    this.thread = thread;
    return this.threads.add(thread)?.keepOn(cpu) === true;
  }

  /** Has the thread, and what it has started meanwhile, run where it could before. */
  letGo(): void {
    const kept = this.threads.get(this.thread);
    if (kept === undefined) return;
    for (const child of childrenOf('self', this.thread))
      if (!this.children.includes(child)) liftProcess(child, kept);
    this.threads.lift();
  }
}

function liftProcess(pid: number, kept: PlacedThread): void {
  try {
    for (const thread of threadsOf(pid)) {
      kept.liftTask(thread);
      for (const child of childrenOf(pid, thread)) liftProcess(child, kept);
    }
  } catch {
    // The process has ended.
  }
}
