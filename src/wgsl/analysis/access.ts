/** What is found for a launch: which elements are read and written, and where in the text. */
import type { Resource } from '../reading/describe.js';
import type { Call, Expression, Index, Statement } from '../reading/tree.js';
import type { Type } from '../reading/types.js';
import type { UniformValue } from '../reading/uniform-value.js';
import type { Form, Interval } from './forms.js';

/** What is known of a launch. What is left out may be anything. */
export interface LaunchFacts {
  /** How many workgroups there are in each dimension. */
  readonly workgroups: readonly [number, number, number];
  /** Elements of runtime-sized arrays, by the name of the variable. */
  readonly lengths: Readonly<Record<string, number>>;
  /** Of uniform variables, by name: a number, a list for a vector, an object for a structure. */
  readonly uniforms: Readonly<Record<string, UniformValue | undefined>>;
  /** Between which numbers elements of an array lie that is not written; null: that is not known. */
  contents?(name: string, elements: Interval): Interval | null;
}

/** Workgroups that run together: `count` in each dimension, from `first` on. */
export interface WorkgroupBox {
  readonly first: readonly [number, number, number];
  readonly count: readonly [number, number, number];
}

/** Numbers that are loaded from an array: elements of it, and which. */
export interface Loaded {
  readonly resource: Resource;
  /** What the index may be, as a number of its type; null: it is not known. */
  readonly range: Interval | null;
}

/** An index: a loaded number times a factor, and a bounded rest; modulo 2^32. */
export interface Named {
  readonly by: Loaded;
  readonly factor: number;
  readonly rest: Interval;
  /** The rest as intervals. */
  pieces(gap: number): readonly Interval[];
}

export interface Access {
  readonly resource: Resource;
  readonly kind: 'load' | 'store' | 'atomic';
  /** Whether it is of what stands before the variable's runtime-sized array. */
  readonly isHead: boolean;
  /** Of a variable that is a structure: the member; null: all of it. */
  readonly member: string | null;
  /** Of an atomic: the function's name. */
  readonly operation: string | null;
  /** Whether the program looks at what an atomic gives back. */
  readonly resultUsed: boolean;
  /** Which elements of an array; null: any, or all. Bounds are those before clamping. */
  readonly range: Interval | null;
  /** The same as several intervals. @param gap what lies no farther apart is one of them */
  pieces(gap: number): readonly Interval[] | null;
  /**
   * Intervals of elements that are touched whatever arrays hold, each closer than the gap to the
   * next; null: none need be. They are all of it where the ids are those of one workgroup, or of
   * one invocation.
   */
  certain(gap: number): readonly Interval[] | null;
  /** The index as a form of ids, where it is one exactly. */
  readonly form: Form | null;
  /** Set where the index comes from one loaded number. */
  readonly named: Named | null;
  /** Where it stands in the source, in characters. */
  readonly offset: number;
}

/** What is accessed, and where that stands in the text, for the rewriting. */
export interface Accesses {
  readonly accesses: readonly Access[];
  /** Whether numbers of floating point become whole ones, of which indices may be computed. */
  readonly truncates: boolean;
  /** Indices of variables, as `a[i]`'s. More than one where pointers may be to several. */
  readonly indices: ReadonlyMap<Index, ReadonlySet<Resource>>;
  readonly lengths: ReadonlyMap<Call, ReadonlySet<Resource>>;
  /** Assignments to storage, and calls of atomics. */
  readonly writes: ReadonlyMap<Statement | Call, ReadonlySet<Resource>>;
  /** Where elements of storage, or members of them, become values; the target of `+=`, too. */
  readonly loads: ReadonlyMap<Expression, Load>;
  /** Calls of atomics, of storage and of memory that a workgroup shares. */
  readonly atomics: ReadonlyMap<Call, AtomicCall>;
}

export interface Load {
  readonly resources: ReadonlySet<Resource>;
  readonly type: Type | null;
}

export interface AtomicCall {
  readonly isStorage: boolean;
  readonly type: Type | null;
  readonly resultUsed: boolean;
}
