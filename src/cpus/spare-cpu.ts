/**
 * Whether a CPU is left for a thread of copies: one that has to wait for its CPU takes longer than
 * the manager would alone. It is asked of how many threads want a CPU now and then, and the less
 * often the longer they want all.
 */

import { Backoff } from './backoff.js';

/** How long one is taken to be left. */
const LEFT_MS = 0.2;
/** How long none is free: a thread that asks for a copy may be about to sleep. It doubles. */
const FIRST_MS = 0.05;
const LONGEST_MS = 25;

export class SpareCpu {
  private left = false;
  private until = 0;
  private readonly pause = new Backoff(FIRST_MS, LONGEST_MS);

  /**
   * @param cpus CPUs that the process may use
   * @param running how many threads run or wait for a CPU, the manager's included; 0: that cannot
   * be told
   */
  constructor(
    private readonly cpus: number,
    private readonly running: () => number,
  ) {}

  /** @param working threads of copies among those that run */
  isLeft(nowMs: number, working: number): boolean {
    if (nowMs < this.until) return this.left;
    const running = this.running();
    this.left = running > 0 && running - working < this.cpus;
    if (this.left || nowMs >= this.until + LONGEST_MS) this.pause.succeeded();
    this.until = nowMs + (this.left ? LEFT_MS : this.pause.failed());
    return this.left;
  }
}
