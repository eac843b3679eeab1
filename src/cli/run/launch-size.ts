/** How many work items a run has: what the command line says, or the arrays. */

import type { Dimensions } from '../../wgsl/analysis/dimensions.js';
import { CommandError, UsageError } from '../terminal/failure.js';
import { formatCount } from '../terminal/format.js';
import { wholeNumber } from '../terminal/options.js';

/** Work items: a number, or two or three of them, x first. */
export type Extent = number | readonly [number, number] | readonly [number, number, number];

/** What `--size` says. */
export function extentFrom(text: string | undefined): Extent | undefined {
  if (text === undefined || !/^\d+(x\d+)+$/.test(text)) return wholeNumber('size', text);
  const counts = text.split('x').map((each) => wholeNumber('size', each) as number);
  if (counts.length > 3)
    throw new UsageError(
      `--size is '${text}'; it has three dimensions at most, WIDTHxHEIGHTxDEPTH`,
    );
  return counts as unknown as Extent;
}

/**
 * @param said by `--size`
 * @param shapes of the arrays, as far as they do not follow from the size
 * @param dimensions of a module on a GPU; null: a function runs
 */
export function extentOf(
  kernel: string,
  said: Extent | undefined,
  shapes: ReadonlyMap<string, readonly number[]>,
  dimensions: Dimensions | null,
): Extent {
  if (said === undefined) {
    return dimensions === null || dimensions.count === 1
      ? commonLength(shapes)
      : commonShape(kernel, shapes, dimensions);
  }
  if (typeof said !== 'number') {
    if (dimensions !== null) return said;
    throw new UsageError(
      `--size is ${said.join('x')}, and a function is called for parts of a number of work items; write --size N`,
    );
  }
  // A number of work items by itself is one row of such workgroups: of an array with several all
  // others would stay as they are.
  if (dimensions?.byWorkgroup === true)
    throw new CommandError(
      'SIZE',
      `${shownIn(kernel, dimensions)}, and --size ${said} says one; write --size ${formOf(dimensions)}, ` +
        `or --size ${said}x1 if one row is meant`,
    );
  return said;
}

function commonLength(shapes: ReadonlyMap<string, readonly number[]>): number {
  const lengths = new Map([...shapes].map(([name, shape]) => [name, product(shape)]));
  const [size] = lengths.values();
  if (size === undefined)
    throw new UsageError('no array says how many work items there are; add --size N');
  if ([...lengths.values()].some((length) => length !== size)) {
    throw new UsageError(
      `the arrays differ in length (${listOf(lengths)}); say by --size N how many work items there are`,
    );
  }
  return size;
}

/** The last axis of an array is x. */
function commonShape(
  kernel: string,
  shapes: ReadonlyMap<string, readonly number[]>,
  dimensions: Dimensions,
): Extent {
  const [first] = shapes.values();
  const isKnown =
    first?.length === dimensions.count &&
    [...shapes.values()].every(
      (shape) => shape.length === first.length && shape.every((each, axis) => each === first[axis]),
    );
  if (isKnown) return first.toReversed() as unknown as Extent;
  const list = [...shapes]
    .map(([name, shape]) => `${name} has shape ${shape.join('x') || 'of a number'}`)
    .join(', ');
  const problem =
    list === ''
      ? 'no array says how large the launch is'
      : `the arrays do not say how large the launch is (${list})`;
  const line = dimensions.byWorkgroup ? '' : ', or --size N for a single row';
  throw new CommandError(
    'SIZE',
    `${shownIn(kernel, dimensions)}, and ${problem}; write --size ${formOf(dimensions)}${line}`,
  );
}

function shownIn(kernel: string, { count, position }: Dimensions): string {
  const at = position === null ? '' : ` (WGSL ${position.line}:${position.column})`;
  return `kernel ${kernel} has ${count} dimensions${at}`;
}

function formOf({ count }: Dimensions): string {
  return count === 3 ? 'WIDTHxHEIGHTxDEPTH' : 'WIDTHxHEIGHT';
}

export function listOf(lengths: ReadonlyMap<string, number>): string {
  return [...lengths]
    .map(([name, length]) => `${name} has ${formatCount(length)} elements`)
    .join(', ');
}

export function product(counts: readonly number[]): number {
  return counts.reduce((all, each) => all * each, 1);
}
