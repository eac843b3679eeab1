/** The two ends of a copy: parts of managed arrays, or plain typed arrays. */
import { types } from 'node:util';
import {
  bytesOf,
  type ElementType,
  elementTypeOf,
  type NumericArray,
} from '../../core/basics/elements.js';
import type { BytePlace } from '../../pager/protocol/pages.js';
import { type Place, placeOf, refuseTaken } from '../arrays/parts/place.js';
import type { SpaceInternals } from '../line/internals.js';
import { arrayTypeName, show } from '../values/arguments.js';
import { argumentError, typeError } from '../values/errors.js';
import type { StagedPlace, Staging } from './staging.js';

/** A place of a copy that has been looked at. */
export interface CopyEnd {
  /** Null: it is `plain`. */
  readonly place: Place | null;
  readonly plain: NumericArray | null;
  readonly type: ElementType;
  readonly bytes: number;
  readonly text: string;
}

export function copyEnd(space: SpaceInternals, which: 'to' | 'from', given: unknown): CopyEnd {
  const place = placeOf(space, `copy ${which}`, given);
  if (place !== null) {
    const { array, bytes, text } = place;
    // Bytes over elements of another kind are raw bytes.
    const type = place.type === 'u8' && bytesOf(array.type) > 1 ? 'bytes' : place.type;
    return { place, plain: null, type, bytes, text };
  }
  if (ArrayBuffer.isView(given) && !types.isDataView(given))
    return plainEnd(which, given as NumericArray);
  throw typeError(
    'COPY_PLACE',
    `cannot copy ${which} ${show(given)}: a copy takes managed arrays, parts of them such as x.range(0, 100), and typed arrays`,
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
export function stageEnds(
  to: CopyEnd,
  from: CopyEnd,
  staging: Staging,
): { to: BytePlace; from: BytePlace } {
  const source = bytePlaceOf(from, (plain) =>
    staging.stage(plain, 'bytes', 'the source', { in: true, back: false }),
  );
  const target = bytePlaceOf(to, (plain) =>
    staging.stage(plain, 'bytes', 'the destination', { in: false, back: true }),
  );
  return { to: target, from: source };
}

function bytePlaceOf(
  { place, plain }: CopyEnd,
  stage: (plain: NumericArray) => StagedPlace,
): BytePlace {
  const { array, offset } = place ?? stage(plain as NumericArray);
  return { range: array.rangeId, name: array.name, offset };
}

function plainEnd(which: string, plain: NumericArray): CopyEnd {
  const name = arrayTypeName(plain) ?? 'typed array';
  const element = elementTypeOf(name);
  // Bytes of a program are raw bytes: what else could a Buffer be.
  const type = name === 'Uint8Array' ? 'bytes' : element;
  if (type === undefined)
    throw typeError('COPY_PLACE', `cannot copy ${which} a ${name}: no such array can be managed`);
  refuseTaken(`copy ${which}`, plain);
  const text = `a ${name} of ${plain.length} elements`;
  return { place: null, plain, type, bytes: plain.byteLength, text };
}
