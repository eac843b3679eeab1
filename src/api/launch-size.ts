/** How large a launch is, and which part of it runs. */
import { isWhole, show } from './arguments.js';
import { argumentError } from './errors.js';

export type LaunchSize = number | readonly [number, number] | readonly [number, number, number];

export interface LaunchRange {
  readonly begin: number;
  readonly end: number;
  /** Work items in all. */
  readonly size: number;
  /** Where the size has dimensions. */
  readonly dimensions?: readonly [number, number, number];
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
    `size is ${show(given)}; it must be a whole number of 1 or more, or two or three of them`,
  );
}
