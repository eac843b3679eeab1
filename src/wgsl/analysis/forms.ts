/**
 * Whole numbers as affine forms: a constant, and symbols with coefficients. A symbol stands for a
 * number that is not known: an id of the invocation, a counter of a loop, a value that was loaded.
 * The form of an i32 or u32 is that number or one that differs by a multiple of 2^32: `i - 1u` is
 * the form i - 1 also where the sum wraps.
 */
export interface Interval {
  readonly lo: number;
  readonly hi: number;
}

export interface Form {
  /** Symbols, ascending, with coefficients other than 0. */
  readonly terms: readonly (readonly [symbol: number, coefficient: number])[];
  readonly constant: number;
}

/** The ids of an invocation in three dimensions; what is made later has greater numbers. */
export const GLOBAL_ID = 0;
export const WORKGROUP_ID = 3;
export const LOCAL_ID = 6;
export const FIRST_FRESH = 9;

/** Beyond this, sums of doubles might be rounded. */
export const GREATEST = 2 ** 50;

export function constant(value: number): Form {
  return { terms: [], constant: value };
}

export function symbol(number: number): Form {
  return { terms: [[number, 1]], constant: 0 };
}

export function isConstant({ terms }: Form): boolean {
  return terms.length === 0;
}

/** a + factor * b */
export function combine(a: Form, b: Form, factor: number): Form {
  const terms: [number, number][] = [];
  let i = 0;
  let j = 0;
  while (i < a.terms.length || j < b.terms.length) {
    const [left = Infinity, one = 0] = a.terms[i] ?? [];
    const [right = Infinity, other = 0] = b.terms[j] ?? [];
    const sum = (left <= right ? one : 0) + (right <= left ? factor * other : 0);
    if (sum !== 0) terms.push([Math.min(left, right), sum]);
    if (left <= right) i++;
    if (right <= left) j++;
  }
  return { terms, constant: a.constant + factor * b.constant };
}

export function scale(form: Form, factor: number): Form {
  return combine(constant(0), form, factor);
}

export function sameForm(a: Form, b: Form): boolean {
  return (
    a.constant === b.constant &&
    a.terms.length === b.terms.length &&
    a.terms.every(
      ([symbol, coefficient], at) =>
        b.terms[at]?.[0] === symbol && b.terms[at]?.[1] === coefficient,
    )
  );
}

/** A form without its constant, in lowest terms: equal ones have the same key. */
export interface Direction {
  readonly key: string;
  readonly factor: number;
}

export function directionOf({ terms }: Form): Direction {
  let factor = 0;
  for (const [, coefficient] of terms) factor = commonDivisor(factor, Math.abs(coefficient));
  if ((terms[0]?.[1] ?? 1) < 0) factor = -factor;
  return {
    key: terms.map(([symbol, coefficient]) => `${symbol}:${coefficient / factor}`).join(),
    factor,
  };
}

export function commonDivisor(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}

/**
 * One form for ids that are the same number: the id in the grid is workgroup id * workgroup size +
 * id in the workgroup.
 * @param size of a workgroup
 */
export function withIdsJoined(form: Form, size: readonly number[]): Form {
  if (!form.terms.some(([symbol]) => symbol < FIRST_FRESH)) return form;
  const coefficients = new Map(form.terms);
  const take = (symbol: number) => coefficients.get(symbol) ?? 0;
  for (let axis = 0; axis < 3; axis++) {
    const wide = size[axis] as number;
    const [all, group, local] = [
      take(GLOBAL_ID + axis),
      take(WORKGROUP_ID + axis),
      take(LOCAL_ID + axis),
    ];
    const set = (...values: number[]) => {
      for (const [at, value] of values.entries()) coefficients.set(3 * at + axis, value);
    };
    if (local !== 0 && group === wide * local) set(all + local, 0, 0);
    else if (all !== 0 && local === -all) set(0, group + wide * all, 0);
    else if (all !== 0 && group === -wide * all) set(0, 0, local + all);
  }
  const terms = [...coefficients]
    .filter(([, value]) => value !== 0)
    .sort(([one], [other]) => one - other);
  return { terms, constant: form.constant };
}
