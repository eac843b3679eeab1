/** Spaces in files: all arrays at once, opened again in milliseconds. */
import { ftruncateSync, writeSync } from 'node:fs';
import { bytesOf } from '../../core/basics/elements.js';
import { PAGE_BYTES } from '../../core/basics/types.js';
import {
  framesOf,
  placeArrays,
  readSavedArrays,
  type SavedArray,
  SpaceFileError,
} from '../../files/space-file.js';
import { sumsOfFile } from '../../linux/files/file-sums.js';
import { SUM_BYTES } from '../../linux/memory/checksum.js';
import { lookAtFile, partOfFile, withFile } from '../arrays/files/file-array.js';
import { incomplete, writeResult } from '../arrays/files/result-file.js';
import type { SpaceInternals } from '../line/internals.js';
import { OnememError } from '../values/errors.js';
import { type FilePath, pathOf } from '../values/file-path.js';
import type { ManagedArray } from './managed-array.js';

/** Of an array, what is looked at in one piece. */
const WINDOW_BYTES = 256 * 2 ** 20;

/** Writes arrays to a file. Returns the bytes of the file. */
export async function saveSpace(arrays: readonly ManagedArray[], file: FilePath): Promise<number> {
  const path = pathOf(file);
  const { placed, end } = placeArrays(arrays, SUM_BYTES);
  const { head, list } = framesOf(placed, end);
  return writeResult(path, async (fd) => {
    const bytes = end + list.length;
    // What was never written is a hole: it reads as zero and takes no room.
    ftruncateSync(fd, bytes);
    for (const [at, array] of arrays.entries()) await saveArray(array, placed[at], fd, path);
    writeSync(fd, list, 0, list.length, end);
    writeSync(fd, head, 0, head.length, 0);
    return bytes;
  });
}

async function saveArray(
  array: ManagedArray,
  { offset, sums }: SavedArray,
  fd: number,
  path: string,
): Promise<void> {
  const size = bytesOf(array.type);
  const step = WINDOW_BYTES / size;
  for (let from = 0; from < array.length; from += step) {
    const to = Math.min(from + step, array.length);
    for (const { begin, end } of contentOf(array, from, to)) {
      const written = await array.writeTo(fd, { begin, end, position: offset + begin * size });
      const bytes = (end - begin) * size;
      if (written !== bytes) throw incomplete(path, written, bytes);
      const first = Math.floor((begin * size) / PAGE_BYTES);
      const count = Math.ceil((end * size) / PAGE_BYTES) - first;
      const words = sumsOfFile(fd, offset / PAGE_BYTES + first, count);
      writeSync(fd, new Uint8Array(words.buffer), 0, words.byteLength, sums + first * SUM_BYTES);
    }
  }
}

/** Parts that may have something else than zeros. */
function contentOf(
  array: ManagedArray,
  begin: number,
  end: number,
): readonly { readonly begin: number; readonly end: number }[] {
  if (array.handle.mapped === true) return [{ begin, end }];
  const { runs } = array.residency({ begin, end });
  return runs.filter(({ state }) => state !== 'zero' && state !== 'freed');
}

/** Makes the arrays of a file again: their pages come from it when they are touched. */
export function openSaved(space: SpaceInternals, path: string): void {
  for (const { name, type, length, offset, sums } of savedArrays(path)) {
    if (length === 0) space.arrayOf(type, 0, { name });
    else
      withFile(path, 'read', (fd, size) => {
        const use = { writable: true, shared: false, mapped: false, name };
        const { source } = partOfFile({ fd, path, size }, type, use, {
          byteOffset: offset,
          length,
        });
        return space.allocate(type, length, name, true, { ...source, sums });
      });
  }
}

/** What the file has. Throws SPACE_FILE for one that is no whole saved space. */
export function savedArrays(path: string): readonly SavedArray[] {
  try {
    return lookAtFile(path, readSavedArrays);
  } catch (error) {
    if (!(error instanceof SpaceFileError)) throw error;
    throw new OnememError(
      'SPACE_FILE',
      `cannot open the space of ${path}: the file ${error.message}`,
      {
        path,
      },
    );
  }
}
