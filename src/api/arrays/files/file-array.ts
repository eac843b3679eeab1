/** Arrays over files: what may be asked for, and the file that is opened for it. */
import { closeSync, constants, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { bytesOf, constructorName, type ElementType } from '../../../core/basics/elements.js';
import { closeDescriptor } from '../../../linux/base/libc.js';
import { duplicateDescriptor, tryLockFile } from '../../../linux/files/file-io.js';
import type { OptionNames } from '../../../messages/option-names.js';
import type { FileSource } from '../../../pager/protocol/requests.js';
import type { ArrayInternals, SpaceInternals } from '../../line/internals.js';
import { descriptorError } from '../../line/opening-errors.js';
import { checkFlag, checkName, checkOptions, checkSize } from '../../values/arguments.js';
import { checkLength } from '../../values/array-length.js';
import { argumentError, OnememError, typeError } from '../../values/errors.js';

/** How an array over a file may be used. */
export interface FileUse {
  /** Writes go to a private copy of each page, never to the file. */
  readonly writable?: boolean;
  /**
   * Writes go to the file by `flush()`, `free()` and the close of the space. One array at a time
   * may share a file.
   */
  readonly shared?: boolean;
  /**
   * Threads read the kernel's own memory of the file, as `mmap` shows it. Not for arrays that are
   * written. A wrong access ends the process by SIGSEGV or SIGBUS, without a message.
   */
  readonly mapped?: boolean;
  readonly name?: string;
}

/** Options of `space.fileArray`. */
export interface FileArrayOptions extends FileUse {
  /** Bytes in the file before the first element. */
  readonly byteOffset?: number;
  /** Elements; by default the rest of the file, which must be a whole number of them. */
  readonly length?: number;
  /**
   * Makes the file, or empties it, and gives it so many elements, all zero, that the array shares
   * with it (`shared`). What was in the file is never read.
   */
  readonly create?: number;
}

export const FILE_USE: OptionNames<FileUse> = {
  writable: true,
  shared: true,
  mapped: true,
  name: true,
};
export const FILE_ARRAY_OPTIONS: OptionNames<FileArrayOptions> = {
  ...FILE_USE,
  byteOffset: true,
  length: true,
  create: true,
};

/** What is asked for, checked and complete. */
export interface CheckedUse {
  readonly writable: boolean;
  readonly shared: boolean;
  readonly mapped: boolean;
  readonly name: string;
}

export function checkUse<T extends FileUse & { readonly create?: unknown }>(
  what: string,
  path: string,
  options: T,
  names: OptionNames<T>,
): CheckedUse {
  checkOptions(what, options, names);
  const isCreated = options.create !== undefined;
  for (const [option, wrong] of Object.entries(isCreated ? BESIDE_CREATE : {})) {
    if ((options as Readonly<Record<string, unknown>>)[option] !== wrong) continue;
    const message = `array ${options.name ?? path} shares the file that \`create\` makes; leave out \`${option}: ${wrong}\``;
    throw typeError('CREATE', message);
  }
  const { shared = isCreated, writable = shared, mapped = false, name = path } = options;
  checkFlag('shared', shared);
  checkFlag('writable', writable);
  checkFlag('mapped', mapped);
  checkName('an array', name);
  if (shared && !writable) {
    throw typeError(
      'SHARED_READ_ONLY',
      `array ${name} cannot be shared and not writable; leave out \`shared\` to read the file alone, or \`writable\` to have writes reach it`,
    );
  }
  if (mapped && writable) {
    const other = shared ? 'shared' : 'writable';
    const message = `array ${name} cannot be mapped and ${other}: what the CPU wrote there, devices would not see; leave out one of the two`;
    throw typeError('MAPPED_WRITABLE', message);
  }
  return { shared, writable, mapped, name };
}

/** What contradicts `create`. */
const BESIDE_CREATE = { shared: false, writable: false, mapped: true } as const;

/** Opens the file, has `use` make something of it, and closes it again if that fails. */
export function withFile<R>(
  path: string,
  how: 'read' | 'shared' | 'created',
  use: (fd: number, size: number) => R,
): R {
  // To open a pipe that no program writes must not stop this program: the pipe is refused once it
  // is open.
  const opened = how === 'read' ? openPlain(path) : openShared(path, how === 'created');
  let fd: number;
  try {
    // The manager closes it, in another thread. Node would close the number of what it opened once
    // more when this thread ends.
    fd = duplicateDescriptor(opened);
  } catch (error) {
    throw descriptorError(`cannot open ${path}`, error);
  } finally {
    closeSync(opened);
  }
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile()) {
      throw typeError(
        'FILE_KIND',
        `${path} is no regular file; only of these can parts be read at any time, and again`,
      );
    }
    return use(fd, stats.size);
  } catch (error) {
    closeDescriptor(fd);
    throw error;
  }
}

