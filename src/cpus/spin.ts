/**
 * How often the manager looks for faults before it sleeps. A thread that was just answered often
 * faults again within microseconds, and to sleep and be woken costs tens of them where the thread
 * runs on another CPU. Where it shares the manager's CPU it may not run at all while the manager
 * looks around. The kernel does not say which it is, so that the manager tries: it looks longer for
 * as long as that finds something, otherwise for a short time. Where that finds nothing either it
 * gives the CPU away once, to the thread that was answered, instead of looking in vain and
 * sleeping.
 */

import { LATE_MS, latePause } from './backoff.js';
import { InARow } from './in-a-row.js';
import { isUsed } from './uses.js';

/** About 6 us where a look reads one descriptor. */
const FEW = 12;
/** About 16 us, however many descriptors a look reads. */
const MANY_READS = 32;
/** Tries in a row that may have been in vain. */
const TRIES = 3;
/** Faults soon after a sleep before longer looks are tried again. */
const PAUSE = 192;
/** After longer sleeps no thread was about to fault: looking longer finds nothing. */
const SOON_MS = 1;

export class Spin {
  private readonly isOff = !isUsed('next-fault');
  private readonly givesWay = isUsed('give-way');
  private long = true;
  /** Long tries that are left, or what is left of the pause between them. */
  private left = TRIES;
  private few = TRIES;
  /** Times in a row that the CPU was given away and nothing came of it but sleep. */
  private readonly vain = new InARow(TRIES);
  /** Times that the CPU is not given away. */
  private pause = 0;
  private late = false;
  private readonly latePause = latePause();

  /** Looks in vain after which the manager sleeps, if each reads so many descriptors. */
  looks(descriptors: number): number {
    if (this.isOff) return 1;
    if (this.long) return Math.max(FEW, Math.floor(MANY_READS / descriptors));
    return this.few > 0 ? FEW : this.pause > 0 ? 1 : 2;
  }

  /** Whether the second look is to come after other threads of the CPU have run. */
  get yields(): boolean {
    return this.givesWay && !this.long && this.few === 0 && this.pause === 0;
  }

  /** The CPU was given away, and came back after so long. */
  yielded(ms: number): void {
    this.late = ms >= LATE_MS;
  }

  /** Something was found after so many looks in vain. */
  found(after: number): void {
    if (after === 0) return;
    // What comes when the CPU was given away says that the thread is on this one, and may have
    // waited for it to come back.
    if (this.yields) this.foundYielding(this.late);
    else {
      this.few = TRIES;
      if (after >= FEW) this.left = TRIES;
    }
  }

  private foundYielding(late: boolean): void {
    this.vain.begin();
    // A thread that was answered and faults again does so sooner.
    if (late) this.pause = this.latePause.failed();
    else this.latePause.succeeded();
  }

  /** The manager has slept, and was woken. */
  slept(ms: number): void {
    if (this.pause > 0) this.pause--;
    if (ms > SOON_MS) return;
    if (this.few > 0) this.few--;
    else if (this.yields && this.vain.note()) {
      // The thread is on another CPU, or was moved to one.
      this.vain.begin();
      this.few = TRIES;
    }
    if (--this.left > 0) return;
    this.long = !this.long;
    this.left = this.long ? TRIES : PAUSE;
  }
}
