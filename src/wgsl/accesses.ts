/** Every load, store and atomic of a storage variable that an entry point and what it calls make, for a part of a launch. */
import { Arithmetic } from './arithmetic.js';
import type { Description, Resource } from './describe.js';
import { Facts, Symbols } from './facts.js';
import { FIRST_FRESH, type Form, type Interval } from './forms.js';
import { Interpreter } from './interpreter.js';
import type { Call, Index } from './tree.js';
import type { UniformValue } from './values.js';

/** What is known of a launch. What is left out may be anything. */
export interface LaunchFacts {
  /** How many workgroups there are in each dimension. */
  readonly workgroups: readonly [number, number, number];
  /** Elements of runtime-sized arrays, by the name of the variable. */
  readonly lengths: Readonly<Record<string, number>>;
  /** Of uniform variables, by name: a number, a list for a vector, an object for a structure. */
  readonly uniforms: Readonly<Record<string, UniformValue | undefined>>;
}

/** Workgroups that run together: `count` in each dimension, from `first` on. */
export interface WorkgroupBox {
  readonly first: readonly [number, number, number];
  readonly count: readonly [number, number, number];
}

export interface Access {
  readonly resource: Resource;
  readonly kind: 'load' | 'store' | 'atomic';
  /** Of an atomic: the function's name. */
  readonly operation: string | null;
  /** Whether the program looks at what an atomic gives back. */
  readonly resultUsed: boolean;
  /** Which elements, where the variable is an array; null: any, or all. The bounds are those of the index before anything is clamped. */
  readonly range: Interval | null;
  /** The index as a form of ids, where it is one exactly. */
  readonly form: Form | null;
  /** Where it stands in the source, in characters. */
  readonly offset: number;
}

/** Where the text of an access stands, for the rewriting. */
export interface Sites {
  /** Indices of arrays that are variables: `a` in `a[i]`. More than one where a function gets pointers to several. */
  readonly indices: ReadonlyMap<Index, ReadonlySet<Resource>>;
  readonly lengths: ReadonlyMap<Call, ReadonlySet<Resource>>;
}

export interface Accesses extends Sites {
  readonly accesses: readonly Access[];
}

const WHOLE = 2 ** 32 - 1;

/**
 * @param box leaves out what the other workgroups of the launch do
 * @throws WgslError for what the analysis does not understand
 */
export function accessesOf(description: Description, launch: LaunchFacts | null, box?: WorkgroupBox): Accesses {
  const size = description.entryPoint.workgroupSize;
  const symbols = new Symbols();
  const { first, count } = box ?? { first: [0, 0, 0], count: launch?.workgroups ?? [WHOLE, WHOLE, WHOLE] };
  for (let axis = 0; axis < 3; axis++) {
    const begin = first[axis] as number;
    const end = begin + (count[axis] as number);
    const wide = size[axis] as number;
    symbols.fresh(begin * wide, Math.min(end * wide - 1, WHOLE));
  }
  for (let axis = 0; axis < 3; axis++)
    symbols.fresh(first[axis] as number, (first[axis] as number) + (count[axis] as number) - 1);
  for (let axis = 0; axis < 3; axis++) symbols.fresh(0, (size[axis] as number) - 1);
  const interpreter = new Interpreter(description, launch, symbols, new Arithmetic(symbols, size));
  interpreter.run(new Facts(symbols));
  return interpreter;
}

/** Whether a form consists of nothing but ids: the same ids make the same element. */
export function isOfIds({ terms }: Form): boolean {
  return terms.every(([symbol]) => symbol < FIRST_FRESH);
}
