/**
 * Keeps threads of devices that walk off the manager's CPU. The manager answers such a thread's
 * fault and goes on moving what the thread will want next; where the kernel wakes the thread on the
 * manager's CPU, though another one is idle (it looks for none where CPUs have been busy), the
 * thread takes the CPU from it, and computes while nothing is moved and the other CPU does nothing.
 * A thread whose faults bring nothing but their own pages is left alone: next to the manager it
 * waits the shortest time.
 */
import { currentCpu, getAffinity, setAffinity } from '../../linux/affinity.js';
import { letGo, type Placed, tasksOf } from './placed-threads.js';

/** A thread that is kept apart. */
interface Kept extends Placed {
  /** The manager's CPU that it stays away from. */
  avoided: number;
}

/**
 * So many faults in a row behind which something was left to move are a walk: one may be a touch in
 * the middle of others.
 */
const WALK = 2;
/**
 * After so many faults in a row behind which nothing was left to move a device's threads are let
 * go.
 */
const PATIENCE = 8;

/**
 * How many threads are kept apart, and how many may be: one CPU is left that any of them may use.
 */
export interface KeptApart {
  count: number;
  readonly most: number;
}

export class Apart {
  private readonly kept = new Map<number, Kept>();
  /** Faults that may still come behind which nothing is left to move. */
  private patience = 0;
  /** Faults in a row behind which something was left. */
  private moving = 0;
  /**
   * Threads that the process had when the first was kept apart: those that such a one has started
   * are kept apart, too.
   */
  private tasks = 0;

  constructor(
    private readonly all: KeptApart,
    private readonly pid: number,
  ) {}

  /** A thread has faulted, and is about to be answered. */
  before(thread: number): void {
    if (this.patience === 0) return;
    const kept = this.kept.get(thread) ?? this.begin(thread);
    if (kept !== null) this.keep(thread, kept);
  }

  /** @param moving pages are left to be moved now that the thread has been answered */
  after(moving: boolean): void {
    this.moving = moving ? this.moving + 1 : 0;
    if (this.moving >= WALK) this.patience = PATIENCE;
    else if (this.patience > 0 && --this.patience === 0) this.end();
  }

  /** Threads may run where they could before: nothing of the device runs any more. */
  end(): void {
    this.patience = 0;
    this.moving = 0;
    if (this.kept.size === 0) return;
    this.all.count -= this.kept.size;
    letGo(this.pid, this.tasks, this.kept);
    this.kept.clear();
  }

  private begin(thread: number): Kept | null {
    if (this.all.count >= this.all.most) return null;
    let cpus: readonly number[];
    try {
      cpus = getAffinity(thread);
      if (this.kept.size === 0) this.tasks = tasksOf(this.pid);
    } catch {
      return null;
    }
    const kept: Kept = { cpus, now: cpus, avoided: -1 };
    this.kept.set(thread, kept);
    this.all.count++;
    return kept;
  }

  private keep(thread: number, kept: Kept): void {
    const cpu = currentCpu();
    if (cpu === kept.avoided) return;
    kept.avoided = cpu;
    const others = kept.cpus.filter((each) => each !== cpu);
    if (others.length === 0) return;
    try {
      setAffinity(others, thread);
      kept.now = others;
    } catch {
      // It has ended meanwhile, or may not be told where to run: it runs where it likes.
    }
  }
}
