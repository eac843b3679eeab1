/**
 * Keeps threads of devices that walk off the manager's CPU. The manager answers such a thread's
 * fault and goes on moving what the thread will want next; where the kernel wakes the thread on the
 * manager's CPU, though another one is idle (it looks for none where CPUs have been busy), the
 * thread takes the CPU from it, and computes while nothing is moved and the other CPU does nothing.
 * A thread whose faults bring nothing but their own pages is left alone: next to the manager it
 * waits the shortest time.
 */
import { InARow } from './in-a-row.js';
import { type PlacedThread, PlacedThreads, type ThreadPlacement } from './placed-threads.js';

/** So many faults in a row with something left to move are a walk, not one stray touch. */
const WALK = 2;
/** After so many faults in a row with nothing left to move the threads are let go. */
const FAULTS_KEPT = 8;

/** How many threads are kept apart, and may be: one CPU is left for all of them. */
export interface SeparatedThreads {
  count: number;
  readonly most: number;
}

export class SeparateCpu implements ThreadPlacement {
  private readonly threads: PlacedThreads;
  /** Faults that may still come behind which nothing is left to move. */
  private left = 0;
  /** Faults in a row behind which something was left. */
  private readonly moving = new InARow(WALK);

  constructor(
    private readonly all: SeparatedThreads,
    pid: number,
  ) {
    this.threads = new PlacedThreads(pid);
  }

  before(thread: number): void {
    if (this.left > 0) (this.threads.get(thread) ?? this.begin(thread))?.keepOff();
  }

  after(moving: boolean): void {
    if (this.moving.note(moving)) this.left = FAULTS_KEPT;
    else if (this.left > 0 && --this.left === 0) this.end();
  }

  end(): void {
    this.left = 0;
    this.moving.begin();
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
