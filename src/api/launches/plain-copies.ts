/**
 * Copies in a space of typed arrays of the program's own, as long as operations use them.
 * Operations in one order share the copy of an array that one of them writes; each has its results
 * put back before the next one that writes begins, so that one that fails leaves the array as it
 * was.
 */
import { bytesOf, type ElementType, type NumericArray } from '../../core/basics/elements.js';
import { addressOf } from '../../linux/base/libc.js';
import type { DeviceInternals, SpaceInternals } from '../line/internals.js';
import type { Registration } from './registration.js';
import { plainPool, type Staged } from './staging-pool.js';
import type { StreamOrder } from './stream-order.js';

/** Bytes of a buffer of the program's own. */
interface PlainBytes {
  readonly buffer: ArrayBufferLike;
  readonly begin: number;
  readonly end: number;
}

/** One operation's use of such bytes. */
export interface PlainUse extends PlainBytes {
  readonly copy: PlainCopy;
  /** The registration that the bytes lie in. */
  readonly registration: Registration | null;
  readonly order: StreamOrder;
  /** Of the operation, once it has been given. */
  sequence: number;
  readonly writes: boolean;
}

export interface PlainCopy extends PlainBytes {
  readonly staging: Staged;
  readonly uses: Set<PlainUse>;
  /** How many functions of the program's had been given by then. */
  readonly calls: number;
  /** Another copy has news of the same bytes. */
  stale: boolean;
}

const copies = new WeakMap<ArrayBufferLike, Set<PlainCopy>>();
/** Functions of the program's that streams have been given: each may change any array. */
let callsGiven = 0;

export function plainBytes({ buffer, byteOffset, byteLength }: ArrayBufferView): PlainBytes {
  return { buffer, begin: byteOffset, end: byteOffset + byteLength };
}

/** Uses by which operations that have not ended are going to change some of the bytes. */
export function writersOf(bytes: PlainBytes): PlainUse[] {
  const found: PlainUse[] = [];
  for (const { uses } of copies.get(bytes.buffer) ?? [])
    for (const use of uses) if (use.writes && overlap(use, bytes)) found.push(use);
  return found;
}

/** A stream was given a function: what comes next shares no copy made before. */
export function noteCall(): void {
  callsGiven++;
}

/** A writer's copy that a later operation than all writers' can use for these bytes. */
export function copyToShare(
  bytes: PlainBytes,
  type: ElementType,
  { copy }: PlainUse,
  space: SpaceInternals,
  order: StreamOrder,
): PlainCopy | null {
  if (
    copy.staging.isInPlace ||
    copy.stale ||
    copy.calls !== callsGiven ||
    copy.staging.array.space !== space
  )
    return null;
  if (bytes.begin < copy.begin || bytes.end > copy.end) return null;
  if ((bytes.begin - copy.begin) % bytesOf(type) !== 0) return null;
  for (const use of copy.uses) if (!order.isAfter(use)) return null;
  return copy;
}

export function makeCopy(
  space: SpaceInternals,
  plain: NumericArray,
  type: ElementType,
  device: DeviceInternals | null,
  registration: Registration | null,
): PlainCopy {
  const pool = registration?.staging ?? plainPool(space);
  return noteCopy(plainBytes(plain), pool.take(plain.byteLength, type, device));
}

/** Memory that is used where it lies, as a copy that needs no copying. */
export function copyInPlace(
  plain: NumericArray,
  { address, bytes }: Registration,
  staging: Staged,
): PlainCopy {
  const { buffer, byteOffset, byteLength } = plain;
  const within = addressOf(new Uint8Array(buffer, byteOffset, byteLength)) - Number(address);
  const begin = byteOffset - within;
  return noteCopy({ buffer, begin, end: begin + bytes }, staging);
}

function noteCopy(bytes: PlainBytes, staging: Staged): PlainCopy {
  const copy = { ...bytes, staging, uses: new Set<PlainUse>(), calls: callsGiven, stale: false };
  const known = copies.get(bytes.buffer);
  if (known === undefined) copies.set(bytes.buffer, new Set([copy]));
  else known.add(copy);
  return copy;
}

export function useCopy(
  copy: PlainCopy,
  bytes: PlainBytes,
  order: StreamOrder,
  writes: boolean,
  registration: Registration | null,
): PlainUse {
  const sequence = Number.POSITIVE_INFINITY;
  const use = { ...bytes, copy, registration, order, sequence, writes };
  if (registration !== null) registration.uses++;
  copy.uses.add(use);
  order.begin();
  if (writes)
    for (const other of copies.get(copy.buffer) ?? [])
      if (other !== copy && overlap(other, bytes)) other.stale = true;
  return use;
}

/** The operation has ended. A copy that nothing uses any more is given back. */
export function endUse(use: PlainUse): void {
  const { copy, order, registration } = use;
  if (registration !== null) registration.uses--;
  copy.uses.delete(use);
  order.end();
  if (copy.uses.size > 0) return;
  copies.get(copy.buffer)?.delete(copy);
  copy.staging.give();
}

function overlap(one: PlainBytes, other: PlainBytes): boolean {
  return Math.max(one.begin, other.begin) < Math.min(one.end, other.end);
}
