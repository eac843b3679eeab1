/** Filling pages that have no memory yet, in the manager's thread or another one. */
import { EAGAIN, EINTR } from '../linux/base/constants.js';
import type { Userfaultfd } from '../linux/memory/userfaultfd.js';

/** Tries of a call that failed for a reason that passes. */
export const RETRIES = 1000;

/**
 * Gives pages memory, fills them from `source` (0: with zeros, for writing) and maps them, by one
 * call. Returns 0 or the error number; by then `progress` bytes are mapped, which threads may have
 * written since.
 */
export function insertPages(
  faults: Userfaultfd,
  address: number,
  source: number,
  length: number,
  readOnly: boolean,
): number {
  let result = EAGAIN;
  let done = 0;
  for (let attempt = 0; (result === EAGAIN || result === EINTR) && attempt < RETRIES; attempt++) {
    if (source === 0) result = faults.zeropage(address + done, length - done);
    else result = faults.copy(address + done, source + done, length - done, readOnly);
    done += faults.progress;
  }
  faults.progress = done;
  return result;
}
