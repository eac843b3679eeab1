/**
 * A file of memory that is set aside for one use: all of it has memory, no other process may use it,
 * and a mark behind its end says that what it has may be overwritten.
 */
import { fstatSync, ftruncateSync, readSync, statfsSync, writeSync } from 'node:fs';
import { MAP_SHARED_VALIDATE, MAP_SYNC, PROT_READ } from '../base/constants.js';
import { libc } from '../base/libc.js';
import { allocate, nextData, PAGE_SIZE, punchHole } from '../memory/memory.js';
import { tryLockFile } from './file-io.js';

/** From linux/magic.h: tmpfs and ramfs. */
const IN_MEMORY: readonly number[] = [0x01021994, 0x858458f6];

const MARK = Buffer.from('onemem slow memory: its content may be overwritten\n');
const MARK_BYTES = 4096;

/** Why a file cannot be set aside. */
export type Objection =
  | 'is in use'
  | 'has content'
  | { readonly errno: number; readonly bytes: number };

/** Bytes of the file without the mark. */
export function markedSize(fd: number): { readonly size: number; readonly marked: boolean } {
  const { size } = fstatSync(fd);
  const read = Buffer.alloc(MARK.length);
  const at = size - MARK_BYTES;
  const marked = at >= 0 && readSync(fd, read, 0, MARK.length, at) > 0 && read.equals(MARK);
  return { size: marked ? at : size, marked };
}

/** Whether the file system keeps all that it has in memory. */
export function isInMemory(path: string): boolean {
  return IN_MEMORY.includes(Number(statfsSync(path).type));
}

/** Whether the file is memory itself, as on a DAX file system, and no copy of what a disk has. */
export function isDirect(fd: number): boolean {
  const address = libc.mmap(0, PAGE_SIZE, PROT_READ, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
  if (address < 0) return false;
  libc.munmap(address, PAGE_SIZE);
  return true;
}

/**
 * Sets the first `bytes` of a file aside. What the file has from a program that was killed is given
 * back first; other content is left alone.
 */
export function setAside(fd: number, bytes: number): Objection | null {
  if (!tryLockFile(fd)) return 'is in use';
  const { size, marked } = markedSize(fd);
  if (!marked && nextData(fd, 0) < size) return 'has content';
  punchHole(fd, 0, size);
  const failed = allocate(fd, 0, bytes);
  if (failed !== 0) {
    giveBack(fd);
    return { errno: failed, bytes };
  }
  try {
    writeSync(
      fd,
      Buffer.concat([MARK, Buffer.alloc(MARK_BYTES - MARK.length)]),
      0,
      MARK_BYTES,
      size,
    );
  } catch (error) {
    const { errno = 0 } = error as NodeJS.ErrnoException;
    giveBack(fd);
    return { errno: -errno, bytes };
  }
  return null;
}

/** The file is as it was: as long, and without content. */
export function giveBack(fd: number): void {
  const { size } = markedSize(fd);
  ftruncateSync(fd, size);
  punchHole(fd, 0, size);
}
