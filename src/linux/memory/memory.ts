/** Mappings, memory files and raw copies. */
import { constants as bufferConstants } from 'node:buffer';
import { fstatSync, readFileSync } from 'node:fs';
import {
  EEXIST,
  EINVAL,
  ENOMEM,
  F_ADD_SEALS,
  F_GET_SEALS,
  F_SEAL_GROW,
  F_SEAL_SHRINK,
  FALLOC_FL_KEEP_SIZE,
  FALLOC_FL_PUNCH_HOLE,
  MAP_FIXED_NOREPLACE,
  MFD_ALLOW_SEALING,
  MFD_CLOEXEC,
  MFD_NOEXEC_SEAL,
  MS_ASYNC,
  SC_PAGESIZE,
  SEEK_DATA,
  SEEK_HOLE,
} from '../base/constants.js';
import { check, SystemCallError } from '../base/errors.js';
import { closeDescriptor, errno, libc, rawView } from '../base/libc.js';

/** 4 KiB on x64; 4, 16 or 64 KiB on arm64, by the kernel's configuration. */
export const PAGE_SIZE: number = libc.sysconf(SC_PAGESIZE);

export interface MapOptions {
  readonly protection: number;
  readonly flags: number;
  /** Where to map: required at this address if the flags say so, otherwise a hint. */
  readonly address?: number;
  readonly fd?: number;
  readonly offset?: number;
}

/** Maps memory and returns its address. Errors name what is at a fixed address. */
export function mmap(length: number, options: MapOptions): number {
  const { protection, flags, address = 0, fd = -1, offset = 0 } = options;
  const result = libc.mmap(address, length, protection, flags, fd, offset);
  const noReplace = (flags & MAP_FIXED_NOREPLACE) !== 0;
  if (result < 0) {
    const number = errno();
    let remark: string | undefined;
    if (noReplace && number === EEXIST)
      remark = `in the way: ${occupantsOf(address, length).map(describeMapping).join(', ')}`;
    else if (noReplace && number === ENOMEM) {
      remark =
        'the address may lie beyond what this kernel gives a process (arm64 kernels with 39 or 42 bits), or a limit on address space (ulimit -v) is set';
    }
    throw new SystemCallError(
      'mmap',
      { address, length, protection, flags, fd, offset },
      number,
      remark,
    );
  }
  if (noReplace && result !== address) {
    // Kernels before 4.17 take the unknown flag for a hint.
    libc.munmap(result, length);
    throw new SystemCallError('mmap', { address, length, protection, flags, fd, offset }, EEXIST);
  }
  return result;
}

export function munmap(address: number, length: number): void {
  check(libc.munmap(address, length), 'munmap', { address, length });
}

export function mprotect(address: number, length: number, protection: number): void {
  check(libc.mprotect(address, length, protection), 'mprotect', { address, length, protection });
}

export function madvise(address: number, length: number, advice: number): void {
  check(libc.madvise(address, length, advice), 'madvise', { address, length, advice });
}

/** The same, for advice that this kernel may not know: returns 0 or the error number. */
export function tryMadvise(address: number, length: number, advice: number): number {
  return libc.madvise(address, length, advice) < 0 ? errno() : 0;
}

/** Locks pages. 0 or the error number: the limit on locked memory is an ordinary outcome. */
export function mlock(address: number, length: number): number {
  return libc.mlock(address, length) < 0 ? errno() : 0;
}

/** Lets go of them. The kernel may want memory of its own for that, and have none just then. */
export function munlock(address: number, length: number): void {
  let result = libc.munlock(address, length);
  for (let tries = 0; result < 0 && tries < 100; tries++) result = libc.munlock(address, length);
  check(result, 'munlock', { address, length });
}

/** The same for memory that may not be mapped any more. */
export function tryMunlock(address: number, length: number): void {
  libc.munlock(address, length);
}

/** Returns 0 where all pages are mapped, else the error number. */
export function tryMsync(address: number, length: number): number {
  return libc.msync(address, length, MS_ASYNC) < 0 ? errno() : 0;
}

