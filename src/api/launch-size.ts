/** How large a launch is, and which part of it runs. */

import { constructorName } from '../core/elements.js';
import { isWhole, show } from './arguments.js';
import { argumentError } from './errors.js';
import { type Place, placeOf } from './place.js';
import type { SpaceSeen } from './seen.js';

/** Elements of a managed array: all of one, a part of one, `counts.range(0, 3)`, or a view, `counts.data.subarray(0, 3)`. */
export type SizeElements = Uint32Array | { readonly data: Uint32Array };

export type LaunchSize = number | readonly [number, number] | readonly [number, number, number] | SizeElements;

export interface LaunchRange {
  readonly begin: number;
  readonly end: number;
  /** Work items in all. */
  readonly size: number;
  /** Where the size has dimensions. */
  readonly dimensions?: readonly [number, number, number];
}

/** The elements that say how large a launch is when its turn has come; null: `given` says it now. */
export function sizePlace(space: SpaceSeen, given: LaunchSize, begin: unknown, end: unknown): Place | null {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return null;
  const place = placeOf(space, 'take the size of a launch from', given);
  if (place === null) throw sizeError(given);
  const { array, type, length } = place;
  if (type !== 'u32' || length < 1 || length > 3)
    throw argumentError(
      'SIZE',
      `the size of a launch stands in one to three elements of a Uint32Array, not in ${length} of array ${array.name} ` +
        `(${type === 'bytes' ? 'bytes' : constructorName(type)}); hand in ${array.name}.range(0, 1) of such an array, say`,
    );
  if (begin !== undefined || end !== undefined)
    throw argumentError(
      'LAUNCH_RANGE',
      'a launch whose size stands in an array runs as a whole; leave out begin and end',
    );
  return place;
}

export function launchRange(given: LaunchSize, begin: unknown, end: unknown): LaunchRange {
  if (!Array.isArray(given)) {
    if (!isWhole(given, 1)) throw sizeError(given);
    return rangeOf(given, begin ?? 0, end ?? given);
  }
  if (given.length < 2 || given.length > 3) throw sizeError(given);
  for (const each of given) if (!isWhole(each, 1)) throw sizeError(each);
  const [x, y, z = 1] = given as [number, number, number?];
  const size = x * y * z;
  if (!isWhole(size, 1)) throw sizeError(size);
  if ((begin ?? 0) !== 0 || (end ?? size) !== size)
    throw argumentError('LAUNCH_RANGE', 'a launch whose size has dimensions runs as a whole; leave out begin and end');
  return { begin: 0, end: size, size, dimensions: [x, y, z] };
}

function rangeOf(size: number, begin: unknown, end: unknown): LaunchRange {
  if (isWhole(begin, 0) && isWhole(end, 0) && begin < end && end <= size) return { begin, end, size };
  throw argumentError(
    'LAUNCH_RANGE',
    `begin ${show(begin)} and end ${show(end)} must be whole numbers with 0 <= begin < end <= size (${size})`,
  );
}

function sizeError(given: unknown): RangeError {
  return argumentError(
    'SIZE',
    `size is ${show(given)}; it must be a whole number of 1 or more, two or three of them, or elements of a managed Uint32Array that have them`,
  );
}
