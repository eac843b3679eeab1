/** Reading files into memory by address, and writing them, without a JavaScript buffer. */
import { fstatSync, readlinkSync } from 'node:fs';
import {
  EAGAIN,
  EINTR,
  F_DUPFD_CLOEXEC,
  F_GETFL,
  LOCK_EX,
  LOCK_NB,
  O_ACCMODE,
  O_RDONLY,
  O_RDWR,
  RWF_NOWAIT,
} from '../base/constants.js';
import { check, SystemCallError } from '../base/errors.js';
import { errno, libc } from '../base/libc.js';
import { scratch } from '../base/native-buffer.js';

// What one read or write transfers at most on Linux, rounded down to a huge page.
const CHUNK = 0x7fe00000;

/** Whether a descriptor is of a regular file that it can read, and write if that is wanted. */
export function isRegularFile(fd: number, writable: boolean): boolean {
  const access = libc.fcntl(fd, F_GETFL, 0) & O_ACCMODE;
  return fstatSync(fd).isFile() && (access === O_RDWR || (!writable && access === O_RDONLY));
}

/** Reads until the length or the end of the file is reached; returns the bytes read. */
export function preadToAddress(
  fd: number,
  address: number,
  length: number,
  offset: number,
): number {
  return moveAll('pread', fd, address, length, offset);
}

export function pwriteFromAddress(
  fd: number,
  address: number,
  length: number,
  offset: number,
): void {
  moveAll('pwrite', fd, address, length, offset);
}

function moveAll(
  call: 'pread' | 'pwrite',
  fd: number,
  address: number,
  length: number,
  offset: number,
): number {
  let done = 0;
  while (done < length) {
    const step = libc[call](fd, address + done, Math.min(CHUNK, length - done), offset + done);
    if (step === 0 && call === 'pread') break;
    const number = step < 0 ? errno() : 0;
    if (step > 0) done += step;
    else if (number !== EINTR)
      throw new SystemCallError(call, { fd, address, length, offset, done }, number);
  }
  return done;
}

/** Where the descriptor stands. */
const STANDING = -1;

/**
 * Reads what the kernel has in memory already, or writes what it takes at once, whether or not a
 * pipe or socket was made to keep its callers waiting. Returns the bytes (perhaps fewer than asked,
 * 0 at the end of a file), or the negative error number: -EAGAIN when it would have to wait,
 * -EOPNOTSUPP when the kernel cannot tell (of some file systems, of terminals, of pipes and sockets
 * before Linux 6.4).
 */
export function moveWithoutWaiting(
  way: 'read' | 'write',
  fd: number,
  address: number,
  length: number,
  offset = STANDING,
): number {
  scratch.setU64(0, address);
  scratch.setU64(8, Math.min(CHUNK, length));
  const call = way === 'read' ? libc.preadv2 : libc.pwritev2;
  const result = call(fd, scratch.address, 1, offset, RWF_NOWAIT);
  return result < 0 ? -errno() : result;
}

/** The path of a descriptor's file; null: it is not open, or is a pipe or a socket. */
export function pathOfDescriptor(fd: number): string | null {
  try {
    const path = readlinkSync(`/proc/self/fd/${fd}`);
    return path.startsWith('/') ? path : null;
  } catch {
    return null;
  }
}

/**
 * Takes the lock of an open file, which goes with its last descriptor. False: another descriptor
 * has it, of this process or another one. The lock is advisory: it keeps out only programs that ask
 * for it.
 */
export function tryLockFile(fd: number): boolean {
  for (;;) {
    if (libc.flock(fd, LOCK_EX | LOCK_NB) === 0) return true;
    const number = errno();
    if (number === EAGAIN) return false;
    if (number !== EINTR) throw new SystemCallError('flock', { fd }, number);
  }
}

/** Another number for the same open file, with its locks; for `closeDescriptor` to close. */
export function duplicateDescriptor(fd: number): number {
  return check(libc.fcntl(fd, F_DUPFD_CLOEXEC, 0), 'fcntl', { fd });
}
