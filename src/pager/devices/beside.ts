/**
 * Keeps a thread of a device whose touches lie scattered on the manager's CPU. Each of its faults
 * brings its own page alone, so that it and the manager never run at the same time, and a thread on
 * the same CPU is woken in a third of the time: none has to be fetched from its sleep. The kernel
 * prefers an idle CPU for a thread that it wakes, so that both have to be bound.
 */
import { getAffinity, setAffinity } from '../../linux/affinity.js';
import { letGo, type Placed, tasksOf } from './placed-threads.js';

/** So many faults of one thread in a row, behind which nothing was left to move, are scattered. */
const SCATTERED = 16;
/**
 * So many faults in a row behind which something was left end that: the manager has something to do
 * while the thread computes.
 */
const WALK = 2;

/** The CPU that the manager is bound to as long as something needs it there. */
export interface ManagerCpu {
  /** The CPU; null: the manager may run where it likes, or is not bound for this. */
  readonly cpu: number | null;
  /** @param cpu where it is not bound yet; left out: the one on which it runs */
  hold(cpu?: number): number;
  letGo(): void;
}

interface Bound {
  readonly cpu: number;
  readonly thread: ReadonlyMap<number, Placed>;
  /** Threads that the process had before. */
  readonly tasks: number;
}

export class Beside {
  private bound: Bound | null = null;
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
    private readonly pid: number,
  ) {}

  /** A thread has faulted, and is about to be answered. */
  before(thread: number): void {
    const { bound } = this;
    if (thread !== this.last) {
      this.last = thread;
      this.alone = 0;
      this.scattered = SCATTERED;
      if (bound !== null) this.end();
    } else if (bound !== null && bound.cpu !== this.manager.cpu) this.end();
    else if (bound === null && this.alone >= this.scattered) this.bind(thread);
  }

  /** @param moving pages are left to be moved now that the thread has been answered */
  after(moving: boolean): void {
    this.moving = moving ? this.moving + 1 : 0;
    if (!moving) this.alone++;
    else if (this.bound === null) this.alone = 0;
    else if (this.moving >= WALK) this.end();
  }

  /**
   * The thread may run where it could before: nothing of the device runs any more, or others of it
   * do as well.
   */
  end(): void {
    this.alone = 0;
    this.scattered = SCATTERED;
    const { bound } = this;
    if (bound === null) return;
    this.bound = null;
    letGo(this.pid, bound.tasks, bound.thread);
    this.manager.letGo();
  }

  private bind(thread: number): void {
    // Whatever comes of it, it is not tried at the next fault again, nor soon where it may run on
    // one CPU alone: to ask costs as much as half a fault.
    this.alone = 0;
    this.scattered *= 2;
    try {
      const cpus = getAffinity(thread);
      if (cpus.length > 1) this.bindOf(thread, cpus);
    } catch {
      // It has ended meanwhile, or may not be told where to run: it runs where it likes.
    }
  }

  private bindOf(thread: number, cpus: readonly number[]): void {
    const tasks = tasksOf(this.pid);
    const cpu = this.manager.hold();
    try {
      if (!cpus.includes(cpu)) {
        this.manager.letGo();
        return;
      }
      setAffinity([cpu], thread);
    } catch (error) {
      this.manager.letGo();
      throw error;
    }
    this.bound = { cpu, thread: new Map([[thread, { cpus, now: [cpu] }]]), tasks };
  }
}
