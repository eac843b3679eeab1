/**
 * Checksums of the pages of a file, a word each, that the file itself has. The word of a page that
 * was never written is 0, as in a hole.
 */
import { NativeBuffer } from '../base/native-buffer.js';
import { pageSums, SUM_BYTES, SUMMED_PAGES } from '../memory/checksum.js';
import { preadToAddress } from './file-io.js';

const PAGE_BYTES = 4096;
/** Stands for a sum that is 0. */
const ZERO_SUM = 1;

const zeros = new NativeBuffer(PAGE_BYTES);
let pages: NativeBuffer | null = null;
let noted: NativeBuffer | null = null;

/** @param page the number of the first page in the file */
function sumsOfPages(address: number, count: number, page: number): Uint32Array {
  return pageSums(address, count, page).slice(0, count).map(notZero);
}

function notZero(sum: number): number {
  return sum === 0 ? ZERO_SUM : sum;
}

/** The checksums of pages of a file, as it is now. */
export function sumsOfFile(fd: number, page: number, count: number): Uint32Array {
  pages ??= new NativeBuffer(SUMMED_PAGES * PAGE_BYTES);
  const sums = new Uint32Array(count);
  for (let done = 0; done < count; done += SUMMED_PAGES) {
    const now = Math.min(SUMMED_PAGES, count - done);
    const bytes = now * PAGE_BYTES;
    const read = preadToAddress(fd, pages.address, bytes, (page + done) * PAGE_BYTES);
    pages.bytes.fill(0, read, bytes);
    sums.set(sumsOfPages(pages.address, now, page + done), done);
  }
  return sums;
}

/**
 * The first of these pages in memory that is not as the file's checksums say; -1: none.
 * @param page the number of the first page in the file
 * @param sumsAt the byte of the file with that page's checksum
 */
export function firstDamaged(
  fd: number,
  address: number,
  count: number,
  page: number,
  sumsAt: number,
): number {
  noted ??= new NativeBuffer(SUMMED_PAGES * SUM_BYTES);
  for (let done = 0; done < count; done += SUMMED_PAGES) {
    const now = Math.min(SUMMED_PAGES, count - done);
    const bytes = now * SUM_BYTES;
    // A file that was cut has no sums any more, and its pages are not as they were.
    if (preadToAddress(fd, noted.address, bytes, sumsAt + done * SUM_BYTES) < bytes) return done;
    const sums = pageSums(address + done * PAGE_BYTES, now, page + done);
    for (let each = 0; each < now; each++) {
      const word = noted.view.getUint32(each * SUM_BYTES, true);
      if (word === notZero(sums[each])) continue;
      if (word !== 0 || !isZero(sums[each], page + done + each)) return done + each;
      // The sums are those of the page of zeros now.
      pageSums(address + done * PAGE_BYTES, now, page + done);
    }
  }
  return -1;
}

function isZero(sum: number, page: number): boolean {
  return pageSums(zeros.address, 1, page)[0] === sum;
}
