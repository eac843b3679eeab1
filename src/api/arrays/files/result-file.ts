/** Files that calls of ours write: each replaces an old one only when all is on the disk. */
import { closeSync, constants, openSync } from 'node:fs';
import type { AtomicFile, RefusalCode } from '../../../files/atomic-file.js';
import { createResult } from '../../../files/leftovers.js';
import { EFBIG } from '../../../linux/base/constants.js';
import { errnoName, isOfFullDisk } from '../../../linux/base/errors.js';
import { tryLockFile } from '../../../linux/files/file-io.js';
import { tooLarge } from '../../../linux/files/file-limit.js';
import { descriptorError } from '../../line/opening-errors.js';
import { OnememError } from '../../values/errors.js';

/** Has `write` write a file, which takes its name when all of it is on the disk. */
export async function writeResult<T>(path: string, write: (fd: number) => Promise<T>): Promise<T> {
  refuseShared(path);
  const made = create(path);
  try {
    const result = await write(made.fd);
    await made.commit();
    return result;
  } catch (error) {
    throw saveError(path, error);
  } finally {
    made.abort();
  }
}

export function incomplete(path: string, written: number, bytes: number): OnememError {
  return new OnememError(
    'FILE_IO',
    `cannot save ${path}: only ${written} of ${bytes} bytes could be written`,
    { path, bytes: written },
  );
}

/** Later writes to a shared array would go to the replaced file, and be lost with it. */
function refuseShared(path: string): void {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    // There is none, or it may not be read; what is wrong with that is found when it is replaced.
    return;
  }
  try {
    if (tryLockFile(fd)) return;
  } catch {
    // A file system without locks has no shared arrays either.
    return;
  } finally {
    closeSync(fd);
  }
  throw new OnememError(
    'FILE_LOCKED',
    `cannot replace ${path}: a shared array has it, of this program or another one, whose changes would be lost with the old file; ` +
      'flush and free that one first, or save to another file',
    { path },
  );
}

/** A failure names the file, and not the temporary one that stands for it. */
function create(path: string): AtomicFile {
  try {
    return createResult(path);
  } catch (error) {
    const { code = '', errno, message } = error as NodeJS.ErrnoException;
    if (errno === undefined)
      throw new OnememError(code as RefusalCode, message, { path }, { cause: error });
    const shortage = descriptorError(`cannot write ${path}`, error);
    if (shortage !== error) throw shortage;
    const why =
      code === 'ENOENT' ? 'there is no such folder' : `its folder does not allow it (${code})`;
    throw new OnememError(
      'FILE_NOT_WRITABLE',
      `cannot write ${path}: ${why}`,
      { path, errno: code },
      { cause: error },
    );
  }
}

/** What the system refused, by the file and with a remedy; the manager knows descriptors only. */
function saveError(path: string, error: unknown): unknown {
  const { errno: own, details } = error as { errno?: number; details?: { errno?: number } };
  const errno = details?.errno ?? (own === undefined ? undefined : -own);
  if (errno === undefined) return error;
  const remedy = isOfFullDisk(errno)
    ? '; make room on its disk, or save elsewhere; the old file is unchanged'
    : errno === EFBIG
      ? `: ${tooLarge()}`
      : '';
  const message = `cannot save ${path}: ${errnoName(errno)}${remedy}`;
  return new OnememError('FILE_IO', message, { ...details, errno, path }, { cause: error });
}
