/** How large a launch is, and which part of it runs. */

import { constructorName } from '../../core/basics/elements.js';
import { type Place, placeOf } from '../arrays/parts/place.js';
import type { SpaceInternals } from '../line/internals.js';
import { isWhole, show } from '../values/arguments.js';
import { argumentError } from '../values/errors.js';

/** Elements of a managed array: all, a range, or a view. */
export type SizeElements = Uint32Array | { readonly data: Uint32Array };

/** A number, two or three numbers, or elements that have them. */
export type LaunchSize =
  | number
  | readonly [number, number]
  | readonly [number, number, number]
  | SizeElements;

export interface LaunchRange {
  readonly begin: number;
  readonly end: number;
  /** Work items in all. */
  readonly size: number;
  /** Where the size has dimensions. */
  readonly dimensions?: readonly [number, number, number];
}

/** What is counted, as options and messages call it. */
export type Counted = 'size' | 'workgroups';

/** The elements that hold the size when the launch's turn comes; null: `given` has it. */
export function sizePlace(
  space: SpaceInternals,
  given: LaunchSize,
  counted: Counted,
  begin: unknown,
  end: unknown,
): Place | null {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return null;
  const place = placeOf(space, `take the ${counted} of a launch from`, given);
  if (place === null) throw sizeError(counted, given);
  const { array, type, length } = place;
  if (type !== 'u32' || length < 1 || length > 3)
    throw argumentError(
      'SIZE',
      `the ${counted} of a launch stand${counted === 'size' ? 's' : ''} in one to three elements of a Uint32Array, ` +
        `not in ${length} of array ${array.name} (${type === 'bytes' ? 'bytes' : constructorName(type)}); ` +
        `hand in ${array.name}.range(0, 1) of such an array, say`,
    );
  if (begin !== undefined || end !== undefined)
    throw argumentError(
      'LAUNCH_RANGE',
      `a launch whose ${counted} stand${counted === 'size' ? 's' : ''} in an array runs as a whole; leave out begin and end`,
    );
  return place;
}

export function launchRange(given: LaunchSize, begin: unknown, end: unknown): LaunchRange {
  const counts = countsOf('size', given);
  const size = product(counts);
  if (!isWhole(size, 0)) throw sizeError('size', size);
  const [x, y, z = 1] = counts;
  if (y === undefined) return rangeOf(size, begin ?? 0, end ?? size);
  if ((begin ?? 0) !== 0 || (end ?? size) !== size)
    throw argumentError(
      'LAUNCH_RANGE',
      'a launch whose size has dimensions runs as a whole; leave out begin and end',
    );
  return { begin: 0, end: size, size, dimensions: [x, y, z] };
}

/** @param workgroup work items of one, in each dimension */
export function workgroupRange(
  given: LaunchSize,
  workgroup: readonly [number, number, number],
  begin: unknown,
  end: unknown,
): LaunchRange {
  const counts = countsOf('workgroups', given);
  if (begin !== undefined || end !== undefined)
    throw argumentError(
      'LAUNCH_RANGE',
      'a launch of workgroups runs as a whole; leave out begin and end',
    );
  const dimensions = itemsOf(counts, workgroup);
  const size = product(dimensions);
  if (!isWhole(size, 0)) throw sizeError('workgroups', size);
  return { begin: 0, end: size, size, dimensions };
}

/** How many work items so many workgroups have in each dimension. */
function itemsOf(
  [x, y = 1, z = 1]: readonly number[],
  workgroup: readonly [number, number, number],
): [number, number, number] {
  return [x * workgroup[0], y * workgroup[1], z * workgroup[2]];
}

/** What a launch covers: the one of the two options that is given. */
export function countedOf(options: {
  readonly size?: unknown;
  readonly workgroups?: unknown;
}): Counted {
  if (options.workgroups === undefined) return 'size';
  if (options.size === undefined) return 'workgroups';
  throw argumentError(
    'SIZE',
    'a launch has either a size, in work items, or workgroups; leave out one of them',
  );
}

function countsOf(counted: Counted, given: LaunchSize): readonly number[] {
  const counts: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (Array.isArray(given) && (given.length < 2 || given.length > 3))
    throw sizeError(counted, given);
  for (const each of counts) if (!isWhole(each, 0)) throw sizeError(counted, each);
  return counts as readonly number[];
}

function product(counts: readonly number[]): number {
  return counts.reduce((all, each) => all * each, 1);
}

function rangeOf(size: number, begin: unknown, end: unknown): LaunchRange {
  if (isWhole(begin, 0) && isWhole(end, 0) && begin <= end && end <= size)
    return { begin, end, size };
  throw argumentError(
    'LAUNCH_RANGE',
    `begin ${show(begin)} and end ${show(end)} must be whole numbers with 0 <= begin <= end <= size (${size})`,
  );
}

function sizeError(counted: Counted, given: unknown): RangeError {
  const isAre = counted === 'size' ? 'size is' : 'workgroups are';
  const must = counted === 'size' ? 'it must be' : 'they must be';
  return argumentError(
    'SIZE',
    `${isAre} ${show(given)}; ${must} a whole number of 0 or more, two or three of them, or elements of a managed Uint32Array that have them`,
  );
}
