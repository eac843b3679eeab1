/**
 * A thread of the program that is kept on the manager's CPU for a while, and does not know of it.
 * Linux hands a thread's CPUs on to what it starts, so that threads and processes which it has
 * started meanwhile have theirs given back with it.
 */
import { readFileSync } from 'node:fs';
import { getAffinity, restoreAffinity, setAffinity } from '../../linux/affinity.js';
import { threadsOf } from '../../linux/process.js';

interface Kept {
  readonly thread: number;
  readonly cpu: number;
  /** What it may run on otherwise. */
  readonly cpus: readonly number[];
  /** What had been started before. */
  readonly threads: ReadonlySet<number>;
  readonly children: ReadonlySet<number>;
}

export class KeptThread {
  private kept: Kept | null = null;

  /** Keeps a thread on a CPU until `letGo`. False: it may not run there, or nowhere else. */
  keep(thread: number, cpu: number): boolean {
    this.letGo();
    try {
      const cpus = getAffinity(thread);
      if (cpus.length < 2 || !cpus.includes(cpu)) return false;
      const kept = {
        thread,
        cpu,
        cpus,
        threads: threadsOf('self'),
        children: childrenOf('self', thread),
      };
      setAffinity([cpu], thread);
      this.kept = kept;
      return true;
    } catch {
      // It has ended meanwhile, or may not be told where to run.
      return false;
    }
  }

  /** Has the thread, and what it has started meanwhile, run where it could before. */
  letGo(): void {
    const { kept } = this;
    if (kept === null) return;
    this.kept = null;
    const { thread, cpu, cpus, threads, children } = kept;
    const free = (task: number): void => restoreAffinity(task, [cpu], cpus);
    free(thread);
    try {
      for (const other of threadsOf('self')) if (!threads.has(other)) free(other);
    } catch {
      // There is no descriptor left to look with: what the thread has started stays where it is.
    }
    for (const child of childrenOf('self', thread))
      if (!children.has(child)) freeProcess(child, free);
  }
}

function freeProcess(pid: number, free: (task: number) => void): void {
  try {
    for (const thread of threadsOf(pid)) {
      free(thread);
      for (const child of childrenOf(pid, thread)) freeProcess(child, free);
    }
  } catch {
    // The process has ended.
  }
}

/** The processes that a thread has started and that run; none where the kernel does not say. */
function childrenOf(pid: number | 'self', thread: number): Set<number> {
  try {
    return new Set(
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1')
        .split(' ')
        .filter(Boolean)
        .map(Number),
    );
  } catch {
    return new Set();
  }
}
