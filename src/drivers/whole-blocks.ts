/**
 * Blocks of a memory file that have got their memory in one piece. Their pages are written and
 * mapped like any others, and each of them can be given back alone: the kernel then takes the piece
 * apart. It cannot while something outside holds the piece, such as a transfer of the kernel's from
 * or to a neighbour: then the page is emptied, but stays, and is given back later.
 */
import { PAGE_BYTES, PAGES_PER_BLOCK } from '../core/basics/types.js';
import { takeFolio } from '../linux/files/block-file.js';
import { nextData, punchHole } from '../linux/memory/memory.js';

/** Blocks left out after one without a piece; twice as many after the next. */
const FIRST_PAUSE = 16;
const LONGEST_PAUSE = 4096;

export class WholeBlocks {
  /** By their first pages; false: some of its pages have been given back. */
  private readonly blocks = new Map<number, boolean>();
  /** Pages that were given back and stayed. */
  private readonly stayed = new Set<number>();
  private pause = FIRST_PAUSE;
  private skip = 0;

  /** @param alias where the manager has the file mapped, not registered for faults */
  constructor(
    private readonly fd: number,
    private readonly alias: number,
  ) {}

  /** Whether the page has the memory that its block took in one piece. */
  has(page: number): boolean {
    return this.blocks.size > 0 && this.blocks.get(firstOf(page)) === true;
  }

  /** The block that begins at `page`, and has no memory, takes all of it now. */
  take(page: number): void {
    if (this.skip > 0) {
      this.skip--;
      return;
    }
    if (takeFolio(this.fd, page * PAGE_BYTES, this.alias + page * PAGE_BYTES)) {
      this.blocks.set(page, true);
      this.pause = FIRST_PAUSE;
      return;
    }
    this.skip = this.pause;
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE);
  }

  /** These pages get memory again: what stayed of them is in use. */
  taken(page: number, count: number): void {
    if (this.stayed.size === 0) return;
    for (let each = page; each < page + count; each++) this.stayed.delete(each);
  }

  /** These pages have been given back. */
  released(page: number, count: number): void {
    if (this.stayed.size > 0) this.giveRest();
    const first = firstOf(page);
    if (!this.blocks.has(first)) return;
    if (count === PAGES_PER_BLOCK) {
      this.blocks.delete(first);
      return;
    }
    this.blocks.set(first, false);
    this.noteStayed(page, count);
  }

  private noteStayed(page: number, count: number): void {
    for (let each = page; each < page + count; each++)
      if (this.isPresent(each)) this.stayed.add(each);
  }

  private giveRest(): void {
    for (const page of this.stayed) {
      punchHole(this.fd, page * PAGE_BYTES, PAGE_BYTES);
      if (!this.isPresent(page)) this.stayed.delete(page);
    }
  }

  private isPresent(page: number): boolean {
    return nextData(this.fd, page * PAGE_BYTES) === page * PAGE_BYTES;
  }
}

function firstOf(page: number): number {
  return page - (page % PAGES_PER_BLOCK);
}
