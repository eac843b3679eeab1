/** Parts of arrays, in elements. */
import { bytesOf } from '../../../core/basics/elements.js';
import { PAGE_BYTES } from '../../../core/basics/types.js';
import type { OptionNames } from '../../../messages/option-names.js';
import type { ArrayPages } from '../../../pager/protocol/pages.js';
import type { ArrayInternals } from '../../line/internals.js';
import { checkOptions, isWhole, show } from '../../values/arguments.js';
import { argumentError } from '../../values/errors.js';

/** A part of an array, in elements; by default all. It may be empty. `range()` gives one, too. */
export interface ArrayPart {
  readonly begin?: number;
  readonly end?: number;
}

const PART: OptionNames<ArrayPart> = { begin: true, end: true };

/** The elements that options name; all by default. A range of another array is refused. */
export function partOf<P extends ArrayPart>(
  array: ArrayInternals,
  options: P,
  names: OptionNames<P> = PART as OptionNames<P>,
): { begin: number; end: number } {
  checkOptions<P & { array?: unknown }>(`a part of array ${array.name}`, options, {
    ...names,
    array: true,
  } as never);
  const {
    begin = 0,
    end = array.length,
    array: other = array,
  } = options as ArrayPart & { array?: unknown };
  if (other !== array) {
    const what = (other as Partial<ArrayInternals> | null)?.name;
    throw argumentError(
      'ARRAY_RANGE',
      `a part of array ${array.name} is wanted, not one of ${show(what)}`,
    );
  }
  checkRange(array, begin, end);
  return { begin, end };
}

/** Refuses what is no part of the array, by name. */
export function checkRange(array: ArrayInternals, begin: unknown, end: unknown): void {
  if (isWhole(begin, 0) && isWhole(end, 0) && begin <= end && end <= array.length) return;
  throw argumentError(
    'ARRAY_RANGE',
    `elements ${show(begin)} to ${show(end)} are no part of array ${array.name}: begin and end are whole numbers with 0 <= begin <= end <= ${array.length}`,
  );
}

/** Whole pages that belong to elements alone; refuses where there are none. @param done to them */
export function wholePagesOf(
  array: ArrayInternals,
  begin: number,
  end: number,
  done: string,
): ArrayPages {
  const pages = array.wholePages(begin, end);
  if (pages.count > 0) return pages;
  const least = PAGE_BYTES / bytesOf(array.type);
  throw argumentError(
    'NO_WHOLE_PAGE',
    `elements ${begin} to ${end} of array ${array.name} contain no whole page of ${PAGE_BYTES} bytes: nothing would be ${done}; ` +
      `the least is ${least} elements from a multiple of ${least} on`,
  );
}
