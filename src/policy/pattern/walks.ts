/**
 * The ways that a processor goes through a range, the last of them first. A touch that comes where
 * another one's pages end goes on with its walk, in whatever block it lies. Places are pages of the
 * range.
 */
import { PAGES_PER_BLOCK, PAGES_PER_GROUP } from '../../core/basics/types.js';

/** Threads of a processor go through a range in as many places. */
const MOST = 16;

export interface Walk {
  /** Its first touch, and its last one. */
  begin: number;
  at: number;
  /** The page behind those that the last touch brought: where the next fault is, if it walks. */
  next: number;
  /** Touches in a row that each came right behind what the one before had brought. */
  length: number;
  /** Blocks that were brought ahead since it began where content does; -1: it did not. */
  asked: number;
  /** Blocks that the memory had given up when it was touched last. */
  evictions: number;
}

export const blockOf = (page: number): number => Math.floor(page / PAGES_PER_BLOCK);
const groupOf = (page: number): number => Math.floor(page / PAGES_PER_GROUP);

/** Blocks that the walk came into, beside its first. */
export function blocksOf({ begin, at }: Walk): number {
  return blockOf(at) - blockOf(begin);
}

export class Walks {
  private readonly all: Walk[] = [];

  /** The walk of the last touch. */
  get last(): Walk | undefined {
    return this.all[0];
  }

  /** The walk that this touch goes on with; `again`: or is the last one of already. */
  goingOn(page: number, together: boolean, again: boolean): Walk | null {
    const group = page - (page % PAGES_PER_GROUP);
    const { all } = this;
    for (let index = 0; index < all.length; index++) {
      const walk = all[index];
      const same = again && walk.at === page;
      if (!same && walk.next !== page && !(together && walk.next === group)) continue;
      return this.toFront(index);
    }
    return null;
  }

  /** The walk that began where this touch is. */
  beganAt(page: number): Walk | null {
    for (let index = 0; index < this.all.length; index++)
      if (groupOf(this.all[index].begin) === groupOf(page)) return this.toFront(index);
    return null;
  }

  /** A touch that goes on with nothing: it takes the place of the oldest walk. */
  begin(page: number): Walk {
    const { all } = this;
    if (all.length < MOST)
      all.push({ begin: page, at: page, next: page, length: 0, asked: -1, evictions: 0 });
    const walk = this.toFront(all.length - 1);
    walk.begin = page;
    walk.asked = -1;
    return walk;
  }

  private toFront(index: number): Walk {
    const { all } = this;
    const walk = all[index];
    for (let each = index; each > 0; each--) all[each] = all[each - 1];
    all[0] = walk;
    return walk;
  }
}
