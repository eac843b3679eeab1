/**
 * Keeps threads of devices that walk off the manager's CPU. The manager answers such a thread's
 * fault and goes on moving what the thread will want next; where the kernel wakes the thread on the
 * manager's CPU, though another one is idle (it looks for none where CPUs have been busy), the
 * thread takes the CPU from it, and computes while nothing is moved and the other CPU does nothing.
 * A thread whose faults bring nothing but their own pages is left alone: next to the manager it
 * waits the shortest time.
 */
import { type PlacedThread, PlacedThreads } from './placed-threads.js';

/** So many faults in a row with something left to move are a walk, not one stray touch. */
const WALK = 2;
/** After so many faults in a row with nothing left to move the threads are let go. */
const FAULTS_KEPT = 8;

/** How many threads are kept apart, and may be: one CPU is left for all of them. */
export interface SeparatedThreads {
  count: number;
  readonly most: number;
}

export class SeparateCpu {
  private readonly threads: PlacedThreads;
  /** Faults that may still come behind which nothing is left to move. */
  private left = 0;
  /** Faults in a row behind which something was left. */
  private moving = 0;

  constructor(
    private readonly all: SeparatedThreads,
    pid: number,
  ) {
    this.threads = new PlacedThreads(pid);
  }

  /** A thread has faulted, and is about to be answered. */
  before(thread: number): void {
    if (this.left > 0) (this.threads.get(thread) ?? this.begin(thread))?.keepOff();
  }

  /** @param moving pages are left to be moved now that the thread has been answered */
  after(moving: boolean): void {
    this.moving = moving ? this.moving + 1 : 0;
    if (this.moving >= WALK) this.left = FAULTS_KEPT;
    else if (this.left > 0 && --this.left === 0) this.end();
  }

  /** Threads may run where they could before: nothing of the device runs any more. */
  end(): void {
    this.left = 0;
    this.moving = 0;
    this.all.count -= this.threads.size;
    this.threads.lift();
  }

  private begin(thread: number): PlacedThread | null {
    if (this.all.count >= this.all.most) return null;
    const placed = this.threads.add(thread);
    if (placed !== null) this.all.count++;
    return placed;
  }
}
