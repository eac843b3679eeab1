/** What is known of symbols: ranges, and bounds of sums that conditions established. */
import { directionOf, type Form, type Interval } from './forms.js';

/** The ranges that symbols have by nature. */
export class Symbols {
  private readonly ranges: Interval[] = [];
  /** Of symbols that lie in two intervals of their range. */
  private readonly knownPieces = new Map<number, readonly Interval[]>();

  fresh(lo: number, hi: number): number {
    return this.ranges.push({ lo, hi }) - 1;
  }

  /** One that lies in some intervals, ascending. */
  freshIn(pieces: readonly Interval[]): number {
    const symbol = this.fresh((pieces[0] as Interval).lo, (pieces.at(-1) as Interval).hi);
    this.knownPieces.set(symbol, pieces);
    return symbol;
  }

  pieces(symbol: number): readonly Interval[] {
    return this.knownPieces.get(symbol) ?? [this.range(symbol)];
  }

  range(symbol: number): Interval {
    return this.ranges[symbol] as Interval;
  }

  narrow(symbol: number, range: Interval): void {
    this.ranges[symbol] = range;
  }
}

/** Bounds are never changed: a condition makes new ones. */
export class Facts {
  constructor(
    private readonly symbols: Symbols,
    private readonly bounds: ReadonlyMap<string, Interval> = new Map(),
  ) {}

  range(form: Form): Interval {
    const { terms, constant } = form;
    let { lo, hi } = this.sum(terms);
    if (terms.length > 1) {
      const { key, factor } = directionOf(form);
      const bound = this.bounds.get(key);
      if (bound) {
        lo = Math.max(lo, Math.min(bound.lo * factor, bound.hi * factor));
        hi = Math.min(hi, Math.max(bound.lo * factor, bound.hi * factor));
      }
    }
    return { lo: lo + constant, hi: hi + constant };
  }

  /** With `lo <= form <= hi`; null where that cannot be. */
  with(form: Form, { lo, hi }: Interval): Facts | null {
    const now = this.range(form);
    const wanted = { lo: Math.max(lo, now.lo), hi: Math.min(hi, now.hi) };
    if (wanted.lo > wanted.hi) return null;
    if (form.terms.length === 0 || (wanted.lo === now.lo && wanted.hi === now.hi)) return this;
    const bounds = new Map(this.bounds);
    const { key, factor } = directionOf(form);
    const ends = [(wanted.lo - form.constant) / factor, (wanted.hi - form.constant) / factor];
    const bound = { lo: Math.ceil(Math.min(...ends)), hi: Math.floor(Math.max(...ends)) };
    if (bound.lo > bound.hi) return null;
    bounds.set(key, bound);
    // Each symbol is bounded by what the others leave to it.
    if (form.terms.length > 1) {
      for (const [symbol, coefficient] of form.terms) {
        const others = this.sum(form.terms.filter(([each]) => each !== symbol));
        const own = this.single(symbol);
        const rest = [
          (wanted.lo - form.constant - others.hi) / coefficient,
          (wanted.hi - form.constant - others.lo) / coefficient,
        ];
        const left = {
          lo: Math.max(own.lo, Math.ceil(Math.min(...rest))),
          hi: Math.min(own.hi, Math.floor(Math.max(...rest))),
        };
        if (left.lo > left.hi) return null;
        bounds.set(`${symbol}:1`, left);
      }
    }
    return new Facts(this.symbols, bounds);
  }

  /** Where a symbol may lie. */
  pieces(symbol: number): readonly Interval[] {
    const { lo, hi } = this.single(symbol);
    return this.symbols.pieces(symbol).flatMap((each) => {
      const piece = { lo: Math.max(lo, each.lo), hi: Math.min(hi, each.hi) };
      return piece.lo <= piece.hi ? [piece] : [];
    });
  }

  private single(symbol: number): Interval {
    const range = this.symbols.range(symbol);
    const bound = this.bounds.get(`${symbol}:1`);
    return bound ? { lo: Math.max(range.lo, bound.lo), hi: Math.min(range.hi, bound.hi) } : range;
  }

  private sum(terms: Form['terms']): Interval {
    let lo = 0;
    let hi = 0;
    for (const [symbol, coefficient] of terms) {
      const range = this.single(symbol);
      lo += coefficient * (coefficient > 0 ? range.lo : range.hi);
      hi += coefficient * (coefficient > 0 ? range.hi : range.lo);
    }
    return { lo, hi };
  }
}
