/**
 * How much the manager does of one kind before it looks at everything else again: faults and its
 * heartbeat come first, and a thread that asks for much must not keep the others waiting.
 */

/** Far longer than a look at the faults, and short for a thread that waits in one. */
const SLICE_MS = 1;
/** Looks at the clock are a little dearer than counting. */
const BETWEEN_LOOKS = 8;

export class TimeSlice {
  private end = 0;
  private taken = 0;

  constructor(private readonly now: () => number) {}

  /** Another round begins. */
  renew(): void {
    this.taken = 0;
  }

  /** Takes one more thing; false: it waits for the next round. The first is always given. */
  take(): boolean {
    if (this.taken === 0) this.end = this.now() + SLICE_MS;
    else if (this.taken % BETWEEN_LOOKS === 0 && this.now() >= this.end) return false;
    this.taken++;
    return true;
  }
}
