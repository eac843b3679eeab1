/**
 * Whether the manager looks around for something instead of sleeping until it comes. To sleep and
 * be woken costs both sides more than a short launch takes, but what does not come soon costs the
 * processor for as long as it was looked for. So it is tried, given up where it was in vain, and
 * tried again now and then.
 */

import { type Backoff, LATE_MS, latePause } from './backoff.js';
import { InARow } from './in-a-row.js';
import { type CpuUse, isUsed } from './uses.js';

/** How long to look, unless said otherwise: as long as a launch of an empty kernel takes. */
const LIMIT_MS = 0.1;
/** Times in a row that it may be in vain. */
const TRIES = 3;
/** Times that it is not tried after that. */
const PAUSE = 200;

export class Lookout {
  /** When to stop looking; 0: nothing is looked for. */
  private until = 0;
  private readonly vain = new InARow(TRIES);
  private pause = 0;
  private readonly isOff: boolean;
  /** Each look gives the CPU away: one that ends late is once too often. */
  private readonly latePause: Backoff;

  /** @param limitMs how long to look @param pauses tries left out after one in vain */
  constructor(
    use: CpuUse,
    private readonly limitMs = LIMIT_MS,
    private readonly pauses = PAUSE,
  ) {
    this.isOff = !isUsed(use);
    this.latePause = latePause(pauses);
  }

  /** Whether it was in vain or too dear, and is not tried for now. */
  get isPaused(): boolean {
    return this.pause > 0;
  }

  /** Something is about to come. */
  expect(nowMs: number): void {
    if (this.pause > 0) this.pause--;
    else if (!this.isOff) this.until = nowMs + this.limitMs;
  }

  lasts(nowMs: number): boolean {
    if (this.until === 0) return false;
    if (nowMs < this.until) return true;
    const isLate = nowMs >= this.until + LATE_MS;
    this.until = 0;
    if (isLate) this.giveUp(this.latePause.failed());
    else if (this.vain.note()) this.giveUp(this.pauses);
    return false;
  }

  came(nowMs: number): void {
    if (this.until === 0) return;
    const isLate = nowMs >= this.until + LATE_MS;
    this.until = 0;
    this.vain.begin();
    if (isLate) this.giveUp(this.latePause.failed());
    else this.latePause.succeeded();
  }

  private giveUp(pause: number): void {
    this.vain.begin();
    this.pause = pause;
  }
}