/** The part of a file that becomes an array; without a length, the rest of it. */
export function partOfFile(
  { fd, path, size }: { readonly fd: number; readonly path: string; readonly size: number },
  element: ElementType,
  { shared, mapped, name }: CheckedUse,
  { byteOffset = 0, length }: Pick<FileArrayOptions, 'byteOffset' | 'length'>,
): { source: FileSource; length: number } {
  checkSize('byteOffset', byteOffset, 0);
  const elementBytes = bytesOf(element);
  const there = size - byteOffset;
  if (length === undefined && there > 0 && there % elementBytes !== 0) {
    const whole = Math.floor(there / elementBytes);
    const from = byteOffset === 0 ? '' : ` from byte ${byteOffset} on`;
    const remedy =
      whole > 0
        ? `state the right type, or \`length: ${whole}\` to leave the rest out`
        : 'that is too short for one element';
    throw argumentError(
      'TRAILING_BYTES',
      `${path} has ${there} bytes${from}, which are ${whole} elements of ${constructorName(element)} and ${there % elementBytes} bytes; ` +
        `${remedy}`,
    );
  }
  // A part that begins behind the end is too short for one element.
  const count = length ?? (there < 0 ? 1 : there / elementBytes);
  checkLength(`cannot allocate array ${name}`, count, elementBytes);
  const need = byteOffset + count * elementBytes;
  if (need > size) {
    throw argumentError(
      'FILE_TOO_SHORT',
      `${path} has ${size} bytes; ${count} elements of ${elementBytes} bytes from byte ${byteOffset} on need ${need}`,
    );
  }
  if (mapped && byteOffset % elementBytes !== 0) {
    const nearest = byteOffset - (byteOffset % elementBytes);
    throw argumentError(
      'FILE_ALIGNMENT',
      `array ${name} cannot be mapped: elements of ${elementBytes} bytes would begin at byte ${byteOffset} of ${path}, which is no multiple of ` +
        `${elementBytes} (${nearest} is); leave out \`mapped\`: its pages are copied then`,
    );
  }
  // Of a part without elements there is nothing to map.
  return {
    source: {
      fd,
      path,
      offset: byteOffset,
      bytes: count * elementBytes,
      shared,
      mapped: mapped && count > 0,
    },
    length: count,
  };
}

export function checkCreated(
  { byteOffset = 0, length, create }: FileArrayOptions,
  name: string,
  elementBytes: number,
): void {
  checkSize('byteOffset', byteOffset, 0);
  if (length !== undefined)
    throw typeError('CREATE', `array ${name}: \`create\` says the length; leave out \`length\``);
  checkLength(`cannot allocate array ${name}`, create, elementBytes);
}

/**
 * An array over all elements of a file that has been opened for it. The file is emptied, and the
 * pages of the array begin as those of one without a file do: none is read from it.
 */
export function createdArray(
  space: SpaceInternals,
  path: string,
  element: ElementType,
  name: string,
  { head, length }: { readonly head: Uint8Array | number; readonly length: number },
): ArrayInternals {
  return withFile(path, 'created', (fd) => {
    const offset = typeof head === 'number' ? head : head.length;
    const place = { path, byteOffset: offset, name, mapped: false };
    const array = sharingArray(space, element, length, fd, place);
    try {
      // Not before: what cannot be allocated leaves the file as it was.
      ftruncateSync(fd, 0);
      ftruncateSync(fd, offset + array.byteLength);
      if (typeof head !== 'number') writeSync(fd, head, 0, head.length, 0);
      if (length > 0) space.client.call('discard', array.allPages);
    } catch (error) {
      array.free();
      throw error;
    }
    closeDescriptor(fd);
    return array;
  });
}

/** An array that shares a file, of which the descriptor stays the caller's. */
export function sharingArray(
  space: SpaceInternals,
  element: ElementType,
  length: number,
  fd: number,
  { path, byteOffset, name, mapped }: SharedPlace,
): ArrayInternals {
  const source = { path, offset: byteOffset, bytes: length * bytesOf(element), mapped };
  const own = duplicateDescriptor(fd);
  try {
    return space.allocate(element, length, name, true, { ...source, fd: own, shared: true });
  } catch (error) {
    closeDescriptor(own);
    throw error;
  }
}

interface SharedPlace {
  /** For messages. */
  readonly path: string;
  /** Where the elements begin: of a mapped one a multiple of their size. */
  readonly byteOffset: number;
  readonly name: string;
  readonly mapped: boolean;
}

/** Has `use` look at a file, and closes it. */
export function lookAtFile<R>(path: string, use: (fd: number, size: number) => R): R {
  const fd = openPlain(path);
  try {
    return use(fd, fstatSync(fd).size);
  } finally {
    closeSync(fd);
  }
}

function openPlain(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw descriptorError(`cannot open ${path}`, error);
  }
}

/** Opens a file that an array is to share, and keeps other arrays from sharing it, too. */
function openShared(path: string, isMade: boolean): number {
  let fd: number;
  try {
    fd = openSync(
      path,
      isMade ? constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK : 'r+',
    );
  } catch (error) {
    const { code = '' } = error as { code?: string };
    if (!['EACCES', 'EPERM', 'EROFS', 'ETXTBSY', 'EISDIR'].includes(code))
      throw descriptorError(`cannot share ${path}`, error);
    const message = `cannot share ${path}: this process may not write it (${code}); allow that, or leave out \`shared\` to read it, with \`writable: true\` for changes that stay in memory`;
    throw new OnememError('FILE_NOT_WRITABLE', message, { path, errno: code }, { cause: error });
  }
  try {
    if (tryLockFile(fd)) return fd;
    throw new OnememError(
      'FILE_LOCKED',
      `cannot share ${path}: another shared array has it, of this program or another one, whose changes and yours would overwrite each ` +
        'other; free that one first, hand its handle to your other threads, or leave out `shared`',
      { path },
    );
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}
