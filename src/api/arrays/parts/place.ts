/**
 * Elements of managed arrays as operations take them. Wherever elements are handed in, an array is
 * all of it, `x.range(a, b)` a part of it, and a view such as `x.data.subarray(a, b)` the elements
 * that it shows: nothing is copied for any of them.
 */
import {
  bytesOf,
  constructorName,
  type ElementType,
  elementTypeOf,
} from '../../../core/basics/elements.js';
import { PAGE_BYTES } from '../../../core/basics/types.js';
import type { ArrayPages } from '../../../pager/protocol/pages.js';
import { type ArrayInternals, isManaged, type SpaceInternals } from '../../line/internals.js';
import { ownerOfView } from '../../line/view-owners.js';
import { arrayTypeName, isObject } from '../../values/arguments.js';
import { argumentError, OnememError, typeError } from '../../values/errors.js';
import { checkRange } from './array-part.js';

/** Some bytes of a managed array, as elements of one type. */
export interface Place {
  readonly array: ArrayInternals;
  readonly offset: number;
  readonly length: number;
  readonly type: ElementType;
  readonly bytes: number;
  readonly text: string;
}

/**
 * The place that is handed in, or null for anything else, such as a typed array of the program's
 * own. A view of another space's array is nothing else than that here.
 * @param verb what is to be done with it, for messages
 */
export function placeOf(space: SpaceInternals, verb: string, value: unknown): Place | null {
  if (ArrayBuffer.isView(value)) return viewPlace(space, verb, value);
  const part = managedPart(value);
  return part && partPlace(space, verb, part.array, part.begin, part.end);
}

/** A managed array, or what looks like a part of one, as it was handed in; null: neither. */
export function managedPart(
  value: unknown,
): { readonly array: ArrayInternals; readonly begin: unknown; readonly end: unknown } | null {
  if (isManaged(value)) return { array: value, begin: 0, end: value.length };
  const { array, begin, end } = (isObject(value) ? value : {}) as Record<string, unknown>;
  return isManaged(array) ? { array, begin, end } : null;
}

/** Refuses a typed array whose memory was transferred: it looks like one without elements. */
export function refuseTaken(verb: string, { buffer, byteLength }: ArrayBufferView): void {
  if (byteLength > 0 || !isTaken(buffer)) return;
  throw typeError(
    'PLAIN_ARRAY_GONE',
    `cannot ${verb}: the memory of the typed array was transferred; it has no elements any more`,
  );
}

/** Whether the memory of a buffer was transferred. */
export function isTaken(buffer: ArrayBufferLike): boolean {
  if (buffer.byteLength > 0) return false;
  try {
    new Uint8Array(buffer);
    return false;
  } catch {
    return true;
  }
}

/** Whole pages that touch the elements. */
export function pagesAround({
  array,
  offset,
  bytes,
}: Pick<Place, 'array' | 'offset' | 'bytes'>): ArrayPages {
  const { rangeId: range, name } = array;
  const firstPage = Math.floor(offset / PAGE_BYTES);
  return { range, name, firstPage, count: Math.ceil((offset + bytes) / PAGE_BYTES) - firstPage };
}

function partPlace(
  space: SpaceInternals,
  verb: string,
  array: ArrayInternals,
  begin: unknown,
  end: unknown,
): Place {
  array.assertUsable(verb);
  if (array.space !== space) {
    throw typeError(
      'FOREIGN_ARRAY',
      `cannot ${verb}: array ${array.name} belongs to another space than the stream`,
    );
  }
  checkRange(array, begin, end);
  if (begin === end) array.assertUsable(verb, true);
  return placeIn(
    array,
    array.type,
    (begin as number) * bytesOf(array.type),
    (end as number) - (begin as number),
  );
}

function viewPlace(space: SpaceInternals, verb: string, view: ArrayBufferView): Place | null {
  const owner = ownerOfView(view);
  const type = elementTypeOf(arrayTypeName(view) ?? '');
  if (owner === null || type === undefined || owner.array.space !== space) return null;
  const { array, range } = owner;
  array.assertUsable(verb);
  refuseTaken(verb, view);
  if (view.byteLength === 0) array.assertUsable(verb, true);
  if (array.rangeId !== range) {
    throw new OnememError(
      'USE_AFTER_FREE',
      `cannot ${verb}: the view is one of array ${array.name} before it moved; take data anew`,
    );
  }
  if (view.byteOffset + view.byteLength > array.byteLength) {
    throw argumentError(
      'ARRAY_RANGE',
      `cannot ${verb}: the view is one of array ${array.name} before it was made shorter; take data anew`,
    );
  }
  // Bytes of an array of bytes are what the array says that they are.
  const known = constructorName(type) === constructorName(array.type) ? array.type : type;
  return placeIn(array, known, view.byteOffset, view.byteLength / bytesOf(type));
}

function placeIn(
  array: ArrayInternals,
  type: ElementType,
  byteOffset: number,
  length: number,
): Place {
  const begin = byteOffset / bytesOf(type);
  const name = type === 'bytes' ? 'bytes' : constructorName(type);
  const text = `array ${array.name} (${name}), elements ${begin} to ${begin + length}`;
  // What has no elements lies in no page.
  const offset = array.offset + (length === 0 ? 0 : byteOffset);
  return { array, offset, length, type, bytes: length * bytesOf(type), text };
}
