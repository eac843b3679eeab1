/** An array over a file just made by us, which is written from first to last element. */
import { bytesOf, type ElementType } from '../../core/basics/elements.js';
import { EOPNOTSUPP } from '../../linux/base/constants.js';
import { errnoName } from '../../linux/base/errors.js';
import { closeDescriptor } from '../../linux/base/libc.js';
import { duplicateDescriptor } from '../../linux/files/file-io.js';
import { allocate, resizeFile } from '../../linux/memory/memory.js';
import type { SpaceInternals } from '../line/internals.js';
import type { ManagedArray } from '../public.js';
import { OnememError } from '../values/errors.js';

export interface ResultPlace {
  /** Open for reading and writing. It stays the caller's, and so does a lock of the file. */
  readonly fd: number;
  /** For messages. */
  readonly path: string;
  /** Where the elements begin: a multiple of their size. */
  readonly byteOffset: number;
  readonly name: string;
}

/**
 * Process devices write the kernel's memory of the file, and other processors pages that
 * `flush()` writes. The calling program's threads must not touch the elements.
 */
export function resultArray(
  space: object,
  type: ElementType,
  length: number,
  place: ResultPlace,
): ManagedArray {
  const { fd: own, path, byteOffset: offset, name } = place;
  const fd = duplicateDescriptor(own);
  try {
    const source = { fd, path, offset, bytes: length * bytesOf(type), shared: true, mapped: true };
    return (space as SpaceInternals).allocate(
      type,
      length,
      name,
      true,
      source,
    ) as unknown as ManagedArray;
  } catch (error) {
    closeDescriptor(fd);
    throw error;
  }
}

/** Gives the file zeros to its length, and room on disk: a store must find some. */
export function allocateResult(fd: number, path: string, bytes: number): void {
  resizeFile(fd, bytes);
  const errno = allocate(fd, 0, bytes);
  if (errno === 0 || errno === EOPNOTSUPP) return;
  throw new OnememError('FILE_IO', `cannot write ${path}: ${errnoName(errno)}`, { path, errno });
}
