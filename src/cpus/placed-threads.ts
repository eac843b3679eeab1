/**
 * Threads that are told for a while where to run. Linux hands a thread's CPUs on to what it starts,
 * so that threads which it has started meanwhile have theirs given back with it.
 */

import { threadsOf } from '../linux/processes/process.js';
import {
  currentCpu,
  getAffinity,
  restoreAffinity,
  setAffinity,
} from '../linux/threads/affinity.js';

/** The CPU that the manager is bound to as long as something needs it there. */
export interface ManagerCpu {
  /** The CPU; null: the manager may run where it likes, or is not bound for this. */
  readonly cpu: number | null;
  /** @param cpu where it is not bound yet; left out: the one on which it runs */
  hold(cpu?: number): number;
  letGo(): void;
}

/** Where threads of a device run that fault, from what each fault leaves to be done. */
export interface ThreadPlacement {
  /** A thread has faulted, and is about to be answered. */
  before(thread: number): void;
  /** @param moving pages are left to be moved now that the thread has been answered */
  after(moving: boolean): void;
  /** Threads may run where they could before: nothing of the device runs any more. */
  end(): void;
}

export class PlacedThread {
  /** What it may run on otherwise; empty: it may not be told; null: that has not been asked. */
  private cpus: readonly number[] | null = null;
  /** What it may run on now; null: where it likes. */
  private now: readonly number[] | null = null;
  /** The CPU that it is kept off. */
  private avoided = -1;

  constructor(private readonly thread: number) {}

  get isPlaced(): boolean {
    return this.now !== null;
  }

  /** Keeps it on one CPU. False: it may not run there, or nowhere else. */
  keepOn(cpu: number): boolean {
    return this.place((cpus) => (cpus.length > 1 && cpus.includes(cpu) ? [cpu] : []));
  }

  /** Keeps it off the CPU of the thread that asks. False: it may run nowhere else. */
  keepOff(): boolean {
    const cpu = currentCpu();
    if (cpu === this.avoided) return this.isPlaced;
    this.avoided = cpu;
    return this.place((cpus) => cpus.filter((each) => each !== cpu));
  }

  /** It may run where it could before, but keeps CPUs that it was given by others meanwhile. */
  lift(): void {
    this.liftTask(this.thread);
    this.now = null;
    this.avoided = -1;
  }

  /** The same for a thread that it has started, or a process. */
  liftTask(task: number): void {
    if (this.now !== null && this.cpus !== null) restoreAffinity(task, this.now, this.cpus);
  }

  private place(choose: (cpus: readonly number[]) => readonly number[]): boolean {
    try {
      this.cpus ??= getAffinity(this.thread);
      const chosen = choose(this.cpus);
      if (chosen.length === 0) return this.isPlaced;
      setAffinity(chosen, this.thread);
      this.now = chosen;
    } catch {
      // It has ended meanwhile, or a container denies it: it runs where it likes.
      this.cpus = [];
    }
    return this.isPlaced;
  }
}

export class PlacedThreads {
  private readonly placed = new Map<number, PlacedThread>();
  /** Threads that it had when the first was placed. */
  private known: ReadonlySet<number> = new Set();

  constructor(private readonly pid: number | 'self') {}

  get size(): number {
    return this.placed.size;
  }

  get(thread: number): PlacedThread | undefined {
    return this.placed.get(thread);
  }

  /** One more, which is about to be placed; null: the process has ended. */
  add(thread: number): PlacedThread | null {
    try {
      if (this.placed.size === 0) this.known = threadsOf(this.pid);
    } catch {
      return null;
    }
    const placed = new PlacedThread(thread);
    this.placed.set(thread, placed);
    return placed;
  }

  /** Has all of them run where they could before, with what they have started. */
  lift(): void {
    const some = [...this.placed.values()].filter(({ isPlaced }) => isPlaced);
    this.placed.clear();
    if (some.length === 0) return;
    try {
      for (const task of threadsOf(this.pid))
        if (!this.known.has(task)) for (const each of some) each.liftTask(task);
    } catch {
      // The process has ended, or there is no descriptor left to look with.
    }
    for (const each of some) each.lift();
  }
}
