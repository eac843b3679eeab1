/**
 * A file that pages are put aside in: it has no name, so that nothing is left of it whatever
 * becomes of the process, and bypasses the kernel's cache where the file system lets it, since what
 * is put aside is not wanted for a while. Each page has a checksum in memory.
 */

import { unlinkSync } from 'node:fs';
import { join } from 'node:path';
import {
  EISDIR,
  ENOENT,
  EOPNOTSUPP,
  O_CLOEXEC,
  O_CREAT,
  O_DIRECT,
  O_EXCL,
  O_RDWR,
  O_TMPFILE,
} from '../base/constants.js';
import { closeDescriptor, errno, libc } from '../base/libc.js';
import { randomName } from '../base/random.js';
import { pageSums, SUM_BYTES, SUMMED_PAGES } from '../memory/checksum.js';
import { offsetInView, viewAt } from '../memory/memory-views.js';

const PAGE = 4096;

/** Makes the file in a folder. Returns its descriptor, or the negative error number. */
export function openSpillFile(folder: string): number {
  for (const direct of [O_DIRECT, 0]) {
    const fd = libc.open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | direct, 0o600);
    if (fd >= 0) return fd;
    const number = errno();
    // Kernels and file systems that know no files without a name take the folder for what is to be
    // opened.
    if (number === EOPNOTSUPP || number === EISDIR || number === ENOENT) {
      const named = openNamed(folder, direct);
      if (named >= 0 || direct === 0) return named;
    } else if (direct === 0) return -number;
  }
  return -1;
}

/** The name is there for as long as two system calls take. */
function openNamed(folder: string, direct: number): number {
  const path = join(folder, `.onemem-${randomName()}`);
  const fd = libc.open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | direct, 0o600);
  if (fd < 0) {
    const number = errno();
    // A file system that knows no direct access may have made the file before it said so.
    removeName(path);
    return -number;
  }
  if (removeName(path)) return fd;
  closeDescriptor(fd);
  return -1;
}

function removeName(path: string): boolean {
  try {
    unlinkSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Notes checksums of pages at `offset`. A page that is another one's differs, too. */
export function noteSums(address: number, length: number, offset: number, sums: number): void {
  firstPage(address, length, offset, sums, (words, at, sum) => {
    words[at] = sum;
    return false;
  });
}

/** The first of these pages that is not as it was noted, or -1. */
export function firstSpoiled(
  address: number,
  length: number,
  offset: number,
  sums: number,
): number {
  return firstPage(address, length, offset, sums, (words, at, sum) => words[at] !== sum);
}

/** The first page for which `is` holds, or -1. `is` gets the checksum's place, and its value. */
function firstPage(
  address: number,
  length: number,
  offset: number,
  sums: number,
  is: (words: Uint32Array, at: number, sum: number) => boolean,
): number {
  for (let page = 0; page < length / PAGE; page += SUMMED_PAGES) {
    const count = Math.min(SUMMED_PAGES, length / PAGE - page);
    const found = pageSums(address + page * PAGE, count, offset / PAGE + page);
    for (let each = 0; each < count; each++) {
      const noted = sums + (page + each) * SUM_BYTES;
      if (is(viewAt(noted).words, offsetInView(noted) / SUM_BYTES, found[each])) return page + each;
    }
  }
  return -1;
}