/** A file that lives in memory only, of the given size and without any page yet. */
export function createMemoryFile(name: string, length: number): number {
  // Kernels since 6.3 want to be told that the file is no program, and log a line otherwise; older
  // ones refuse the flag.
  let fd = libc.memfdCreate(name, MFD_CLOEXEC | MFD_NOEXEC_SEAL);
  if (fd < 0 && errno() === EINVAL) fd = libc.memfdCreate(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  check(fd, 'memfd_create', { name });
  try {
    resizeFile(fd, length);
  } catch (error) {
    closeDescriptor(fd);
    throw error;
  }
  return fd;
}

export function resizeFile(fd: number, length: number): void {
  check(libc.ftruncate(fd, length), 'ftruncate', { fd, length });
}

/** Keeps a memory file the size that it has, in all processes: no mapping of it can lose its pages. */
export function sealSize(fd: number): void {
  check(libc.fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 'fcntl', { fd, seals: 'size' });
}

/** Whether a descriptor is a memory file that keeps its size. */
export function isSizeSealed(fd: number): boolean {
  const seals = libc.fcntl(fd, F_GET_SEALS, 0);
  return seals >= 0 && (seals & F_SEAL_SHRINK) !== 0;
}

/** Gives a part of a file memory (or disk space) now. Returns 0 or the error number. */
export function allocate(fd: number, offset: number, length: number): number {
  return libc.fallocate(fd, FALLOC_FL_KEEP_SIZE, offset, length) < 0 ? errno() : 0;
}

/** Frees a part of a file, in every mapping of every process. 0 or the error number. */
export function punchHole(fd: number, offset: number, length: number): number {
  return libc.fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length) < 0
    ? errno()
    : 0;
}

/** Where the next written page begins, from `offset` on; Infinity: there is none. */
export function nextData(fd: number, offset: number): number {
  const result = libc.lseek(fd, offset, SEEK_DATA);
  return result < 0 ? Number.POSITIVE_INFINITY : result;
}

/** Where the next page of a memory file begins that was never written. */
export function nextHole(fd: number, offset: number): number {
  const result = libc.lseek(fd, offset, SEEK_HOLE);
  return result < 0 ? offset : result;
}

/** How much memory (or disk space) a file really has. */
export function allocatedBytes(fd: number): number {
  return fstatSync(fd).blocks * 512;
}

/** Copies between disjoint addresses. A page that faults is served while this waits. */
export function copyMemory(destination: number, source: number, length: number): void {
  libc.memcpy(destination, source, length);
}

/** Copies between addresses that may overlap. */
export function moveMemory(destination: number, source: number, length: number): void {
  libc.memmove(destination, source, length);
}

export function fillMemory(address: number, value: number, length: number): void {
  libc.memset(address, value, length);
}

/** The largest view of this Node.js. Beyond it V8 ends the process instead of throwing. */
export const MAX_VIEW_BYTES: number = bufferConstants.MAX_LENGTH;

/** An ArrayBuffer over the caller's memory: unmapping leaves the view with nothing. */
export function view(address: number, length: number): ArrayBuffer {
  if (!(length > 0 && length <= MAX_VIEW_BYTES)) {
    const remedy =
      length > 0 ? '; use Node.js 22 or newer, or several views of parts of the range' : '';
    throw Object.assign(
      new RangeError(
        `a view of ${length} bytes is not possible on Node.js ${process.versions.node}: it takes 1 to ${MAX_VIEW_BYTES} bytes${remedy}`,
      ),
      { code: 'VIEW_SIZE' },
    );
  }
  return rawView(address, length);
}

export interface Mapping {
  readonly start: number;
  readonly end: number;
  readonly permissions: string;
  readonly path: string;
}

/** Reads the text of /proc/PID/maps. */
export function parseMappings(text: string): Mapping[] {
  const mappings: Mapping[] = [];
  for (const line of text.split('\n')) {
    const match = /^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \d+\s*(.*)$/.exec(line);
    if (match === null) continue;
    const [, start = '', end = '', permissions = '', path = ''] = match;
    mappings.push({
      start: Number.parseInt(start, 16),
      end: Number.parseInt(end, 16),
      permissions,
      path,
    });
  }
  return mappings;
}

/** What a process has mapped in a range of addresses: this one, unless it is said. */
export function occupantsOf(
  address: number,
  length: number,
  process: number | 'self' = 'self',
): Mapping[] {
  const end = address + length;
  return parseMappings(readFileSync(`/proc/${process}/maps`, 'latin1')).filter(
    (m) => m.start < end && m.end > address,
  );
}

export function describeMapping(mapping: Mapping): string {
  const what = mapping.path === '' ? 'anonymous memory' : mapping.path;
  return `${what} at 0x${mapping.start.toString(16)}-0x${mapping.end.toString(16)} (${mapping.permissions})`;
}

/** Copies out of memory at an address into a typed array of this thread. */
export function readMemory(target: Uint8Array, address: number): void {
  libc.memcpyToArray(target, address, target.byteLength);
}

/** Copies a typed array of this thread to memory at an address. */
export function writeMemory(address: number, source: Uint8Array): void {
  libc.memcpyFromArray(address, source, source.byteLength);
}
