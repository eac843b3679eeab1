/**
 * Puts a memory file under anonymous memory that is in use, at the same addresses and with the same
 * content, so that other processes can map it too; and takes it away again. No other thread may
 * write the memory meanwhile.
 */
import {
  MAP_ANONYMOUS,
  MAP_FIXED,
  MAP_PRIVATE,
  MAP_SHARED,
  PROT_READ,
  PROT_WRITE,
} from '../base/constants.js';
import { closeDescriptor } from '../base/libc.js';
import { createMemoryFile, mmap, nextData, nextHole, PAGE_SIZE } from '../memory/memory.js';
import { eachEntry, PRESENT, SWAPPED } from '../memory/pagemap.js';
import { preadToAddress, pwriteFromAddress } from './file-io.js';

/** Both are multiples of the size of a page. Returns the file, which is the caller's to close. */
export function backByFile(name: string, address: number, bytes: number): number {
  const fd = createMemoryFile(name, bytes);
  try {
    // What was never touched stays without memory.
    eachTouched(address, bytes, (offset, length) =>
      pwriteFromAddress(fd, address + offset, length, offset),
    );
    const protection = PROT_READ | PROT_WRITE;
    mmap(bytes, { protection, flags: MAP_SHARED | MAP_FIXED, address, fd });
  } catch (error) {
    closeDescriptor(fd);
    throw error;
  }
  return fd;
}

/** The memory is anonymous again, with the file's content. The file stays open. */
export function unbackFile(fd: number, address: number, bytes: number): void {
  const protection = PROT_READ | PROT_WRITE;
  mmap(bytes, { protection, flags: MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, address });
  for (let at = nextData(fd, 0); at < bytes; ) {
    const end = nextHole(fd, at);
    preadToAddress(fd, address + at, end - at, at);
    at = nextData(fd, end);
  }
}

/** Calls `run` with each run of pages that have content, by byte from the address on. */
function eachTouched(
  address: number,
  bytes: number,
  run: (offset: number, length: number) => void,
): void {
  let page = 0;
  let begin = -1;
  const end = (): void => {
    if (begin !== -1) run(begin * PAGE_SIZE, (page - begin) * PAGE_SIZE);
    begin = -1;
  };
  eachEntry(address, bytes / PAGE_SIZE, (state) => {
    if ((state & (PRESENT | SWAPPED)) === 0) end();
    else if (begin === -1) begin = page;
    page++;
  });
  end();
}
