/** What the analysis knows of a value at a place in the program. */
import type { Resource } from '../reading/describe.js';
import type { Local } from '../reading/tree.js';
import type { Type } from '../reading/types.js';
import type { UniformValue } from '../reading/uniform-value.js';
import type { Facts } from './facts.js';
import { constant, type Form, type Interval } from './forms.js';

/** `int`: a number without a type yet, such as the literal 1. */
export type IntegerType = 'i32' | 'u32' | 'int';
export type Integer = { readonly kind: 'integer'; readonly type: IntegerType; readonly form: Form };
export type Condition =
  | {
      readonly kind: 'compare';
      readonly operator: string;
      readonly left: Integer;
      readonly right: Integer;
    }
  | { readonly kind: 'and' | 'or'; readonly left: Condition; readonly right: Condition }
  | { readonly kind: 'not'; readonly operand: Condition }
  | { readonly kind: 'known'; readonly value: boolean }
  | { readonly kind: 'open' };
export type Vector = { readonly kind: 'vector'; readonly elements: readonly Value[] };
export type Value =
  | Integer
  /** A number of floating point that lies between two. */
  | { readonly kind: 'real'; readonly lo: number; readonly hi: number }
  | { readonly kind: 'truth'; readonly condition: Condition }
  | Vector
  /** The builtins that an entry point has in a structure. */
  | { readonly kind: 'structure'; readonly members: ReadonlyMap<string, Value> }
  | { readonly kind: 'pointer'; readonly place: Place }
  /** Anything else, and what is not known; `type` null: of a type that is not known either. */
  | { readonly kind: 'unknown'; readonly type: Type | null };

/** Elements and members, outermost first; null: an element, and it is not known which. */
export type PlacePath = readonly (number | string | null)[];

export type Place =
  | { readonly kind: 'local'; readonly local: Local; readonly path: PlacePath }
  | {
      readonly kind: 'resource';
      readonly resource: Resource;
      readonly type: Type;
      /** Of the array that the variable is, or that its structure ends with; null: none yet. */
      readonly index: Value | null;
      /** Of the structure that the variable is; null: all of it, or it is none. */
      readonly member: string | null;
      /** Of the uniform variable's part, as far as it is known. */
      readonly known: UniformValue | undefined;
    }
  /** Memory of the invocation or the workgroup, whose content is not followed. */
  | { readonly kind: 'other'; readonly type: Type | null };

const RANGES: Readonly<Record<IntegerType, Interval>> = {
  u32: { lo: 0, hi: 2 ** 32 - 1 },
  i32: { lo: -(2 ** 31), hi: 2 ** 31 - 1 },
  int: { lo: -Infinity, hi: Infinity },
};

export function rangeOfType(type: IntegerType): Interval {
  return RANGES[type];
}

export const UNKNOWN: Value = { kind: 'unknown', type: null };
export const OPEN: Condition = { kind: 'open' };

export function integer(type: IntegerType, form: Form | number): Integer {
  return { kind: 'integer', type, form: typeof form === 'number' ? constant(form) : form };
}

export function truth(condition: Condition): Value {
  return { kind: 'truth', condition };
}

export function isInteger(value: Value | undefined): value is Integer {
  return value?.kind === 'integer';
}

/** The values that the number can have in its type; null where its form wraps around. */
export function rangeOf({ type, form }: Integer, facts: Facts): Interval | null {
  const range = facts.range(form);
  const whole = RANGES[type];
  if (range.lo >= whole.lo && range.hi <= whole.hi) return range;
  if (type === 'int') return range;
  const shift = Math.floor((range.lo - whole.lo) / 2 ** 32) * 2 ** 32;
  const moved = { lo: range.lo - shift, hi: range.hi - shift };
  return moved.hi <= whole.hi ? moved : null;
}

/** The same, or all that the type has. */
export function safeRangeOf(value: Integer, facts: Facts): Interval {
  return rangeOf(value, facts) ?? RANGES[value.type];
}
