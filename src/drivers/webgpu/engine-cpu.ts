/**
 * Keeps the thread of an engine on another CPU than the manager's for a while. What wakes a thread
 * mostly gives it its own CPU where the others have been busy just now, by the kernel's reckoning,
 * as after a kernel of a GPU in software: manager and engine would take turns on one CPU, and the
 * other one would have nothing to do.
 */
import { currentCpu, getAffinity, setAffinity } from '../../linux/affinity.js';

export class EngineCpu {
  /** The CPUs that the thread may run on otherwise; null: that has not been asked. */
  private cpus: readonly number[] | null = null;
  /** By the manager's CPU. */
  private readonly others = new Map<number, readonly number[]>();
  /** Whether the thread is kept on them. */
  isKept = false;

  /** @param thread null: there is none that may be moved */
  constructor(private thread: number | null) {}

  /** Has it run elsewhere until `lift`. False: it cannot. */
  keep(): boolean {
    if (this.isKept) return true;
    const { thread } = this;
    if (thread === null) return false;
    try {
      this.cpus ??= getAffinity(thread);
      const others = this.othersThan(currentCpu(), this.cpus);
      if (others.length === 0) return false;
      setAffinity(others, thread);
      this.isKept = true;
    } catch {
      // A container may deny it, and the thread may have ended: it may run where it likes.
      this.thread = null;
    }
    return this.isKept;
  }

  lift(): void {
    if (!this.isKept) return;
    this.isKept = false;
    try {
      setAffinity(this.cpus ?? [], this.thread ?? 0);
    } catch {
      this.thread = null;
    }
  }

  private othersThan(cpu: number, cpus: readonly number[]): readonly number[] {
    let others = this.others.get(cpu);
    if (others === undefined) {
      others = cpus.filter((each) => each !== cpu);
      this.others.set(cpu, others);
    }
    return others;
  }
}
