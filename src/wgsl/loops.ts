/**
 * What holds at the head of a loop in each of its turns: what the loop assigns may be anything, but
 * for counters, which stay between where they began and what the conditions at the loop's beginning
 * let through.
 */
import type { Arithmetic } from './arithmetic.js';
import { assume } from './conditions.js';
import type { Facts, Symbols } from './facts.js';
import { type Interval, symbol } from './forms.js';
import type { Counter, LoopAssignments } from './loop-assignments.js';
import { copyOf, forgotten, type State } from './state.js';
import type { Expression, Statement } from './tree.js';
import {
  type Condition,
  integer,
  isInteger,
  rangeOf,
  rangeOfType,
  safeRangeOf,
  type Value,
} from './values.js';

interface Evaluation {
  readonly arithmetic: Arithmetic;
  readonly symbols: Symbols;
  /** Without noting accesses. */
  value(expression: Expression, state: State): Value;
  condition(expression: Expression, state: State): Condition;
}

interface Bounded {
  readonly counter: Counter;
  readonly number: number;
  readonly up: boolean;
  readonly init: Interval;
  readonly step: Interval;
  readonly type: 'i32' | 'u32';
}

/** @returns the state at the head of the loop, and after it */
export function enterLoop(
  loop: Statement & { readonly kind: 'loop' },
  { assigned, counters, named }: LoopAssignments,
  before: State,
  evaluation: Evaluation,
): State {
  const head = copyOf(before);
  for (const local of named) {
    const value = before.locals.get(local);
    if (value?.kind !== 'pointer' || value.place.kind !== 'local') continue;
    const target = before.locals.get(value.place.local);
    if (target) head.locals.set(value.place.local, forgotten(evaluation.arithmetic, target));
  }
  for (const local of assigned) {
    const value = before.locals.get(local);
    if (value) head.locals.set(local, forgotten(evaluation.arithmetic, value));
  }
  // A pointer may change what looks like a counter.
  const pointed = new Set(
    [...named].flatMap((local) => {
      const value = before.locals.get(local);
      return value?.kind === 'pointer' && value.place.kind === 'local' ? [value.place.local] : [];
    }),
  );
  let bounded = counters
    .filter(({ local }) => !pointed.has(local))
    .flatMap((counter) => boundedBy(counter, before, head, evaluation) ?? []);
  for (const { counter, number, type } of bounded)
    head.locals.set(counter.local, integer(type, symbol(number)));
  // A counter that the guards do not keep from wrapping around may be anything, and then so may
  // what depends on it.
  for (;;) {
    const guarded = factsAfterGuards(loop, head, evaluation);
    // The loop's body is never run: counters stay what they were.
    if (guarded === null) break;
    const ends = bounded.map((each) => lastOf(each, guarded));
    const lost = bounded.filter(({ type }, at) => {
      const whole = rangeOfType(type);
      return (ends[at] as number) > whole.hi || (ends[at] as number) < whole.lo;
    });
    if (lost.length === 0) {
      for (const [at, { number, up, init }] of bounded.entries()) {
        const last = ends[at] as number;
        const range = up
          ? { lo: init.lo, hi: Math.max(init.hi, last) }
          : { lo: Math.min(init.lo, last), hi: init.hi };
        evaluation.symbols.narrow(number, range);
      }
      break;
    }
    for (const { counter, type } of lost)
      head.locals.set(counter.local, evaluation.arithmetic.any(type));
    bounded = bounded.filter((each) => !lost.includes(each));
  }
  return head;
}

function boundedBy(
  counter: Counter,
  before: State,
  head: State,
  { symbols, value }: Evaluation,
): Bounded[] | null {
  const start = before.locals.get(counter.local);
  const by = value(counter.step, head);
  if (!isInteger(start) || !isInteger(by) || start.type === 'int') return null;
  const init = rangeOf(start, before.facts);
  const step = safeRangeOf({ ...by, type: by.type === 'int' ? start.type : by.type }, head.facts);
  if (init === null) return null;
  const { operator } = counter;
  const grows = operator === '+' ? step.lo >= 0 : operator === '*' && step.lo >= 1 && init.lo >= 0;
  const doubles = operator === '<<' && step.lo >= 0 && step.hi < 32 && init.lo >= 0;
  const falls = operator === '-' && step.lo >= 0;
  const halves =
    (operator === '/' || operator === '>>') &&
    step.lo >= (operator === '/' ? 1 : 0) &&
    init.lo >= 0;
  if (!grows && !doubles && !falls && !halves) return null;
  const up = grows || doubles;
  const whole = rangeOfType(start.type);
  const number = up
    ? symbols.fresh(init.lo, whole.hi)
    : symbols.fresh(halves ? 0 : whole.lo, init.hi);
  return [{ counter, number, up, init, step, type: start.type }];
}

/** The conditions with which the body begins: `if (...) { break; }`. */
function factsAfterGuards(
  loop: Statement & { kind: 'loop' },
  head: State,
  { condition }: Evaluation,
): Facts | null {
  const state = copyOf(head);
  for (const statement of loop.body.body) {
    if (statement.kind !== 'if' || statement.otherwise !== null) break;
    if (statement.body.body.length !== 1 || statement.body.body[0]?.kind !== 'break') break;
    const facts = assume(state.facts, condition(statement.condition, state), false);
    if (facts === null) return null;
    state.facts = facts;
  }
  return state.facts;
}

/** What the counter has at the head the last time: a step beyond what the guards let through. */
function lastOf({ counter: { operator }, number, up, step }: Bounded, guarded: Facts): number {
  const { lo, hi } = guarded.range(symbol(number));
  if (!up) return operator === '-' ? lo - step.hi : 0;
  if (operator === '+') return hi + step.hi;
  return hi * (operator === '*' ? step.hi : 2 ** step.hi);
}
