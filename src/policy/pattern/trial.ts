/**
 * Whether a processor that goes through the blocks of a range touches most of their pages. One that
 * goes down the columns of a matrix touches a page here and one there, block after block: the
 * faults of both look alike where blocks come whole, and no hardware says which pages were used. So
 * of the blocks that a full memory had given up before, one comes page by page now and then. Where a
 * page next to one of them is wanted, the rest comes at once, and the next block is tried half as
 * soon. Where others are, and all that are used would have room where the blocks have none, or are
 * so few that they cost less than the block, pages come alone from then on.
 */
import { has, isEmpty } from '../../core/basics/mask.js';
import { PAGES_PER_BLOCK, type Touch } from '../../core/basics/types.js';

/** Blocks that come back until one is tried: at first, and at most. */
const FIRST = 8;
const LAST = 1024;
/** Fewer pages tell nothing: another thread of the processor may have come in between. */
const FEWEST = 4;
/** The part of a memory that the pages of one range may take, in quarters. */
const QUARTERS = 3;

export class Trial {
  /** Blocks that come back from one that is tried to the next. */
  private every = FIRST;
  /** Of those, the ones that are left. */
  private left = FIRST;
  /** The block that is tried; -1: none is. */
  private block = -1;
  /** Pages of it that have come alone, none of them next to another. */
  private pages = 0;
  /** The last block that was tried was, so that pages come alone. */
  sparse = false;

  /**
   * What a touch tells, or is to tell: the page is to come `alone`, since its block is tried; the
   * block that was tried is `dense`, and the rest of it had better come at once; `sparse`: that was
   * found out of the block before.
   */
  look(touch: Touch, walks: boolean): 'alone' | 'dense' | 'sparse' | 'none' {
    const { block, page, mapped } = touch;
    let answer: 'sparse' | 'none' = 'none';
    if (this.block !== -1) {
      if (this.block !== block) answer = this.conclude(touch) ? 'sparse' : 'none';
      else if (hasNeighbour(mapped, page)) {
        this.settle(false);
        return 'dense';
      } else {
        if (!touch.again && !has(mapped, page)) this.pages++;
        return 'alone';
      }
    }
    if (!walks || touch.again || !isEmpty(mapped) || !this.isDue(touch, 0)) return answer;
    this.block = block;
    this.pages = 1;
    return 'alone';
  }

  /** Whether a block that is about to come is to be tried: it is to come with no other one, then. */
  isDue(touch: Touch, step: number): boolean {
    if (!touch.pressed || touch.goneFor(step) === -1) return false;
    if (this.left > 0 && !touch.again) this.left--;
    return this.left === 0;
  }

  /** The processor has gone on into another block. Returns whether it left this one sparse. */
  private conclude({ pages: all, budgetPages }: Touch): boolean {
    const { pages } = this;
    const used = pages * Math.ceil(all / PAGES_PER_BLOCK);
    this.settle(pages >= FEWEST && used * 4 <= budgetPages * QUARTERS);
    return this.sparse;
  }

  private settle(sparse: boolean): void {
    this.sparse = sparse;
    this.every = sparse ? FIRST : Math.min(this.every * 2, LAST);
    this.left = this.every;
    this.block = -1;
  }
}

/** Whether a neighbour has come: two walks may meet in the block. */
function hasNeighbour(mapped: Readonly<Int32Array>, page: number): boolean {
  return (
    (page > 0 && has(mapped, page - 1)) || (page + 1 < PAGES_PER_BLOCK && has(mapped, page + 1))
  );
}
