/**
 * How often the manager does not give the CPU away after that was late to come back: it had gone to
 * a thread that keeps it, and threads that need the manager waited meanwhile. Where it is late the
 * next time, too, the thread is likely to stay, and the pause is twice as long each time.
 */

/** So much later than it was to come back. */
export const LATE_MS = 0.4;
const PAUSE = 200;
/** So many times as long as the first pause is the longest. */
const LONGEST = 64;

export class LatePause {
  private next: number;

  /** @param first how long the first pause is, in times that it would have been given away */
  constructor(private readonly first = PAUSE) {
    this.next = first;
  }

  /** It was late. Returns how many times it is not to be given away. */
  late(): number {
    const pause = this.next;
    this.next = Math.min(pause * 2, LONGEST * this.first);
    return pause;
  }

  /** It came back in time. */
  inTime(): void {
    this.next = this.first;
  }
}
