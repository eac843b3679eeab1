/** The frame of each page, and its rights: the page table of a device without hardware. */
import { Access } from '../../core/basics/types.js';

const PAGES_PER_TABLE = 512;

/** An entry is the frame times four plus the access, in 32 bits. */
const MOST_FRAMES = 2 ** 30;

/**
 * The page table of a device without one in hardware. Pages and frames are numbers of 4 KiB. A page
 * that is not mapped has `Access.None`.
 * @example
 * import { Access, PageTable } from 'onemem/driver';
 *
 * const table = new PageTable();
 * table.map(100, 2, 7, Access.Write); // pages 100 and 101 are in frames 7 and 8
 * table.restrict(100, 1, Access.Read);
 * console.log(table.access(100) === Access.Read, table.frame(101)); // true 8
 */
export class PageTable {
  private readonly tables = new Map<number, Int32Array>();

  /**
   * Maps `count` pages to frames from `frame` on; `Access.None` unmaps. Throws INVALID_FRAME for a
   * frame from 2^30 on (4 TiB).
   * @example
   * import { Access, PageTable } from 'onemem/driver';
   *
   * const table = new PageTable();
   * table.map(5, 1, 3, Access.Read);
   * console.log(table.frame(5)); // 3
   */
  map(page: number, count: number, frame: number, access: Access): void {
    if (frame + count > MOST_FRAMES) {
      const message = `frame ${frame + count - 1}: a page table has frames below ${MOST_FRAMES}; give the device less memory`;
      throw Object.assign(new RangeError(message), { code: 'INVALID_FRAME' });
    }
    for (let at = 0; at < count; at++)
      this.set(page + at, access === Access.None ? 0 : (frame + at) * 4 + access);
  }

  /**
   * Lowers the access of pages to at most `to`; `Access.None` unmaps.
   * @example
   * import { Access, PageTable } from 'onemem/driver';
   *
   * const table = new PageTable();
   * table.map(5, 1, 3, Access.Write);
   * table.restrict(5, 1, Access.None);
   * console.log(table.access(5) === Access.None); // true
   */
  restrict(page: number, count: number, to: Access): void {
    for (let at = page; at < page + count; at++) {
      if (this.access(at) > to) this.set(at, to === Access.None ? 0 : this.frame(at) * 4 + to);
    }
  }

  /**
   * The right of the device to a page.
   * @example
   * import { Access, PageTable } from 'onemem/driver';
   *
   * console.log(new PageTable().access(9) === Access.None); // true
   */
  access(page: number): Access {
    return (this.entry(page) & 3) as Access;
  }

  /**
   * The frame of a mapped page; 0 for others, so ask for its access first.
   * @example
   * import { PageTable } from 'onemem/driver';
   *
   * console.log(new PageTable().frame(9)); // 0
   */
  frame(page: number): number {
    return this.entry(page) >>> 2;
  }

  private entry(page: number): number {
    return this.tables.get(Math.floor(page / PAGES_PER_TABLE))?.[page % PAGES_PER_TABLE] ?? 0;
  }

  private set(page: number, entry: number): void {
    const index = Math.floor(page / PAGES_PER_TABLE);
    let table = this.tables.get(index);
    if (table === undefined) {
      if (entry === 0) return;
      table = new Int32Array(PAGES_PER_TABLE);
      this.tables.set(index, table);
    }
    table[page % PAGES_PER_TABLE] = entry;
  }
}
