/**
 * How often the manager looks for faults before it sleeps. A thread that was just answered often faults again within microseconds, and
 * to sleep and be woken costs tens of them where the thread runs on another CPU. Where it shares the manager's CPU it may not run at all
 * while the manager looks around. The kernel does not say which it is, so that the manager tries: it looks longer for as long as that finds
 * something, and otherwise seldom.
 */

/** About 6 us where a look reads one descriptor. */
const FEW = 12;
/** About 16 us, however many descriptors a look reads. */
const MANY_READS = 32;
/** Long looks in a row that may have been in vain. */
const TRIES = 3;
/** Times that a fault comes soon after the manager has slept before it tries to look longer again. */
const PAUSE = 192;
/** After longer sleeps than this no thread was about to fault: to have looked longer would have found nothing. */
const SOON_MS = 1;

export class Spin {
  private long = true;
  private left = TRIES;

  /** Looks in vain after which the manager sleeps, if each reads so many descriptors. */
  looks(descriptors: number): number {
    return this.long ? Math.max(FEW, Math.floor(MANY_READS / descriptors)) : FEW;
  }

  /** Something was found after so many looks in vain. */
  found(after: number): void {
    if (after >= FEW) this.left = TRIES;
  }

  /** The manager has slept, and was woken. */
  slept(ms: number): void {
    if (ms > SOON_MS || --this.left > 0) return;
    this.long = !this.long;
    this.left = this.long ? TRIES : PAUSE;
  }
}
