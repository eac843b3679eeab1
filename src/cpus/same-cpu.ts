/**
 * Keeps a thread of a device whose touches lie scattered on the manager's CPU. Each of its faults
 * brings its own page alone, so that it and the manager never run at the same time, and a thread on
 * the same CPU is woken in a third of the time: none has to be fetched from its sleep. The kernel
 * prefers an idle CPU for a thread that it wakes, so that both have to be bound.
 */
import { type ManagerCpu, PlacedThreads } from './placed-threads.js';

/** So many faults of one thread in a row, behind which nothing was left to move, are scattered. */
const SCATTERED = 16;
/** So many faults in a row with something left end it: the manager has work meanwhile. */
const WALK = 2;

export class SameCpu {
  private readonly threads: PlacedThreads;
  /** The CPU that one is bound to; null: none is. */
  private cpu: number | null = null;
  /** The thread that has faulted last. */
  private last = 0;
  /** Its faults in a row behind which nothing was left to move. */
  private alone = 0;
  /** After how many of them it is bound: twice as many each time that it cannot be. */
  private scattered = SCATTERED;
  /** Faults in a row behind which something was left. */
  private moving = 0;

  constructor(
    private readonly manager: ManagerCpu,
    pid: number,
  ) {
    this.threads = new PlacedThreads(pid);
  }

  /** A thread has faulted, and is about to be answered. */
  before(thread: number): void {
    if (thread !== this.last) {
      this.last = thread;
      this.end();
    } else if (this.cpu !== null && this.cpu !== this.manager.cpu) this.end();
    else if (this.cpu === null && this.alone >= this.scattered) this.bind(thread);
  }

  /** @param moving pages are left to be moved now that the thread has been answered */
  after(moving: boolean): void {
    this.moving = moving ? this.moving + 1 : 0;
    if (!moving) this.alone++;
    else if (this.cpu === null) this.alone = 0;
    else if (this.moving >= WALK) this.end();
  }

  /** The thread may run anywhere: nothing of the device runs, or other threads of it do. */
  end(): void {
    this.alone = 0;
    this.scattered = SCATTERED;
    if (this.cpu === null) return;
    this.cpu = null;
    this.threads.lift();
    this.manager.letGo();
  }

  private bind(thread: number): void {
    // Whatever comes of it, it is not tried at the next fault again, nor soon where it may run on
    // one CPU alone: to ask costs as much as half a fault.
    this.alone = 0;
    this.scattered *= 2;
    const cpu = this.manager.hold();
    if (this.threads.add(thread)?.keepOn(cpu) === true) this.cpu = cpu;
    else {
      this.threads.lift();
      this.manager.letGo();
    }
  }
}
