/**
 * Virtual addresses. Every range starts at a block of its own, so that all attributes of a block are those of one range; the
 * space is so much larger than any memory that the rounding costs nothing but numbers.
 */

import { PAGES_PER_BLOCK } from './types.js';
import { type Block, createBlock } from './va-block.js';

/** What fills pages that no node holds. */
export interface RangeOptions {
  /** Shown in messages. */
  readonly name: string;
  /** False: every write is denied. */
  readonly writable: boolean;
  /** Whether untouched pages come from a provider (a file) instead of being zero. */
  readonly provided: boolean;
}

export interface Range extends RangeOptions {
  readonly id: number;
  /** First page of the space. */
  readonly first: number;
  readonly pages: number;
  /** How many of its pages have been freed. */
  freedPages: number;
}

export class VaSpace {
  readonly blocks = new Map<number, Block>();
  private readonly ranges = new Map<number, Range>();
  /** The range that owns a block, by block number. */
  private readonly owners = new Map<number, Range>();
  /** Ranges whose addresses can be used again, oldest first. */
  private readonly returned: Range[] = [];
  private top = 0;
  private nextId = 1;

  constructor(readonly blockCount: number) {}

  /** Reserves addresses, or returns null when the space has none left. */
  allocate(pages: number, options: RangeOptions): Range | null {
    const blocks = Math.ceil(pages / PAGES_PER_BLOCK);
    let block = this.top;
    if (block + blocks <= this.blockCount) this.top += blocks;
    else {
      // Addresses return in the order in which they were given back, so that a stale view is as old as possible.
      const index = this.returned.findIndex((old) => Math.ceil(old.pages / PAGES_PER_BLOCK) >= blocks);
      if (index === -1) return null;
      const old = this.returned.splice(index, 1)[0];
      block = old.first / PAGES_PER_BLOCK;
      const left = Math.ceil(old.pages / PAGES_PER_BLOCK) - blocks;
      if (left > 0) {
        const first = (block + blocks) * PAGES_PER_BLOCK;
        this.returned.push({ ...old, first, pages: left * PAGES_PER_BLOCK });
      }
    }
    const range: Range = { ...options, id: this.nextId++, first: block * PAGES_PER_BLOCK, pages, freedPages: 0 };
    this.ranges.set(range.id, range);
    for (let each = block; each < block + blocks; each++) this.owners.set(each, range);
    return range;
  }

  /** Makes the addresses of a wholly freed range usable again. Its blocks must hold nothing. */
  recycle(range: Range): void {
    this.ranges.delete(range.id);
    const first = range.first / PAGES_PER_BLOCK;
    for (let each = first; each < first + Math.ceil(range.pages / PAGES_PER_BLOCK); each++) {
      this.owners.delete(each);
      this.blocks.delete(each);
    }
    this.returned.push(range);
  }

  range(id: number): Range | undefined {
    return this.ranges.get(id);
  }

  rangeOfPage(page: number): Range | undefined {
    const range = this.owners.get(Math.floor(page / PAGES_PER_BLOCK));
    return range !== undefined && page < range.first + range.pages ? range : undefined;
  }

  allRanges(): Iterable<Range> {
    return this.ranges.values();
  }

  /** The block's state, made on first use. Undefined where no range lies. */
  block(index: number): Block | undefined {
    const known = this.blocks.get(index);
    if (known !== undefined) return known;
    const range = this.owners.get(index);
    if (range === undefined) return undefined;
    const block = createBlock(index, range);
    this.blocks.set(index, block);
    return block;
  }
}
