/** What a store's node needs of the threads that wait for disks, or for servers. */

/**
 * A place without a name that pages are put aside in. Every call returns at once; `done` gets the
 * bytes moved, or the negative number of an error, and is never called from within the call.
 */
export interface SpillFile {
  /** Whether another write of so many bytes would begin at once. */
  mayWrite(bytes: number): boolean;
  /** The same of a read; an `urgent` one may stand in line behind one that runs. */
  mayRead(urgent: boolean, bytes: number): boolean;
  /** Writes whole pages from memory, and notes their checksums. */
  write(address: number, length: number, offset: number, done: (result: number) => void): void;
  /**
   * Reads them into memory. Where page n of them is not as it was written `spoiledPage` of the
   * result is n; where it is there no more, `gonePage` is.
   */
  read(address: number, length: number, offset: number, done: (result: number) => void): void;
  /** Gives space back. */
  punch(offset: number, length: number, done: (result: number) => void): void;
}

/** Results down from here name a page that came back wrong, further down one that did not. */
const SPOILED = -(2 ** 20);
const GONE = -(2 ** 21);

export function spoiled(page: number): number {
  return SPOILED - page;
}

export function gone(page: number): number {
  return GONE - page;
}

/** The page that such a result names, or -1. */
export function spoiledPage(result: number): number {
  return result <= SPOILED && result > GONE ? SPOILED - result : -1;
}

export function gonePage(result: number): number {
  return result <= GONE ? GONE - result : -1;
}
