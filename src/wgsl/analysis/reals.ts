/**
 * Floating-point numbers of a launch, as far as an index or the end of a loop is computed of them:
 * `u32(size.x)`, `i32(ceil(f32(n) / 16.0))`. Intervals, as wide as the roundings that WGSL allows.
 */
import type { Interval } from './forms.js';
import type { Value } from './values.js';

export type Real = Interval & { readonly kind: 'real' };

/** A correctly rounded result is off by half of the last digit; a quotient by 2.5 of them. */
const ROUNDED = 2 ** -24;
const DIVIDED = 2 ** -21;
/** Where integers are no longer exact in f32, nothing is computed of them that counts elements. */
const MOST = 2 ** 50;

/** @returns null: it is not followed */
export function real(lo: number, hi = lo): Real | null {
  return Math.abs(lo) <= MOST && Math.abs(hi) <= MOST ? { kind: 'real', lo, hi } : null;
}

export function isReal(value: Value | undefined): value is Real {
  return value?.kind === 'real';
}

/** As f32 has a number, which it may have been rounded to. */
export function rounded({ lo, hi }: Interval, by = ROUNDED): Real | null {
  if (lo === hi && by === ROUNDED && Math.fround(lo) === lo) return real(lo);
  return real(lo - Math.abs(lo) * by, hi + Math.abs(hi) * by);
}

/** An operator or a function on two of them. */
export function realResult(operator: string, a: Interval, b: Interval): Real | null {
  switch (operator) {
    case '+':
      return rounded({ lo: a.lo + b.lo, hi: a.hi + b.hi });
    case '-':
      return rounded({ lo: a.lo - b.hi, hi: a.hi - b.lo });
    case '*':
      return rounded(hull([a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi]));
    case '/':
      if (b.lo <= 0 && b.hi >= 0) return null;
      return rounded(hull([a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi]), DIVIDED);
    case 'min':
      return real(Math.min(a.lo, b.lo), Math.min(a.hi, b.hi));
    case 'max':
      return real(Math.max(a.lo, b.lo), Math.max(a.hi, b.hi));
    default:
      return null;
  }
}

/** A function of one of them; null: it is not followed. */
export function realFunction(name: string, { lo, hi }: Interval): Real | null {
  if (name !== 'floor' && name !== 'ceil' && name !== 'trunc') return null;
  return real(Math[name](lo), Math[name](hi));
}

function hull(numbers: readonly number[]): Interval {
  return { lo: Math.min(...numbers), hi: Math.max(...numbers) };
}
