/** Memory between host memory and storage, as programs describe it. */
import { closeSync, openSync, type Stats, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { BLOCK_BYTES, type MemorySpeed } from '../../core/basics/types.js';
import { MAP_SHARED, PROT_READ, PROT_WRITE } from '../../linux/base/constants.js';
import { errnoName } from '../../linux/base/errors.js';
import { closeDescriptor } from '../../linux/base/libc.js';
import { isDirect, isInMemory, markedSize, setAside } from '../../linux/files/set-aside.js';
import { allocate, createMemoryFile, mmap, munmap } from '../../linux/memory/memory.js';
import { placeMemory } from '../../linux/memory/numa.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { SlowMemoryOptions } from '../../pager/protocol/space.js';
import { checkObject, checkOptions, show } from '../values/arguments.js';
import { argumentError, OnememError, typeError, warn } from '../values/errors.js';
import { type FilePath, pathOf } from '../values/file-path.js';
import { MOST_STORED_BYTES, storeBudget, toBytes } from '../values/sizes.js';
import { memoryThere } from './host-memory.js';
import { numaPlace } from './numa.js';

/**
 * Memory that is slower than the host's, such as persistent memory or memory behind CXL. Pages go
 * there before they go to storage.
 */
export interface SlowMemorySpecification {
  /** A file in memory: on tmpfs, or on a file system with DAX. It is only the space's meanwhile. */
  readonly path?: FilePath;
  /** Without a path: the node of memory where it lies, of those of `space.numa`. */
  readonly node?: number;
  /** Its size: with a path that of the file by default. All of it is taken when the space opens. */
  readonly bytes?: number | string;
  /** Microseconds before the first byte of a copy; 0 by default. */
  readonly latencyUs?: number;
  /** Bytes a second, such as '30GB'; by default it counts as fast as host memory. */
  readonly bandwidth?: number | string;
}

const NAMES: OptionNames<SlowMemorySpecification> = {
  path: true,
  node: true,
  bytes: true,
  latencyUs: true,
  bandwidth: true,
};
const LEAST_BANDWIDTH = 1e6;
const MOST_LATENCY_US = 1e6;
const US_PER_SECOND = 1e6;

/** What was said about it, and not looked at yet whether it is there. */
export type SlowMemory = Omit<SlowMemoryOptions, 'fd'>;

/** Null: none. Its file is there, and long enough. */
export function slowMemoryOf(said: SlowMemorySpecification | undefined): SlowMemory | null {
  if (said === undefined) return null;
  checkObject('slowMemory', said);
  checkOptions('slowMemory', said, NAMES);
  const speed = speedOf(said);
  if (said.path !== undefined) {
    if (said.node !== undefined)
      throw typeError('SLOW_MEMORY', 'slowMemory has a path and a node; say one of them');
    const path = resolve(pathOf(said.path));
    return { path, node: null, bytes: bytesOf(path, said.bytes), speed };
  }
  if (said.bytes === undefined)
    throw typeError('SLOW_MEMORY', 'slowMemory has neither path nor bytes; say one of them');
  const bytes = storeBudget('slowMemory.bytes', said.bytes);
  const node = said.node === undefined ? null : numaPlace('slowMemory', { node: said.node }).node;
  return { path: null, node, bytes, speed };
}

function speedOf({ latencyUs, bandwidth }: SlowMemorySpecification): MemorySpeed | null {
  if (
    latencyUs !== undefined &&
    !(typeof latencyUs === 'number' && latencyUs >= 0 && latencyUs <= MOST_LATENCY_US)
  )
    throw argumentError(
      'SLOW_MEMORY',
      `slowMemory.latencyUs is ${show(latencyUs)}; it must be a number from 0 to ${MOST_LATENCY_US}`,
    );
  if (bandwidth === undefined) {
    if (latencyUs === undefined) return null;
    throw typeError(
      'SLOW_MEMORY',
      "slowMemory has latencyUs and no bandwidth; say both, such as bandwidth: '30GB'",
    );
  }
  const bytes = toBytes('slowMemory.bandwidth', bandwidth, '1MB');
  if (bytes < LEAST_BANDWIDTH)
    throw argumentError(
      'SLOW_MEMORY',
      `slowMemory.bandwidth is ${bytes}; it must be at least ${LEAST_BANDWIDTH} bytes a second (1MB)`,
    );
  return { latencyUs: latencyUs ?? 0, bytesPerUs: bytes / US_PER_SECOND };
}

/** How much of a file there is, if it is one that can be used. */
function bytesOf(path: string, said: number | string | undefined): number {
  const stats = statsOf(path);
  const problem = stats.isDirectory()
    ? 'it is a folder; name a file in it'
    : stats.isCharacterDevice()
      ? 'it is a device; have its memory shown as a node (daxctl reconfigure-device --mode=system-ram) and say node, or name a file on a file system with DAX'
      : stats.isFile()
        ? null
        : 'it is no file';
  if (problem !== null) throw refused(path, problem);
  return withFile(path, (fd) => {
    if (!isInMemory(path) && !isDirect(fd))
      throw refused(
        path,
        'its file system is neither in memory nor one with DAX; use storage: { path } for a disk',
      );
    const { size } = markedSize(fd);
    const there = Math.min(Math.floor(size / BLOCK_BYTES) * BLOCK_BYTES, MOST_STORED_BYTES);
    const bytes = said === undefined ? there : storeBudget('slowMemory.bytes', said);
    if (there === 0 || bytes > there)
      throw refused(
        path,
        `it is too short: it has ${size} bytes, and ${Math.max(bytes, BLOCK_BYTES)} are needed; make it longer (truncate -s ${Math.max(bytes, BLOCK_BYTES)} ${path})`,
      );
    return bytes;
  });
}

function statsOf(path: string): Stats {
  try {
    return statSync(path);
  } catch (error) {
    throw refused(
      path,
      `${(error as Error).message}; make a file in memory first (truncate -s 1GiB ${path})`,
    );
  }
}

function withFile<T>(path: string, use: (fd: number) => T): T {
  const fd = opened(path);
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}

function opened(path: string): number {
  try {
    return openSync(path, 'r+');
  } catch (error) {
    throw refused(path, `${(error as Error).message}; name a file that this process may write`);
  }
}

/**
 * Takes the memory. The descriptor is the caller's to close, whatever the manager makes of it.
 */
export function takeSlowMemory(wanted: SlowMemory): SlowMemoryOptions {
  const { path, bytes } = wanted;
  // To ask the kernel for more than there is ends processes, and not the call.
  const inMemory = path === null || isInMemory(path);
  const { available } = memoryThere('');
  if (inMemory && bytes > available)
    throw new OnememError(
      'SLOW_MEMORY',
      `slowMemory has ${bytes} bytes, and this machine or control group has ${available} left; say fewer bytes, or make room`,
      { path, requestedBytes: bytes, availableBytes: available },
    );
  return { ...wanted, fd: wanted.path === null ? anonymous(wanted) : fileOf(wanted.path, wanted) };
}

function fileOf(path: string, { bytes }: SlowMemory): number {
  const fd = opened(path);
  const objection = setAside(fd, bytes);
  if (objection === null) return fd;
  closeSync(fd);
  if (objection === 'is in use')
    throw refused(path, 'another space uses it; name a file for each space');
  if (objection === 'has content')
    throw refused(
      path,
      'it has content, which would be overwritten; name an empty file (truncate -s 0, then truncate -s SIZE)',
    );
  throw noRoom(`slowMemory.path is ${path}: its file system has`, objection.errno, bytes, path);
}

function anonymous({ bytes, node }: SlowMemory): number {
  const fd = createMemoryFile('onemem-slow', bytes);
  if (node !== null) {
    const address = mmap(bytes, { protection: PROT_READ | PROT_WRITE, flags: MAP_SHARED, fd });
    const failed = placeMemory(address, bytes, { node, only: false });
    munmap(address, bytes);
    if (failed !== 0)
      warn(
        'ONEMEM_MEMORY',
        `slowMemory cannot be placed on node ${node} (mbind failed with ${errnoName(failed)}), and lies wherever there is room; a container needs CAP_SYS_NICE or a seccomp profile that allows mbind`,
      );
  }
  const failed = allocate(fd, 0, bytes);
  if (failed === 0) return fd;
  closeDescriptor(fd);
  throw noRoom('slowMemory: this machine has', failed, bytes, null);
}

function noRoom(what: string, errno: number, bytes: number, path: string | null): OnememError {
  return new OnememError(
    'SLOW_MEMORY',
    `${what} no room for ${bytes} bytes (${errnoName(errno)}); say fewer bytes, or make room`,
    { path, requestedBytes: bytes },
  );
}

function refused(path: string, problem: string): OnememError {
  return new OnememError('SLOW_MEMORY', `slowMemory.path is ${path}: ${problem}`, { path });
}
