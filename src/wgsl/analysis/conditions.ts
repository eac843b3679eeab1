/** What holds where a condition is true, or false. */
import type { Facts } from './facts.js';
import { combine, type Interval } from './forms.js';
import { type Condition, type Integer, rangeOf, rangeOfType, safeRangeOf } from './values.js';

const NEGATED: Readonly<Record<string, string>> = {
  '<': '>=',
  '>=': '<',
  '>': '<=',
  '<=': '>',
  '==': '!=',
  '!=': '==',
};

/** @returns null where the condition cannot have this value */
export function assume(facts: Facts, condition: Condition, value: boolean): Facts | null {
  switch (condition.kind) {
    case 'open':
      return facts;
    case 'known':
      return condition.value === value ? facts : null;
    case 'not':
      return assume(facts, condition.operand, !value);
    case 'compare': {
      const { operator, left, right } = condition;
      return compare(facts, value ? operator : (NEGATED[operator] as string), left, right);
    }
    default: {
      const both = condition.kind === 'and' ? value : !value;
      const first = assume(facts, condition.left, value);
      if (both) return first && assume(first, condition.right, value);
      // One of the two holds: where one cannot, the other does.
      const second = assume(facts, condition.right, value);
      if (first === null) return second;
      return second === null ? first : facts;
    }
  }
}

function compare(facts: Facts, operator: string, left: Integer, right: Integer): Facts | null {
  if (operator === '>' || operator === '>=')
    return compare(facts, operator === '>' ? '<' : '<=', right, left);
  const type = left.type === 'int' ? right.type : left.type;
  const l = { ...left, type };
  const r = { ...right, type };
  if (operator === '!=') return differ(facts, l, r);
  const one = safeRangeOf(l, facts);
  const other = safeRangeOf(r, facts);
  const gap = operator === '<' ? 1 : 0;
  const low = operator === '==' ? other.lo : -Infinity;
  const high = operator === '==' ? one.hi : Infinity;
  let next = within(facts, l, { lo: low, hi: other.hi - gap });
  next = next && within(next, r, { lo: one.lo + gap, hi: high });
  if (next === null) return null;
  // Where neither form has wrapped around, their difference is known, too.
  if (!isItself(facts, l) || !isItself(facts, r)) return next;
  return next.with(combine(l.form, r.form, -1), {
    lo: operator === '==' ? 0 : -Infinity,
    hi: -gap,
  });
}

function differ(facts: Facts, left: Integer, right: Integer): Facts | null {
  const one = rangeOf(left, facts);
  const other = rangeOf(right, facts);
  if (one === null || other === null) return facts;
  if (other.lo === other.hi) return without(facts, left, one, other.lo);
  return one.lo === one.hi ? without(facts, right, other, one.lo) : facts;
}

function without(facts: Facts, value: Integer, { lo, hi }: Interval, point: number): Facts | null {
  if (lo === point) return within(facts, value, { lo: lo + 1, hi });
  return hi === point ? within(facts, value, { lo, hi: hi - 1 }) : facts;
}

function isItself(facts: Facts, { type, form }: Integer): boolean {
  const range = facts.range(form);
  const whole = rangeOfType(type);
  return range.lo >= whole.lo && range.hi <= whole.hi;
}

/** The number itself lies in the interval: its form does, or a multiple of 2^32 away. */
function within(facts: Facts, { type, form }: Integer, { lo, hi }: Interval): Facts | null {
  const whole = rangeOfType(type);
  const from = Math.max(lo, whole.lo);
  const to = Math.min(hi, whole.hi);
  if (from > to) return null;
  const range = facts.range(form);
  if (type === 'int') return facts.with(form, { lo: from, hi: to });
  const first = Math.floor((range.lo - whole.lo) / 2 ** 32);
  const last = Math.floor((range.hi - whole.lo) / 2 ** 32);
  if (last - first > 1) return facts;
  const hull = { lo: Infinity, hi: -Infinity };
  for (let turn = first; turn <= last; turn++) {
    const begin = Math.max(range.lo, from + turn * 2 ** 32);
    const end = Math.min(range.hi, to + turn * 2 ** 32);
    if (begin > end) continue;
    hull.lo = Math.min(hull.lo, begin);
    hull.hi = Math.max(hull.hi, end);
  }
  return hull.lo > hull.hi ? null : facts.with(form, hull);
}
