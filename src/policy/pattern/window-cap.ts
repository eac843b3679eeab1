/**
 * How much may come with a touch where a processor goes through more arrays at once than its memory
 * has room for blocks. By whole blocks each fault would push out a block in which it still is, and
 * 2 MiB would move for every few elements. How many walks there are no processor says. A launch says
 * what it uses. Where none runs, as on the host, it is told by what comes back too soon.
 */
import { isEmpty } from '../../core/basics/mask.js';
import { PAGES_PER_BLOCK, PAGES_PER_GROUP, type Touch } from '../../core/basics/types.js';
import { blockOf, type Walk } from './walks.js';

/** So many early returns, less the others, halve the share; so many others double it. */
const TOO_SOON = 8;
const IN_TIME = 64;

/**
 * Pages, a power of two: a block where each walk may have one, otherwise its share of the memory.
 * @param uses the pages [first, end) of each argument of the launches that run
 * @param units threads that may be in different parts of an argument
 */
export function pagesPerWalk(uses: Touch['uses'], units: number, budgetPages: number): number {
  let walks = 0;
  let pages = 0;
  for (const { first, end } of uses) {
    walks += Math.min(units, Math.ceil((end - first) / PAGES_PER_BLOCK));
    pages += Math.min(units * PAGES_PER_BLOCK, end - first);
  }
  let share: number = PAGES_PER_BLOCK;
  if (pages <= budgetPages) return share;
  while (share > PAGES_PER_GROUP && share * walks > budgetPages) share >>= 1;
  return share;
}

export class WindowCap {
  private found: number = PAGES_PER_BLOCK;
  /** Blocks that came back too soon, less those that did not, since it was changed. */
  private tooSoon = 0;

  /** Pages that may come with this touch. @param last of the range's walks, touched last */
  of(touch: Touch, page: number, last: Walk | undefined): number {
    const { uses, units, budgetPages } = touch;
    if (uses.length > 0) return pagesPerWalk(uses, units, budgetPages);
    // Only where it has nothing of the block does a touch tell anything, and only once.
    if (touch.pressed && !touch.again && isEmpty(touch.mapped))
      this.note(isTooSoon(touch, page, last));
    return this.found;
  }

  private note(tooSoon: boolean): void {
    this.tooSoon += tooSoon ? 1 : -1;
    if (this.tooSoon >= TOO_SOON) this.found = Math.max(PAGES_PER_GROUP, this.found >> 1);
    else if (this.tooSoon <= -IN_TIME) this.found = Math.min(PAGES_PER_BLOCK, this.found << 1);
    else return;
    this.tooSoon = 0;
  }
}

/**
 * Whether the block went while the processor was in it: its last touch of the range was in this
 * block, what came with that has the page, and was given up since. What found no room did not come.
 * A pass that is made again was in other blocks of the range in between, and an array of one block
 * does not tell.
 */
function isTooSoon(touch: Touch, page: number, last: Walk | undefined): boolean {
  if (last === undefined || touch.pages <= PAGES_PER_BLOCK) return false;
  if (blockOf(last.at) !== touch.block || page < last.begin || page >= last.next) return false;
  const goneFor = touch.goneFor(0);
  return goneFor !== -1 && touch.evictions - goneFor > last.evictions;
}
