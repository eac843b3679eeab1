/**
 * A page table whose entries are of a device's units, or of blocks where these are larger: it can map
 * no part of one.
 */
import { type Access, PAGE_BYTES, PAGES_PER_BLOCK } from '../../core/basics/types.js';
import { PageTable } from '../toolkit/page-table.js';

export class UnitTable extends PageTable {
  private readonly unitPages: number;

  constructor(unitBytes: number) {
    super();
    this.unitPages = Math.min(unitBytes / PAGE_BYTES, PAGES_PER_BLOCK);
  }

  override map(page: number, count: number, frame: number, access: Access): void {
    this.check(page, count);
    if (frame % this.unitPages !== 0)
      throw new RangeError(`frame ${frame} is not the first of a unit of ${this.unitPages} frames`);
    super.map(page, count, frame, access);
  }

  override restrict(page: number, count: number, to: Access): void {
    this.check(page, count);
    super.restrict(page, count, to);
  }

  private check(page: number, count: number): void {
    if (page % this.unitPages === 0 && count % this.unitPages === 0) return;
    throw new RangeError(
      `pages ${page} to ${page + count - 1} are no whole units of ${this.unitPages} pages`,
    );
  }
}
