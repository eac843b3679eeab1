/**
 * How long a machine keeps a block that its threads have waited for, when others want it: so that they come to use it, and so that threads of two
 * machines that both use a block all the time do not spend all their time handing it over.
 *
 * A thread that goes on at once needs little. One that wants the block back as soon as it has been taken had not finished with it: it has twice
 * as long the next time, up to a limit.
 */

/** A thread that was woken is running by then. */
const SHORTEST_MS = 0.2;
const LONGEST_MS = 1;
/** A thread that wants a block so soon after it has been taken was still using it; what another machine has used meanwhile is wanted later. */
const AT_ONCE_MS = 0.3;

interface Held {
  /** When threads were given it last. */
  given: number;
  /** When it was taken from them for others: 0 when it was not, or when that has been looked at. */
  taken: number;
  ms: number;
}

export class Holds {
  private readonly all = new Map<number, Held>();

  /** Threads have what they waited for. */
  given(block: number, now: number): void {
    const held = this.all.get(block);
    if (held === undefined) this.all.set(block, { given: now, taken: 0, ms: SHORTEST_MS });
    else held.given = now;
  }

  /** A right that others want is being taken from the threads. */
  taken(block: number, now: number): void {
    const held = this.all.get(block);
    if (held !== undefined) held.taken = now;
  }

  /** A thread waits for the block. */
  wanted(block: number, now: number): void {
    const held = this.all.get(block);
    if (held === undefined || held.taken === 0) return;
    held.ms = now - held.taken < AT_ONCE_MS ? Math.min(held.ms * 2, LONGEST_MS) : SHORTEST_MS;
    held.taken = 0;
  }

  /** Milliseconds for which the block is still kept. */
  left(block: number, now: number): number {
    const held = this.all.get(block);
    return held === undefined ? 0 : Math.max(held.given + held.ms - now, 0);
  }
}
