/**
 * Blocks that an attached process has had mapped for long without a fault in them. Whether it uses
 * them no system call tells. So it takes them out of its page tables, and those that it uses come
 * back by one fault each.
 */
import { PAGES_PER_BLOCK } from '../../core/basics/types.js';

/** Between two looks. A block that is used costs a fault in each. */
export const IDLE_LOOK_MS = 30_000;

/** The most blocks of one look: the notice must fit into a socket at once. */
const MOST_IDLE = 4096;

export class IdleBlocks {
  /** The look before the last mapping of each block that is mapped. */
  private readonly mapped = new Map<number, number>();
  /** Blocks that the process was asked to take out, and in which nothing was mapped since. */
  private readonly asked = new Set<number>();
  private looks = 0;
  private last = Number.NEGATIVE_INFINITY;

  /** Pages are about to be mapped. */
  touch(page: number, count: number): void {
    const end = Math.ceil((page + count) / PAGES_PER_BLOCK);
    for (let block = Math.floor(page / PAGES_PER_BLOCK); block < end; block++) {
      this.mapped.set(block, this.looks);
      if (this.asked.size > 0) this.asked.delete(block);
    }
  }

  /** The time for a look has come. */
  isDue(nowMs: number): boolean {
    if (nowMs - this.last < IDLE_LOOK_MS) return false;
    this.last = nowMs;
    return true;
  }

  /** Blocks in which nothing was mapped since the look before this one. */
  look(): number[] {
    const idle: number[] = [];
    this.looks++;
    for (const [block, looks] of this.mapped) {
      if (looks < this.looks - 1) idle.push(block);
      if (idle.length === MOST_IDLE) break;
    }
    for (const block of idle) {
      this.mapped.delete(block);
      this.asked.add(block);
    }
    return idle;
  }

  /** The process has taken out what it was asked to: the blocks of which nothing is mapped now. */
  takeEmpty(): number[] {
    const empty = [...this.asked];
    this.asked.clear();
    return empty;
  }

  /** What the process was asked for it may not have done. */
  forget(): void {
    this.asked.clear();
  }
}
