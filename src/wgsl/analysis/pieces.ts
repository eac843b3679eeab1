/** Where an index may lie, as intervals: rows or columns of a matrix's block, ends of a ring. */
import type { Facts } from './facts.js';
import type { Form, Interval } from './forms.js';

/** More intervals than this are taken for all between them. */
const MOST_PIECES = 65_536;

/**
 * @param gap what lies no farther apart is one interval
 * @returns ascending
 */
export function piecesOf(form: Form, facts: Facts, gap: number): readonly Interval[] {
  return intervalsOf(form, facts, gap, false) as readonly Interval[];
}

/** The same, where all that lies in them is a value of the form, up to the gap; null: that is not known. */
export function exactPiecesOf(form: Form, facts: Facts, gap: number): readonly Interval[] | null {
  return intervalsOf(form, facts, gap, true);
}

function intervalsOf(
  form: Form,
  facts: Facts,
  gap: number,
  exact: boolean,
): readonly Interval[] | null {
  const whole = facts.range(form);
  // The symbols that reach farthest first: within a step of theirs lie all that the others reach.
  const terms = form.terms.toSorted(([, one], [, other]) => Math.abs(other) - Math.abs(one));
  let pieces: Interval[] = [{ lo: form.constant, hi: form.constant }];
  for (const [symbol, coefficient] of terms.toReversed()) {
    const next: Interval[] = [];
    const width = (pieces.at(-1) as Interval).hi - (pieces[0] as Interval).lo;
    const isApart = Math.abs(coefficient) > width + gap;
    for (const { lo, hi } of facts.pieces(symbol)) {
      const count = isApart ? hi - lo + 1 : 1;
      if ((next.length + count) * pieces.length > MOST_PIECES) return exact ? null : [whole];
      if (exact && !isApart && !pieces.every((each) => isFilled(each, coefficient, gap)))
        return null;
      for (let at = 0; at < count; at++) {
        const [from, to] = isApart ? [lo + at, lo + at] : [lo, hi];
        const ends = [coefficient * from, coefficient * to] as const;
        for (const each of pieces)
          next.push({ lo: each.lo + Math.min(...ends), hi: each.hi + Math.max(...ends) });
      }
    }
    pieces = joinedPieces(next, gap);
  }
  return pieces.flatMap(({ lo, hi }) => {
    const piece = { lo: Math.max(lo, whole.lo), hi: Math.min(hi, whole.hi) };
    return piece.lo <= piece.hi ? [piece] : [];
  });
}

/** Whether the interval, moved by so much again and again, leaves no more than gaps. */
function isFilled({ lo, hi }: Interval, coefficient: number, gap: number): boolean {
  return Math.abs(coefficient) <= hi - lo + 1 + gap;
}

function joinedPieces(pieces: Interval[], gap: number): Interval[] {
  pieces.sort((one, other) => one.lo - other.lo);
  const joined: { lo: number; hi: number }[] = [];
  for (const { lo, hi } of pieces) {
    const last = joined.at(-1);
    if (last !== undefined && lo <= last.hi + 1 + gap) last.hi = Math.max(last.hi, hi);
    else joined.push({ lo, hi });
  }
  return joined;
}
