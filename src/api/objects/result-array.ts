/** An array over a file just made by us, which is written from first to last element. */
import type { ElementType } from '../../core/basics/elements.js';
import { EOPNOTSUPP } from '../../linux/base/constants.js';
import { errnoName } from '../../linux/base/errors.js';
import { allocate, resizeFile } from '../../linux/memory/memory.js';
import { sharingArray } from '../arrays/files/file-array.js';
import type { SpaceInternals } from '../line/internals.js';
import type { ManagedArray } from '../public.js';
import { OnememError } from '../values/errors.js';

/**
 * Process devices write the kernel's memory of the file, and other processors pages that
 * `flush()` writes. The calling program's threads must not touch the elements.
 * @param place the descriptor stays the caller's, and so does a lock of the file
 */
export function resultArray(
  space: object,
  type: ElementType,
  length: number,
  { fd, ...place }: { fd: number; path: string; byteOffset: number; name: string },
): ManagedArray {
  const shared = { ...place, mapped: true };
  return sharingArray(space as SpaceInternals, type, length, fd, shared) as unknown as ManagedArray;
}

/** Gives the file zeros to its length, and room on disk: a store must find some. */
export function allocateResult(fd: number, path: string, bytes: number): void {
  resizeFile(fd, bytes);
  const errno = allocate(fd, 0, bytes);
  if (errno === 0 || errno === EOPNOTSUPP) return;
  throw new OnememError('FILE_IO', `cannot write ${path}: ${errnoName(errno)}`, { path, errno });
}
