/** Which unended operations come before the next: the stream's own, and awaited ones. */

/** An operation of a stream, by its number there. */
interface Turn {
  readonly order: StreamOrder;
  readonly sequence: number;
}

/** How far other streams have to be before what comes next may begin. */
type Clock = ReadonlyMap<StreamOrder, number>;

const NOBODY: Clock = new Map();

export class StreamOrder {
  /** Operations that others may have to know the order of, and that have not ended. */
  private watched = 0;
  /** Functions of the program's that have not run, in their order. */
  private readonly calls: number[] = [];
  private clock: Clock = NOBODY;

  /** What an event remembers, so that its waiters come after all that it comes after. */
  get now(): Clock {
    return this.clock;
  }

  /** An operation that matters to others was given. */
  begin(): void {
    this.watched++;
  }

  end(): void {
    this.watched--;
  }

  /** A function of the program's was given. */
  calling(sequence: number): void {
    this.begin();
    this.calls.push(sequence);
  }

  called(): void {
    this.calls.shift();
    this.end();
  }

  /** What comes next waits for an operation, given when its stream came after `clock`. */
  waitFor({ order, sequence }: Turn, clock: Clock): void {
    const all = new Map<StreamOrder, number>();
    const add = (other: StreamOrder, upTo: number): void => {
      // Of a stream without such operations there is nothing to remember: the map would grow by
      // each stream that was ever waited for.
      if (other.watched > 0 && other !== this) all.set(other, Math.max(upTo, all.get(other) ?? 0));
    };
    for (const [other, upTo] of this.clock) add(other, upTo);
    for (const [other, upTo] of clock) add(other, upTo);
    add(order, sequence);
    this.clock = all.size === 0 ? NOBODY : all;
  }

  /** Whether an operation that was given comes before what is given next. */
  isAfter({ order, sequence }: Turn): boolean {
    return order === this || (this.clock.get(order) ?? 0) >= sequence;
  }

  /** Whether a function of the program's that has not run comes before what is given next. */
  get isBehindCall(): boolean {
    if (this.calls.length > 0) return true;
    for (const [{ calls }, upTo] of this.clock)
      if (calls.length > 0 && calls[0] <= upTo) return true;
    return false;
  }
}
