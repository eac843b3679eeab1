/** Files read into arrays and written from them, by their descriptors. */

import { bytesOf } from '../../../core/basics/elements.js';
import type { OptionNames } from '../../../messages/option-names.js';
import type { ArrayInternals } from '../../line/internals.js';
import { isObject, isWhole, show } from '../../values/arguments.js';
import { argumentError, typeError } from '../../values/errors.js';
import { partOf } from '../parts/array-part.js';
import { readHere, writeHere } from './transfer-here.js';

/** Options of `readFrom` and `writeTo`. */
export interface TransferOptions {
  /** Byte position in the file; by default the file's own, as for a pipe. */
  readonly position?: number;
  readonly begin?: number;
  readonly end?: number;
}

const TRANSFER_OPTIONS: OptionNames<TransferOptions> = { position: true, begin: true, end: true };

const MAX_DESCRIPTOR = 2 ** 31 - 1;

/** What to write in place of what stands for a file elsewhere: a path, a FileHandle, a stream. */
function descriptorRemedy(
  given: unknown,
  { name }: ArrayInternals,
  direction: 'read' | 'write',
): string {
  if (typeof given === 'string' || given instanceof URL) {
    const flags = direction === 'read' ? 'r' : 'w';
    return `open the file, and close it afterwards: const fd = openSync(${show(String(given))}, '${flags}')`;
  }
  if (isObject(given) && typeof (given as { fd?: unknown }).fd === 'number')
    return 'pass its number, which is in fd';
  if (
    isObject(given) &&
    typeof (given as { pipe?: unknown }).pipe === 'function' &&
    direction === 'write'
  )
    return `a stream is written by pipeline(array.createReadStream(), stream) of node:stream/promises, with array ${name}`;
  return 'pass the number that openSync gives';
}

/** Returns the bytes that were moved, and whether they are all of the array. */
export async function transfer(
  array: ArrayInternals,
  direction: 'read' | 'write',
  fd: number,
  options: TransferOptions,
): Promise<{ bytes: number; complete: boolean }> {
  const verb = direction === 'read' ? 'read into' : 'write';
  array.assertUsable(verb);
  const { begin, end } = partOf(array, options, TRANSFER_OPTIONS);
  if (begin === end) array.assertUsable(verb, true);
  const { position } = options;
  if (!isWhole(fd, 0) || fd > MAX_DESCRIPTOR)
    throw typeError(
      'FILE_DESCRIPTOR',
      `${show(fd)} is no file descriptor; ${descriptorRemedy(fd, array, direction)}`,
    );
  if (position !== undefined && !isWhole(position, 0)) {
    throw argumentError(
      'FILE_POSITION',
      `position is ${show(position)}; it must be a whole number of bytes, 0 or more`,
    );
  }
  if (begin === end) return { bytes: 0, complete: array.length === 0 };
  const size = bytesOf(array.type);
  // The manager of another process does not have this descriptor.
  if (array.space.client.handle.attachedBy !== undefined) {
    const from = begin * size;
    const count = (end - begin) * size;
    const bytes = await (direction === 'read' ? readHere : writeHere)(array, fd, {
      from,
      count,
      position,
    });
    return { bytes, complete: begin === 0 && bytes === array.byteLength };
  }
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
