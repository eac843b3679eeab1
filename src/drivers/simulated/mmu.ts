/** The page table of the simulated device: two levels, since the space is far larger than what is ever mapped of it. */
import { Access } from '../../core/types.js';

const PAGES_PER_TABLE = 512;

export class Mmu {
  /** An entry is the frame times four plus the access, 0 where nothing is mapped: enough for 2 TiB of frames. */
  private readonly tables = new Map<number, Int32Array>();

  map(page: number, count: number, frame: number, access: Access): void {
    for (let at = 0; at < count; at++) this.set(page + at, access === Access.None ? 0 : (frame + at) * 4 + access);
  }

  /** Takes access away, down to `to`; what is less already stays as it is. */
  restrict(page: number, count: number, to: Access): void {
    for (let at = page; at < page + count; at++) {
      if (this.access(at) > to) this.set(at, to === Access.None ? 0 : this.frame(at) * 4 + to);
    }
  }

  access(page: number): Access {
    return (this.entry(page) & 3) as Access;
  }

  /** Only for pages that are mapped. */
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
