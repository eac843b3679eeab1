/** What a storage node needs of the threads that wait for disks. */

/**
 * A file without a name that pages are put aside in. Every call returns at once; `done` gets the bytes moved, or the negative number of an
 * error, and is never called from within the call.
 */
export interface SpillFile {
  /** Whether another write would begin at once. */
  mayWrite(): boolean;
  /** The same of a read; an `urgent` one may stand in line behind one that runs. */
  mayRead(urgent: boolean): boolean;
  /** Writes whole pages from memory, and notes their checksums. */
  write(address: number, length: number, offset: number, done: (result: number) => void): void;
  /** Reads them into memory. Where page n of them is not as it was written `spoiledPage` of the result is n. */
  read(address: number, length: number, offset: number, done: (result: number) => void): void;
  /** Gives disk space back. */
  punch(offset: number, length: number, done: (result: number) => void): void;
}

/** Results from here down name a page that did not come back as it was written. */
const SPOILED = -(2 ** 20);

export function spoiled(page: number): number {
  return SPOILED - page;
}

/** The page that such a result names, or -1. */
export function spoiledPage(result: number): number {
  return result <= SPOILED ? SPOILED - result : -1;
}
