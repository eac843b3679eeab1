/**
 * Keeps a thread of a device whose touches lie scattered on the manager's CPU. Each of its faults
 * brings its own page alone, so that it and the manager never run at the same time, and a thread on
 * the same CPU is woken in a third of the time: none has to be fetched from its sleep. The kernel
 * prefers an idle CPU for a thread that it wakes, so that both have to be bound.
 */
import { InARow } from './in-a-row.js';
import { type ManagerCpu, PlacedThreads, type ThreadPlacement } from './placed-threads.js';

/** So many faults of one thread in a row, behind which nothing was left to move, are scattered. */
const SCATTERED = 16;
/** So many faults in a row with something left end it: the manager has work meanwhile. */
const WALK = 2;

export class SameCpu implements ThreadPlacement {
  private readonly threads: PlacedThreads;
  /** The CPU that one is bound to; null: none is. */
  private cpu: number | null = null;
  /** The thread that has faulted last. */
  private last = 0;
  /** Its faults in a row behind which nothing was left to move. */
  private readonly alone = new InARow(SCATTERED);
  /** After how many of them it is bound: twice as many each time that it cannot be. */
  private scattered = SCATTERED;
  /** Faults in a row behind which something was left. */
  private readonly moving = new InARow(WALK);

  constructor(
    private readonly manager: ManagerCpu,
    pid: number,
  ) {
    this.threads = new PlacedThreads(pid);
  }

  before(thread: number): void {
    if (thread !== this.last) {
      this.last = thread;
      this.end();
    } else if (this.cpu !== null && this.cpu !== this.manager.cpu) this.end();
    else if (this.cpu === null && this.alone.isEnough) this.bind(thread);
  }

  after(moving: boolean): void {
    const walks = this.moving.note(moving);
    this.alone.note(!moving);
    if (walks && this.cpu !== null) this.end();
  }

  /** The thread may run anywhere: nothing of the device runs, or other threads of it do. */
  end(): void {
    this.scattered = SCATTERED;
    this.alone.begin(SCATTERED);
    if (this.cpu === null) return;
    this.cpu = null;
    this.threads.lift();
    this.manager.letGo();
  }

  private bind(thread: number): void {
    // Whatever comes of it, it is not tried at the next fault again, nor soon where it may run on
    // one CPU alone: to ask costs as much as half a fault.
    this.scattered *= 2;
    this.alone.begin(this.scattered);
    const cpu = this.manager.hold();
    if (this.threads.add(thread)?.keepOn(cpu) === true) this.cpu = cpu;
    else {
      this.threads.lift();
      this.manager.letGo();
    }
  }
}
