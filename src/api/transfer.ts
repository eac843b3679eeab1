/** Files read into arrays and written from them, by their descriptors. */

import { bytesOf } from '../core/elements.js';
import type { OptionNames } from '../core/option-names.js';
import { isWhole, show } from './arguments.js';
import { partOf } from './array-part.js';
import { argumentError, typeError } from './errors.js';
import type { ArraySeen } from './seen.js';

export interface TransferOptions {
  /** Byte position in the file; the file's own position when left out, as for a pipe. */
  readonly position?: number;
  readonly begin?: number;
  readonly end?: number;
}

const TRANSFER_OPTIONS: OptionNames<TransferOptions> = { position: true, begin: true, end: true };

/** Descriptors are ints. */
const MAX_DESCRIPTOR = 2 ** 31 - 1;

/** Returns the bytes that were moved, and whether they are all of the array. */
export async function transfer(
  array: ArraySeen,
  direction: 'read' | 'write',
  fd: number,
  options: TransferOptions,
): Promise<{ bytes: number; complete: boolean }> {
  array.assertUsable(direction === 'read' ? 'read into' : 'write');
  const { begin, end } = partOf(array, options, TRANSFER_OPTIONS);
  const { position } = options;
  if (!isWhole(fd, 0) || fd > MAX_DESCRIPTOR)
    throw typeError('FILE_DESCRIPTOR', `${show(fd)} is no file descriptor; pass the number that openSync gives`);
  if (position !== undefined && !isWhole(position, 0)) {
    throw argumentError(
      'FILE_POSITION',
      `position is ${show(position)}; it must be a whole number of bytes, 0 or more`,
    );
  }
  const size = bytesOf(array.type);
  const { bytes } = await array.space.client.request('transferFile', {
    direction,
    fd,
    range: array.rangeId,
    name: array.name,
    offset: array.offset + begin * size,
    bytes: (end - begin) * size,
    position: position ?? null,
  });
  return { bytes, complete: begin === 0 && end === array.length && bytes === array.byteLength };
}
