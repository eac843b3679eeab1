/** What the page table of this process says of a page. */
import { closeSync, openSync, readSync } from 'node:fs';
import { PAGE_SIZE } from './memory.js';

const ENTRY_BYTES = 8;
const WRITE_PROTECTED = 1 << 25;
const PRESENT = 1 << 31;

/** Whether the page is there, and no store to it is a fault that a userfaultfd hears of. */
export function isWritableHere(address: number): boolean {
  const entry = new DataView(new ArrayBuffer(ENTRY_BYTES));
  try {
    const map = openSync('/proc/self/pagemap', 'r');
    try {
      readSync(map, entry, { position: Math.floor(address / PAGE_SIZE) * ENTRY_BYTES });
    } finally {
      closeSync(map);
    }
  } catch {
    // Without /proc nobody knows.
    return false;
  }
  return (entry.getUint32(4, true) & (PRESENT | WRITE_PROTECTED)) === PRESENT;
}
