/**
 * Time that passes while the manager goes round its loop. Time for which its process was stopped,
 * or kept from the processor, is left out: a thread or process that the manager waits for could not
 * run then either, and is not taken for too slow.
 */

/**
 * The manager looks at its clock several times a second. If it did not, its process stood still,
 * and with it, perhaps, the thread or process that it waits for.
 */
const STANDSTILL_MS = 1000;

export class RunningClock {
  private last: number;
  private stood = 0;

  constructor(private readonly wall: () => number) {
    this.last = wall();
  }

  /** Milliseconds. To be called in each round. */
  now(): number {
    const wall = this.wall();
    if (wall - this.last > STANDSTILL_MS) this.stood += wall - this.last;
    this.last = wall;
    return wall - this.stood;
  }
}
