/**
 * What holds at the head of a loop in each of its turns: what the loop assigns may be anything, but
 * for counters, which stay between where they began and what the conditions at the loop's beginning
 * let through.
 */

import type { Expression, Statement } from '../reading/tree.js';
import { bodiesOf, someStatement } from '../reading/walk.js';
import type { Arithmetic } from './arithmetic.js';
import { assume } from './conditions.js';
import type { Facts, Symbols } from './facts.js';
import { type Interval, symbol } from './forms.js';
import type { Counter, LoopAssignments } from './loop-assignments.js';
import { copyOf, forgotten, type State } from './state.js';
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

/** The values of a counter, turn by turn: `first`, `first + step`, ... */
export interface Turns {
  readonly symbol: number;
  readonly first: number;
  readonly step: number;
}

/** @returns the state at the head of the loop, and after it, and its counters whose turns are known */
export function enterLoop(
  loop: Statement & { readonly kind: 'loop' },
  { assigned, counters, named }: LoopAssignments,
  before: State,
  evaluation: Evaluation,
): { readonly head: State; readonly turns: readonly Turns[] } {
  const head = copyOf(before);
  // What looks like a counter a pointer may change, too.
  const pointed = new Set(
    [...named].flatMap((local) => {
      const value = before.locals.get(local);
      return value?.kind === 'pointer' && value.place.kind === 'local' ? [value.place.local] : [];
    }),
  );
  for (const local of [...pointed, ...assigned]) {
    const value = before.locals.get(local);
    if (value) head.locals.set(local, forgotten(evaluation.arithmetic, value));
  }
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
  return { head, turns: bounded.flatMap(turnsOf) };
}

function turnsOf({ counter: { operator }, number, init, step }: Bounded): Turns[] {
  const isExact = init.lo === init.hi && step.lo === step.hi && step.lo > 0;
  if (!isExact || (operator !== '+' && operator !== '-')) return [];
  return [{ symbol: number, first: init.lo, step: operator === '+' ? step.lo : -step.lo }];
}

/** `if (...) { break; }` */
export function isGuard(statement: Statement | undefined): boolean {
  return (
    statement?.kind === 'if' &&
    statement.otherwise === null &&
    statement.body.body.length === 1 &&
    statement.body.body[0]?.kind === 'break'
  );
}

/**
 * Whether the body runs for each value of its counters that its first statement lets through, and
 * that depends on no id: what else may leave the loop is not in it.
 */
export function isCounted(
  { body: { body }, continuing, breakIf }: Statement & { readonly kind: 'loop' },
  turns: readonly Turns[],
  guard: Condition,
): boolean {
  const [first, ...others] = body;
  return (
    breakIf === null &&
    isGuard(first) &&
    isBound(guard, turns) &&
    !leaves([...others, ...continuing])
  );
}

/** Whether it compares a counter with a number. */
function isBound(condition: Condition, turns: readonly Turns[]): boolean {
  if (condition.kind === 'not') return isBound(condition.operand, turns);
  if (condition.kind !== 'compare') return false;
  const [left, right] = [condition.left.form, condition.right.form];
  const one = left.terms.length > 0 ? left : right;
  const other = one === left ? right : left;
  const [term, ...more] = one.terms;
  const isCounter = turns.some(({ symbol: number }) => number === term?.[0]);
  return other.terms.length === 0 && more.length === 0 && isCounter;
}

/** Whether statements of a loop's body may leave it. */
function leaves(statements: readonly Statement[]): boolean {
  return statements.some((each) => {
    if (each.kind === 'return' || each.kind === 'break') return true;
    return each.kind === 'loop'
      ? someStatement([each], ({ kind }) => kind === 'return')
      : bodiesOf(each).some(leaves);
  });
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
    if (statement.kind !== 'if' || !isGuard(statement)) break;
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
