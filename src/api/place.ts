/**
 * Elements of managed arrays as operations take them. Wherever elements are handed in, an array is all of it, `x.range(a, b)` a part of it,
 * and a view such as `x.data.subarray(a, b)` the elements that it shows: nothing is copied for any of them.
 */
import { bytesOf, constructorName, type ElementType, elementTypeOf, type NumericArray } from '../core/elements.js';
import { PAGE_BYTES } from '../core/types.js';
import type { ArrayPages } from '../pager/protocol/requests.js';
import type { AddressSpace } from './address-space.js';
import { arrayTypeName } from './arguments.js';
import { type ArrayRange, checkRange } from './array-part.js';
import { argumentError, OnememError, typeError } from './errors.js';
import { ManagedArray } from './managed-array.js';
import { ownerOfView } from './view-owners.js';

/** Elements of managed arrays: all of one, a part of one, or what a view of one shows. */
export type ManagedElements<T extends NumericArray = NumericArray> = ManagedArray<T> | ArrayRange<T> | T;

/** Some bytes of a managed array, as elements of one type. */
export interface Place {
  readonly array: ManagedArray;
  /** Byte offset in the space. */
  readonly offset: number;
  readonly length: number;
  readonly type: ElementType;
  readonly bytes: number;
  readonly text: string;
}

/**
 * The place that is handed in, or null for anything else, such as a typed array of the program's own. A view of another space's array is
 * nothing else than that here.
 * @param verb what is to be done with it, for messages
 */
export function placeOf(space: AddressSpace, verb: string, value: unknown): Place | null {
  if (value instanceof ManagedArray) return partPlace(space, verb, value, 0, value.length);
  if (ArrayBuffer.isView(value)) return viewPlace(space, verb, value);
  const { array, begin, end } = (typeof value === 'object' && value !== null ? value : {}) as Partial<ArrayRange>;
  return array instanceof ManagedArray ? partPlace(space, verb, array, begin, end) : null;
}

/** Whole pages that touch the elements. */
export function pagesAround({ array, offset, bytes }: Pick<Place, 'array' | 'offset' | 'bytes'>): ArrayPages {
  const { rangeId: range, name } = array;
  const firstPage = Math.floor(offset / PAGE_BYTES);
  return { range, name, firstPage, count: Math.ceil((offset + bytes) / PAGE_BYTES) - firstPage };
}

function partPlace(space: AddressSpace, verb: string, array: ManagedArray, begin: unknown, end: unknown): Place {
  array.assertUsable(verb);
  if (array.space !== space) {
    throw typeError('FOREIGN_ARRAY', `cannot ${verb}: array ${array.name} belongs to another space than the stream`);
  }
  checkRange(array, begin, end);
  return placeIn(array, array.type, (begin as number) * bytesOf(array.type), (end as number) - (begin as number));
}

function viewPlace(space: AddressSpace, verb: string, view: ArrayBufferView): Place | null {
  const owner = ownerOfView(view);
  const type = elementTypeOf(arrayTypeName(view) ?? '');
  if (owner === null || type === undefined || view.byteLength === 0 || owner.array.space !== space) return null;
  const { array, range } = owner;
  array.assertUsable(verb);
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

function placeIn(array: ManagedArray, type: ElementType, byteOffset: number, length: number): Place {
  const begin = byteOffset / bytesOf(type);
  const name = type === 'bytes' ? 'bytes' : constructorName(type);
  const text = `array ${array.name} (${name}), elements ${begin} to ${begin + length}`;
  return { array, offset: array.offset + byteOffset, length, type, bytes: length * bytesOf(type), text };
}
