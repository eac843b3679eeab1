/**
 * A page table whose entries are of a device's granules, or of blocks where these are larger: it
 * can map no part of one.
 */
import { type Access, PAGE_BYTES, PAGES_PER_BLOCK } from '../../core/basics/types.js';
import { PageTable } from '../toolkit/page-table.js';

export class GranuleTable extends PageTable {
  private readonly granulePages: number;

  constructor(granuleBytes: number) {
    super();
    this.granulePages = Math.min(granuleBytes / PAGE_BYTES, PAGES_PER_BLOCK);
  }

  override map(page: number, count: number, frame: number, access: Access): void {
    this.check(page, count);
    if (frame % this.granulePages !== 0)
      throw new RangeError(
        `frame ${frame} is not the first of a granule of ${this.granulePages} frames`,
      );
    super.map(page, count, frame, access);
  }

  override restrict(page: number, count: number, to: Access): void {
    this.check(page, count);
    super.restrict(page, count, to);
  }

  private check(page: number, count: number): void {
    if (page % this.granulePages === 0 && count % this.granulePages === 0) return;
    throw new RangeError(
      `pages ${page} to ${page + count - 1} are no whole granules of ${this.granulePages} pages`,
    );
  }
}
