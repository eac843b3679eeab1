/**
 * How long to leave something alone that was in vain, or cost more than it brought: twice as long
 * each time, until it has been worth it again. In what is counted: times that it would have been
 * done, or milliseconds.
 */
export class Backoff {
  private next: number;

  constructor(
    private readonly first: number,
    private readonly longest: number,
  ) {
    this.next = first;
  }

  /** It was in vain. Returns how long it is to be left alone. */
  failed(): number {
    const pause = this.next;
    this.next = Math.min(pause * 2, this.longest);
    return pause;
  }

  succeeded(): void {
    this.next = this.first;
  }
}

/**
 * A CPU that was given away and comes back so much later than it was to had gone to a thread that
 * keeps it, and threads that need the manager waited meanwhile. Where it is late the next time,
 * too, that thread is likely to stay.
 */
export const LATE_MS = 0.4;
/** So many times as long as the first pause is the longest after that. */
const LONGEST = 64;

/** How many times the CPU is not given away after it was late. */
export function latePause(first = 200): Backoff {
  return new Backoff(first, LONGEST * first);
}
