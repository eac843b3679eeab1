/** What lies at the addresses of a space that has been closed, as long as there are views of it. */
import {
  MAP_ANONYMOUS,
  MAP_FIXED,
  MAP_NORESERVE,
  MAP_PRIVATE,
  PROT_READ,
  PROT_WRITE,
  UFFDIO_REGISTER_MODE_MISSING,
  UFFDIO_REGISTER_MODE_WP,
} from '../../linux/base/constants.js';
import { mmap, mprotect } from '../../linux/memory/memory.js';
import type { Userfaultfd } from '../../linux/memory/userfaultfd.js';

/**
 * Lays memory of no file where a space was, whose pages are all missing. Where that cannot be
 * watched it can only be read, and a store ends the process without a word. Returns whether it is
 * watched.
 */
export function watchClosed(base: number, bytes: number, faults: Userfaultfd | null): boolean {
  const flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  mmap(bytes, { address: base, protection: PROT_READ, flags });
  if (faults === null) return false;
  try {
    faults.register(base, bytes, UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP);
    mprotect(base, bytes, PROT_READ | PROT_WRITE);
  } catch {
    // Such memory can be refused where that of files is not.
    mmap(bytes, { address: base, protection: PROT_READ, flags });
    return false;
  }
  // A thread that waited for a page of the space finds that it has gone.
  faults.wake(base, bytes);
  return true;
}
