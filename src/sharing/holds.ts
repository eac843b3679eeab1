/**
 * How long a machine keeps a block that its threads have waited for, when others want it: so that
 * they come to use it, and so that threads of two machines that both use a block all the time do
 * not spend all their time handing it over.
 *
 * A thread that goes on at once needs little. One that wants the block back while it is being given
 * up had not finished with it: it has twice as long the next time, up to a limit. What is wanted
 * later others may have used meanwhile: that is no sign of haste, however soon it is, since on a
 * fast machine a block comes back in less time than a thread takes to be woken on a slow one.
 */

/** A thread that was woken is running by then. */
const SHORTEST_MS = 0.2;
const LONGEST_MS = 1;

interface Held {
  /** When threads were given it last. */
  given: number;
  /** It is being given up to others, and no thread has wanted it back since. */
  going: boolean;
  ms: number;
}

export class Holds {
  private readonly all = new Map<number, Held>();

  /** Threads have what they waited for. */
  given(block: number, now: number): void {
    const held = this.all.get(block);
    if (held === undefined) this.all.set(block, { given: now, going: false, ms: SHORTEST_MS });
    else held.given = now;
  }

  /** A right that others want is being taken from the threads. */
  taken(block: number): void {
    const held = this.all.get(block);
    if (held !== undefined) held.going = true;
  }

  /** The server has what was taken: others may use the block. */
  gone(block: number): void {
    const held = this.all.get(block);
    if (held === undefined || !held.going) return;
    held.going = false;
    held.ms = SHORTEST_MS;
  }

  /** A thread waits for the block. */
  wanted(block: number): void {
    const held = this.all.get(block);
    if (held === undefined || !held.going) return;
    held.going = false;
    held.ms = Math.min(held.ms * 2, LONGEST_MS);
  }

  /** Milliseconds for which the block is still kept. */
  left(block: number, now: number): number {
    const held = this.all.get(block);
    return held === undefined ? 0 : Math.max(held.given + held.ms - now, 0);
  }
}
