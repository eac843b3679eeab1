/** Parts of arrays, in elements. */
import type { NumericArray } from '../core/elements.js';
import type { OptionNames } from '../core/option-names.js';
import { checkOptions, isWhole, show } from './arguments.js';
import { argumentError } from './errors.js';
import type { ManagedArray } from './managed-array.js';

/** A part of an array for the array's own methods, in elements; all of it unless said otherwise. What `range()` gives is one, too. */
export interface ArrayPart {
  readonly begin?: number;
  readonly end?: number;
}

/** A part of an array with the array, in elements. */
export interface ArrayRange<T extends NumericArray = NumericArray> {
  readonly array: ManagedArray<T>;
  readonly begin: number;
  readonly end: number;
}

const PART: OptionNames<ArrayPart> = { begin: true, end: true };

/** The elements that options name; all of them unless said otherwise. A range of another array is refused. */
export function partOf<P extends ArrayPart>(
  array: ManagedArray,
  options: P,
  names: OptionNames<P> = PART as OptionNames<P>,
): { begin: number; end: number } {
  checkOptions<P & { array?: unknown }>(`a part of array ${array.name}`, options, { ...names, array: true } as never);
  const { begin = 0, end = array.length, array: other = array } = options as ArrayPart & { array?: unknown };
  if (other !== array) {
    const what = (other as Partial<ManagedArray> | null)?.name;
    throw argumentError('ARRAY_RANGE', `a part of array ${array.name} is wanted, not one of ${show(what)}`);
  }
  checkRange(array, begin, end);
  return { begin, end };
}

/** Refuses what is no part of the array, by name. */
export function checkRange(array: ManagedArray, begin: unknown, end: unknown): void {
  if (isWhole(begin, 0) && isWhole(end, 1) && begin < end && end <= array.length) return;
  throw argumentError(
    'ARRAY_RANGE',
    `elements ${show(begin)} to ${show(end)} are no part of array ${array.name}: begin and end are whole numbers with 0 <= begin < end <= ${array.length}`,
  );
}
