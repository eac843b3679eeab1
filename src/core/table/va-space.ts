/**
 * Virtual addresses. Every range starts at a block of its own, so that all attributes of a block
 * are those of one range; the space is so much larger than any memory that the rounding costs
 * nothing but numbers.
 */

import { Intervals } from '../basics/intervals.js';
import { Access, type Advice, NO_ADVICE, PAGES_PER_BLOCK } from '../basics/types.js';
import type { Range, RangeOptions } from './range.js';
import { type Block, createBlock, createBlockAfter, outlivesRange } from './va-block.js';

/** What processors may do to pages of which nothing has been said. */
function firstRight({ writable, shared = false }: RangeOptions): Access {
  if (shared) return Access.None;
  return writable ? Access.Write : Access.Read;
}

export class VaSpace {
  readonly blocks = new Map<number, Block>();
  private readonly ranges = new Map<number, Range>();
  /** The range that owns a block, by block number. */
  private readonly owners = new Map<number, Range>();
  /** Ranges whose addresses can be used again, oldest first. */
  private readonly returned: { first: number; blocks: number }[] = [];
  private top = 0;
  private nextId = 1;

  constructor(readonly blockCount: number) {}

  /** Reserves addresses, or returns null when the space has none left. */
  allocate(pages: number, options: RangeOptions, reserved: number = pages): Range | null {
    const blocks = Math.ceil(reserved / PAGES_PER_BLOCK);
    let block = this.top;
    if (block + blocks <= this.blockCount) this.top += blocks;
    else {
      // Addresses return in the order in which they were given back, so that a stale view is as old
      // as possible.
      const index = this.returned.findIndex((old) => old.blocks >= blocks);
      if (index === -1) return null;
      const old = this.returned.splice(index, 1)[0];
      block = old.first;
      if (old.blocks > blocks)
        this.returned.push({ first: block + blocks, blocks: old.blocks - blocks });
    }
    const {
      name,
      writable,
      provided,
      derived = false,
      takesBack = false,
      shared = false,
      elementBytes = 1,
    } = options;
    // All ranges have the same fields in the same order, so that the compiler knows one kind: every
    // fault reads some of them.
    const range: Range = {
      name,
      writable,
      provided,
      derived,
      takesBack,
      shared,
      elementBytes,
      id: this.nextId++,
      first: block * PAGES_PER_BLOCK,
      pages,
      reserved,
      protection: new Intervals<Access>(firstRight(options)),
      copyOnWrite: new Intervals<boolean>(false),
      sources: new Intervals<Range | null>(null),
      advice: new Intervals<Advice>(NO_ADVICE),
      users: new Intervals<number>(0),
      memories: [],
      guarded: false,
      watchers: 0,
      refuses: false,
      freedPages: 0,
    };
    this.ranges.set(range.id, range);
    for (let each = block; each < block + blocks; each++) {
      this.owners.set(each, range);
      const left = this.blocks.get(each);
      if (left !== undefined) this.blocks.set(each, createBlockAfter(left, range));
    }
    return range;
  }

  /** Makes the addresses of a wholly freed range usable again. Its blocks must hold nothing. */
  recycle(range: Range): void {
    this.ranges.delete(range.id);
    const first = range.first / PAGES_PER_BLOCK;
    const blocks = Math.ceil(range.reserved / PAGES_PER_BLOCK);
    for (let each = first; each < first + blocks; each++) {
      this.owners.delete(each);
      // Which memory a processor finds at these addresses outlives the range.
      const block = this.blocks.get(each);
      if (
        block?.mappings.some((mapping) => mapping !== undefined && outlivesRange(mapping)) === true
      )
        block.gone = true;
      else this.blocks.delete(each);
    }
    this.returned.push({ first, blocks });
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
    if (known !== undefined) return known.gone ? undefined : known;
    const range = this.owners.get(index);
    if (range === undefined) return undefined;
    const block = createBlock(index, range);
    this.blocks.set(index, block);
    return block;
  }
}
