/** What `range()` of an array gives: a part of it to hand in, and to look at. */
import type { NumericArray } from '../../core/basics/elements.js';
import type { ManagedArray, ViewedRange } from '../public.js';

/** The view is no own property: copying or printing a range touches no element. */
export class ElementRange<T extends NumericArray> implements ViewedRange<T> {
  constructor(
    readonly array: ManagedArray<T>,
    readonly begin: number,
    readonly end: number,
  ) {}

  get data(): T {
    return this.array.data.subarray(this.begin, this.end) as T;
  }
}
