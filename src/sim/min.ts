/**
 * Belady's MIN: the fewest misses that any policy can have that brings a missing block on demand.
 * The block whose next use is furthest ahead goes (Belady, "A Study of Replacement Algorithms for a
 * Virtual-Storage Computer", 1966). It is exact for blocks of one size and nothing brought ahead.
 */
import type { BlockTrace } from './block-trace.js';

/** The misses of MIN with room for `room` blocks, at least 1. */
export function minMisses({ blocks, distinct }: BlockTrace, room: number): number {
  const next = nextUses(blocks, distinct);
  /** The next use of a block that is here; -1: it is not here. */
  const nextOf = new Int32Array(distinct).fill(-1);
  const heap = new LatestFirst(blocks);
  let misses = 0;
  let here = 0;
  for (let at = 0; at < blocks.length; at++) {
    const block = blocks[at];
    if (nextOf[block] === -1) {
      misses++;
      if (here === room) {
        let victim = heap.take();
        // Entries of blocks that were used meanwhile are out of date.
        while (nextOf[victim.block] !== victim.next) victim = heap.take();
        nextOf[victim.block] = -1;
      } else here++;
    }
    nextOf[block] = next[at];
    heap.put(next[at], block);
  }
  return misses;
}

/** For each access the index of the next one of its block; past the end where there is none. */
function nextUses(blocks: Int32Array, distinct: number): Int32Array {
  const next = new Int32Array(blocks.length);
  const seen = new Int32Array(distinct);
  // Blocks that are never used again differ, so that each entry of the heap is of one block.
  for (let block = 0; block < distinct; block++) seen[block] = blocks.length + block;
  for (let at = blocks.length - 1; at >= 0; at--) {
    next[at] = seen[blocks[at]];
    seen[blocks[at]] = at;
  }
  return next;
}

/** A binary heap of (next use, block), the latest next use first. */
class LatestFirst {
  private readonly times: Int32Array;
  private readonly blocks: Int32Array;
  private size = 0;

  constructor(accesses: Int32Array) {
    this.times = new Int32Array(accesses.length);
    this.blocks = new Int32Array(accesses.length);
  }

  put(next: number, block: number): void {
    let at = this.size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.times[parent] >= next) break;
      this.move(parent, at);
      at = parent;
    }
    this.times[at] = next;
    this.blocks[at] = block;
  }

  take(): { next: number; block: number } {
    const taken = { next: this.times[0], block: this.blocks[0] };
    const size = --this.size;
    const next = this.times[size];
    let at = 0;
    for (let child = 1; child < size; child = at * 2 + 1) {
      if (child + 1 < size && this.times[child + 1] > this.times[child]) child++;
      if (next >= this.times[child]) break;
      this.move(child, at);
      at = child;
    }
    this.times[at] = next;
    this.blocks[at] = this.blocks[size];
    return taken;
  }

  private move(from: number, to: number): void {
    this.times[to] = this.times[from];
    this.blocks[to] = this.blocks[from];
  }
}
