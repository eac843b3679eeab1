/** What the page table of this process says of its pages. */
import { closeSync, openSync, readSync } from 'node:fs';
import { PAGE_SIZE } from './memory.js';

const ENTRY_BYTES = 8;
/** So many are read at once. */
const ENTRIES = 2 ** 13;

/** Of the upper half of an entry: the page is there, or is swapped. */
export const PRESENT = 1 << 31;
export const SWAPPED = 1 << 30;
const WRITE_PROTECTED = 1 << 25;

/** Gives the upper halves of the entries of pages, the first one at the address. */
export function eachEntry(address: number, pages: number, look: (state: number) => void): void {
  const map = openSync('/proc/self/pagemap', 'r');
  try {
    const entries = new DataView(new ArrayBuffer(Math.min(pages, ENTRIES) * ENTRY_BYTES));
    const first = Math.floor(address / PAGE_SIZE);
    for (let page = 0; page < pages; page++) {
      const at = page % ENTRIES;
      if (at === 0) readSync(map, entries, { position: (first + page) * ENTRY_BYTES });
      look(entries.getUint32(at * ENTRY_BYTES + 4, true));
    }
  } finally {
    closeSync(map);
  }
}

/** Whether the page is there, and no store to it is a fault that a userfaultfd hears of. */
export function isWritableHere(address: number): boolean {
  let isWritable = false;
  try {
    eachEntry(address, 1, (state) => {
      isWritable = (state & (PRESENT | WRITE_PROTECTED)) === PRESENT;
    });
  } catch {
    // Without /proc it is not known.
  }
  return isWritable;
}
