/** The two ends of a copy: parts of managed arrays, or plain typed arrays. */
import { types } from 'node:util';
import { bytesOf, type ElementType, elementTypeOf, type NumericArray } from '../core/elements.js';
import type { OptionNames } from '../core/option-names.js';
import type { BytePlace } from '../pager/protocol.js';
import type { AddressSpace } from './address-space.js';
import { arrayTypeName, show } from './arguments.js';
import { type ArrayRange, checkRange } from './array-part.js';
import type { Device } from './device.js';
import { argumentError, typeError } from './errors.js';
import { ManagedArray, typeName } from './managed-array.js';
import type { Staging } from './staging.js';

/** Where a copy goes to or comes from: a managed array, a part of one, or a plain typed array. */
export type CopyPlace = ManagedArray | ArrayRange | NumericArray;

export interface CopyOptions {
  /** Whose memory the copied elements are to be in afterwards; where the destination is unless said otherwise. */
  readonly at?: Device | 'host';
  /** Aborted before the copy has begun, it cancels the copy, as that of a launch does. */
  readonly signal?: AbortSignal;
}

export const COPY_OPTIONS: OptionNames<CopyOptions> = { at: true, signal: true };

/** A place of a copy that has been looked at. */
export interface CopyEnd {
  readonly array: ManagedArray | null;
  readonly plain: NumericArray | null;
  readonly begin: number;
  readonly end: number;
  readonly type: ElementType;
  readonly bytes: number;
  readonly text: string;
}

export function copyEnd(space: AddressSpace, which: 'to' | 'from', place: CopyPlace): CopyEnd {
  if (place instanceof ManagedArray) return managedEnd(space, which, { array: place, begin: 0, end: place.length });
  if (ArrayBuffer.isView(place) && !types.isDataView(place)) return plainEnd(which, place);
  const range = place as Partial<ArrayRange> | null | undefined;
  if (range?.array instanceof ManagedArray) return managedEnd(space, which, range as ArrayRange);
  throw typeError(
    'COPY_PLACE',
    `cannot copy ${which} ${show(place)}: a copy takes managed arrays, parts of them such as x.range(0, 100), and typed arrays`,
  );
}

/** Refuses two ends that cannot be one copy. */
export function checkCopy(to: CopyEnd, from: CopyEnd): void {
  const bytes = to.type === 'bytes' || from.type === 'bytes';
  if (!bytes && to.type !== from.type) {
    throw typeError(
      'COPY_TYPE',
      `cannot copy ${from.text} to ${to.text}: the element types differ; a copy converts nothing, only raw bytes go with any type`,
    );
  }
  if (to.bytes === from.bytes) return;
  throw argumentError(
    'COPY_LENGTH',
    `cannot copy ${from.text}, ${from.bytes} bytes, to ${to.text}, ${to.bytes} bytes: both must have the same number of bytes`,
  );
}

/** The bytes of both ends in the space; plain arrays are staged there. */
export function stageEnds(to: CopyEnd, from: CopyEnd, staging: Staging): { to: BytePlace; from: BytePlace } {
  const source = placeOf(from, (bytes) => staging.stage(bytes, 'bytes', 'a copy', { in: true, back: false }));
  const target = placeOf(to, (bytes) => staging.stage(bytes, 'bytes', 'a copy', { in: false, back: true }));
  return { to: target, from: source };
}

function placeOf({ array, plain, begin }: CopyEnd, stage: (bytes: Uint8Array) => ManagedArray): BytePlace {
  if (array !== null)
    return { range: array.rangeId, name: array.name, offset: array.offset + begin * bytesOf(array.type) };
  const { buffer, byteOffset, byteLength } = plain as NumericArray;
  const staged = stage(new Uint8Array(buffer, byteOffset, byteLength));
  return { range: staged.rangeId, name: staged.name, offset: staged.offset };
}

function managedEnd(space: AddressSpace, which: string, { array, begin, end }: ArrayRange): CopyEnd {
  array.assertUsable(`copy ${which}`);
  if (array.space !== space) throw typeError('FOREIGN_ARRAY', `copy ${which} array ${array.name} of another space`);
  checkRange(array, begin, end);
  const text = `array ${array.name} (${typeName(array)}), elements ${begin} to ${end}`;
  return { array, plain: null, begin, end, type: array.type, bytes: (end - begin) * bytesOf(array.type), text };
}

function plainEnd(which: string, plain: NumericArray): CopyEnd {
  const name = arrayTypeName(plain) ?? 'typed array';
  const element = elementTypeOf(name);
  // Bytes of a program are raw bytes: what else could a Buffer be.
  const type = name === 'Uint8Array' ? 'bytes' : element;
  if (type === undefined) throw typeError('COPY_PLACE', `cannot copy ${which} a ${name}: no such array can be managed`);
  if (plain.byteLength === 0) {
    throw argumentError('ARRAY_LENGTH', `cannot copy ${which} an empty ${name}; a copy needs at least one element`);
  }
  const text = `a ${name} of ${plain.length} elements`;
  return { array: null, plain, begin: 0, end: plain.length, type, bytes: plain.byteLength, text };
}
