/**
 * Between which numbers those of an array lie, from one element to another: row pointers and columns
 * of sparse matrices, offsets of lists. Of the numbers no more is kept than the least and the
 * greatest of each few.
 */

import type { Description, Resource } from '../reading/describe.js';
import type { LaunchFacts } from './access.js';
import { accessesOf } from './accesses.js';
import type { Interval } from './forms.js';
import type { Slices } from './slices.js';

/** Elements of which one least and one greatest number is kept. */
const FEW = 16;
/** Elements that are looked at between two slices. */
const SLICE = 2 ** 16;

export class NumberRanges {
  private readonly least: Float64Array;
  private readonly greatest: Float64Array;

  constructor(
    private readonly length: number,
    private readonly isSigned: boolean,
  ) {
    const blocks = Math.ceil(length / FEW);
    this.least = new Float64Array(blocks).fill(Infinity);
    this.greatest = new Float64Array(blocks).fill(-Infinity);
  }

  /** @param from the element with which the bytes begin */
  *add(from: number, bytes: Uint8Array): Slices<void> {
    const copy = bytes.slice().buffer;
    const numbers = this.isSigned ? new Int32Array(copy) : new Uint32Array(copy);
    for (const [at, number] of numbers.entries()) {
      if (at % SLICE === SLICE - 1) yield;
      const block = Math.floor((from + at) / FEW);
      if (number < (this.least[block] as number)) this.least[block] = number;
      if (number > (this.greatest[block] as number)) this.greatest[block] = number;
    }
  }

  /** An interval in which these elements lie; null: some are not there. */
  of({ lo, hi }: Interval): Interval | null {
    if (lo < 0 || hi >= this.length || lo > hi) return null;
    const found = { lo: Infinity, hi: -Infinity };
    for (let block = Math.floor(lo / FEW); block <= Math.floor(hi / FEW); block++) {
      found.lo = Math.min(found.lo, this.least[block] as number);
      found.hi = Math.max(found.hi, this.greatest[block] as number);
    }
    return found;
  }
}

/** Arrays of whole numbers, not written, that tell which elements of others are touched. */
export function tellingArrays(description: Description, launch: LaunchFacts): readonly Resource[] {
  const able = description.resources.filter(
    ({ space, isStored, isDivisible, runtimeArray }) =>
      space === 'storage' &&
      !isStored &&
      isDivisible &&
      runtimeArray?.element.kind === 'scalar' &&
      ['i32', 'u32'].includes(runtimeArray.element.name),
  );
  const box = { first: [0, 0, 0], count: [1, 1, 1] } as const;
  /** What is touched where nothing is known of one of them, and all others are 0 or 1. */
  const touched = (unknown: Resource | null): string => {
    const contents = (name: string): Interval | null =>
      name === unknown?.name || !able.some((each) => each.name === name) ? null : { lo: 0, hi: 1 };
    const { accesses } = accessesOf(description, { ...launch, contents }, box);
    return JSON.stringify(accesses.map(({ range }) => range));
  };
  const all = touched(null);
  return able.filter((each) => touched(each) !== all);
}
