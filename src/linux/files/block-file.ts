/**
 * Memory files that may have 2 MiB of memory in one piece, a huge folio: many times cheaper to get
 * and to give back than 512 pages. Whether the kernel gives such pieces to an ordinary memory file
 * is the system's to say (shmem_enabled), and mostly it says never. A file system in memory of our
 * own says so for itself, where this process may make one. It is mounted nowhere, and goes with its
 * file.
 */
import {
  FSCONFIG_CMD_CREATE,
  FSCONFIG_SET_STRING,
  FSMOUNT_CLOEXEC,
  FSOPEN_CLOEXEC,
  MADV_HUGEPAGE,
  MADV_NOHUGEPAGE,
  MAP_NORESERVE,
  MAP_SHARED,
  MOUNT_ATTR_NODEV,
  MOUNT_ATTR_NOEXEC,
  MOUNT_ATTR_NOSUID,
  O_CLOEXEC,
  O_CREAT,
  O_EXCL,
  O_RDWR,
  PROT_READ,
  PROT_WRITE,
} from '../base/constants.js';
import { closeDescriptor, libc, SYSTEM_CALL } from '../base/libc.js';
import { NativeBuffer } from '../base/native-buffer.js';
import {
  createMemoryFile,
  fillMemory,
  mmap,
  munmap,
  nextData,
  nextHole,
  punchHole,
  resizeFile,
  tryMadvise,
} from '../memory/memory.js';

/** What a huge folio has on the systems that onemem runs on, where a page has 4 KiB. */
const FOLIO_BYTES = 2 ** 21;

/** As `createMemoryFile`, in a file system that gives huge folios where possible. */
export function createBlockFile(name: string, length: number): number {
  const fd = createOnOwn(name);
  if (fd < 0) return createMemoryFile(name, length);
  try {
    resizeFile(fd, length);
  } catch (error) {
    closeDescriptor(fd);
    throw error;
  }
  return fd;
}

/** A file without a path in a new file system; negative where that cannot be had. */
function createOnOwn(name: string): number {
  const directory = makeFileSystem();
  if (directory < 0) return directory;
  // Lists of descriptors and of mappings show it under the name that a memory file would have.
  const path = `memfd:${name}`;
  const fd = libc.openat(directory, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600);
  if (fd >= 0) libc.unlinkat(directory, path, 0);
  closeDescriptor(directory);
  return fd;
}

/** Its root directory. */
function makeFileSystem(): number {
  const text = new NativeBuffer(64);
  const at: Record<string, number> = {};
  let end = 0;
  for (const word of ['tmpfs', 'size', '0', 'huge', 'advise']) {
    at[word] = text.address + end;
    // The byte after it stays zero.
    end += new TextEncoder().encodeInto(word, text.bytes.subarray(end)).written + 1;
  }
  const context = libc.systemCall(SYSTEM_CALL.fsopen, at.tmpfs, FSOPEN_CLOEXEC, 0, 0, 0, 0);
  if (context < 0) return context;
  const set = (key: number, value: number): number =>
    libc.systemCall(SYSTEM_CALL.fsconfig, context, FSCONFIG_SET_STRING, key, value, 0, 0);
  let result = set(at.size, at['0']);
  if (result >= 0) result = set(at.huge, at.advise);
  if (result >= 0)
    result = libc.systemCall(SYSTEM_CALL.fsconfig, context, FSCONFIG_CMD_CREATE, 0, 0, 0, 0);
  const attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
  if (result >= 0)
    result = libc.systemCall(SYSTEM_CALL.fsmount, context, FSMOUNT_CLOEXEC, attributes, 0, 0, 0);
  closeDescriptor(context);
  return result;
}

/** Whether this process gets memory in whole blocks, found out by taking one. */
export function offersFolios(): boolean {
  const fd = createBlockFile('onemem-probe', FOLIO_BYTES);
  try {
    const address = mmap(FOLIO_BYTES, {
      protection: PROT_READ | PROT_WRITE,
      flags: MAP_SHARED | MAP_NORESERVE,
      fd,
    });
    const result = takeFolio(fd, 0, address);
    munmap(address, FOLIO_BYTES);
    return result;
  } finally {
    closeDescriptor(fd);
  }
}

/**
 * Takes memory in one piece for a block of a file that has none there. It is zero.
 * @param mapping where the block of the file at `offset` is mapped, and not registered for faults
 * @returns false: the kernel gave no such piece, and the block has no memory
 */
export function takeFolio(fd: number, offset: number, mapping: number): boolean {
  if (mapping % FOLIO_BYTES !== 0 || nextData(fd, offset) < offset + FOLIO_BYTES) return false;
  // For this touch only: a mapping that is advised for good would take whole blocks for single
  // pages, too.
  if (tryMadvise(mapping, FOLIO_BYTES, MADV_HUGEPAGE) !== 0) return false;
  fillMemory(mapping, 0, 1);
  tryMadvise(mapping, FOLIO_BYTES, MADV_NOHUGEPAGE);
  if (nextHole(fd, offset) >= offset + FOLIO_BYTES) return true;
  punchHole(fd, offset, FOLIO_BYTES);
  return false;
}
