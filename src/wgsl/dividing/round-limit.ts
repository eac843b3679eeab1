/**
 * Which invocations run in a round of a launch that is paged. Those that lack pages run in vain,
 * and where each has pages of its own, as in a loop with a large stride, nearly all of them do in
 * nearly all rounds. So where the pages that come are those of as many invocations as could be
 * hoped, only these run, and as many behind them, which tell what they will lack. Where the first
 * pages are those of few, since each invocation touches any, all run.
 */

/** Of the pages that come: the invocations that have them are at least this part. */
const SHARE = 1 / 2;
/** After so many rounds all run once, as they may touch pages in another way by now. */
const ROUNDS = 8;

/** What is known of the pages that are lacking. */
export interface Lacking {
  /** The number of the first invocation that lacks one. */
  readonly first: number;
  /** Of the first one that lacks a page that does not come; infinity: all come. */
  readonly unmet: number;
  /** How many pages come, and how many are lacking. */
  readonly coming: number;
  readonly pages: number;
}

export class RoundLimit {
  /** Invocations from this number on do not run. */
  end = Number.POSITIVE_INFINITY;
  private width = 0;
  private rounds = 0;

  /** Before the first round. */
  lift(): void {
    this.end = Number.POSITIVE_INFINITY;
    this.rounds = 0;
  }

  /** Those that ran lack nothing. */
  goOn(): void {
    this.end += this.width;
    this.width *= 2;
  }

  /** Pages come for the next round of so many invocations. */
  set({ first, unmet, coming, pages }: Lacking, units: number): void {
    if (unmet === Number.POSITIVE_INFINITY) {
      this.goOn();
      return;
    }
    const served = unmet - first;
    const all = Math.min(this.end, units) - first;
    if (this.rounds === ROUNDS || served * pages < SHARE * coming * all) this.lift();
    else {
      this.rounds++;
      this.width = served;
      this.end = unmet + served;
    }
  }
}
