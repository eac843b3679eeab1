/**
 * The form of saved spaces: a head of one page, the content of each array from a page on, behind
 * them a checksum of each page, and a list of the arrays, whose checksum the head has.
 */
import { fstatSync } from 'node:fs';
import { bytesOf, type ElementType, isElementType } from '../core/basics/elements.js';
import { PAGE_BYTES } from '../core/basics/types.js';
import { readAt } from './read-at.js';

export interface SavedArray {
  readonly name: string;
  readonly type: ElementType;
  readonly length: number;
  /** Byte of the file with the first element. */
  readonly offset: number;
  /** Byte of the file with the checksum of its first page. */
  readonly sums: number;
}

const MAGIC = 'onemem space 2\n';
const HASH = 'sha256';
const HASH_BYTES = 32;
/** Of the head: where the list begins, its bytes, its checksum, and that of all before. */
const LIST_OFFSET = 16;
const LIST_BYTES = 24;
const LIST_HASH = 32;
const HEAD_HASH = LIST_HASH + HASH_BYTES;
const HEAD_BYTES = HEAD_HASH + HASH_BYTES;

/** What is wrong with a file, as the rest of a sentence. */
export class SpaceFileError extends Error {}

/** Where arrays lie, in order, and where the list begins. @param sumBytes of a page's checksum */
export function placeArrays(
  arrays: readonly Omit<SavedArray, 'offset' | 'sums'>[],
  sumBytes: number,
): {
  readonly placed: readonly SavedArray[];
  readonly end: number;
} {
  let end = PAGE_BYTES;
  const offsets = arrays.map(({ type, length }) => {
    const offset = end;
    end += Math.ceil((length * bytesOf(type)) / PAGE_BYTES) * PAGE_BYTES;
    return offset;
  });
  const placed = arrays.map(({ name, type, length }, at) => {
    const sums = end + (offsets[at] / PAGE_BYTES) * sumBytes;
    return { name, type, length, offset: offsets[at], sums };
  });
  return { placed, end: end + (end / PAGE_BYTES) * sumBytes };
}

/** The head and the list, for arrays that end at a byte of the file. */
export function framesOf(
  arrays: readonly SavedArray[],
  end: number,
): { readonly head: Uint8Array; readonly list: Uint8Array } {
  const list = Buffer.from(JSON.stringify(arrays));
  const head = Buffer.alloc(PAGE_BYTES);
  head.write(MAGIC, 'latin1');
  head.writeBigUInt64LE(BigInt(end), LIST_OFFSET);
  head.writeBigUInt64LE(BigInt(list.length), LIST_BYTES);
  head.set(hashOf(list), LIST_HASH);
  head.set(hashOf(head.subarray(0, HEAD_HASH)), HEAD_HASH);
  return { head, list };
}

/** The arrays of a file. Throws SpaceFileError for a file that is none, or not as it was written. */
export function readSavedArrays(fd: number, size: number): readonly SavedArray[] {
  // Folders and pipes cannot be read at a position.
  const head = fstatSync(fd).isFile() ? readAt(fd, 0, HEAD_BYTES) : Buffer.alloc(0);
  if (head.length < HEAD_BYTES || head.toString('latin1', 0, MAGIC.length) !== MAGIC)
    throw new SpaceFileError('is no saved space; name one that space.save() wrote');
  if (!hashOf(head.subarray(0, HEAD_HASH)).equals(head.subarray(HEAD_HASH)))
    throw new SpaceFileError('is damaged: the checksum of its head does not match');
  const end = Number(head.readBigUInt64LE(LIST_OFFSET));
  const count = Number(head.readBigUInt64LE(LIST_BYTES));
  if (size !== end + count)
    throw new SpaceFileError(`has ${size} bytes, and was written with ${end + count}`);
  const list = readAt(fd, end, count);
  if (!hashOf(list).equals(head.subarray(LIST_HASH, HEAD_HASH)))
    throw new SpaceFileError('is damaged: the checksum of its list of arrays does not match');
  const arrays = JSON.parse(list.toString()) as SavedArray[];
  if (!arrays.every(({ type }) => isElementType(type)))
    throw new SpaceFileError('has arrays of a type that this version does not know');
  return arrays;
}

function hashOf(bytes: Uint8Array): Buffer {
  return process.getBuiltinModule('node:crypto').createHash(HASH).update(bytes).digest();
}
