/**
 * A page replacement algorithm as papers describe it, over blocks of one size, and how it becomes
 * an eviction policy.
 *
 * Papers see every access, and replace on a miss of a known block. The manager sees fewer accesses
 * (a fault, a launch argument, a sample), many for one walk through a block, and it makes room
 * before it says for which block. The adapter below closes that gap once for all algorithms.
 */
import { type EvictionPolicy, PAGES_PER_BLOCK } from '../../core/basics/types.js';
import { BlockTable } from './block-table.js';
import { keepFree } from './keep-free.js';

/** A page replacement algorithm as papers describe it, over blocks of 2 MiB. */
export interface Replacement {
  /** The memory has room for `blocks`, at least 1; called whenever that changes. */
  resize(blocks: number): void;
  /** Whether the block is here. */
  has(block: number): boolean;
  /**
   * A missing block was brought; there is room.
   * @param isWhole more than half of it has come: its processor needs no other touch to get the rest
   */
  arrive(block: number, isWhole: boolean): void;
  /**
   * A present block was used.
   * @param isFirst for the first time since it arrived: it may have been brought ahead for this use
   */
  touch(block: number, isFirst: boolean): void;
  /** The next block to leave among those that `may` allows, or -1. It stays until `leave`. */
  victim(may: (block: number) => boolean): number;
  /** A block has left: evicted, freed or moved. */
  leave(block: number): void;
}

/**
 * An eviction policy by a replacement algorithm.
 * @example
 * import { evictionBy } from 'onemem/policy';
 *
 * const blocks = new Set(); // the oldest first
 * const policy = evictionBy({
 *   resize: () => {},
 *   has: (block) => blocks.has(block),
 *   arrive: (block) => void blocks.add(block),
 *   touch: () => {},
 *   victim: (may) => [...blocks].find(may) ?? -1,
 *   leave: (block) => void blocks.delete(block),
 * });
 * policy.activate(7, 512);
 * console.log(policy.evict(() => true)); // 7
 */
export function evictionBy(replacement: Replacement): EvictionPolicy {
  /** Blocks that came and were not used yet. */
  const fresh = new BlockTable();
  let last = -1;
  let count = 0;
  let capacity = 0;
  /** How often room was needed since the capacity was learned; 0: never yet. */
  let looks = 0;
  let lowest = Number.POSITIVE_INFINITY;

  function learn(blocks: number): void {
    lowest = Number.POSITIVE_INFINITY;
    looks = 1;
    if (blocks === capacity) return;
    capacity = blocks;
    replacement.resize(Math.max(1, blocks));
  }

  /**
   * The capacity is the least that was here when room was needed, since blocks come in parts, and
   * some are sent home ahead of need. What follows must not swing with it.
   */
  function look(): void {
    if (looks === 0 || count < capacity / 2) learn(count);
    else if (looks++ > capacity) learn(Math.min(lowest, count));
    else lowest = Math.min(lowest, count);
  }

  return {
    activate(block, pages) {
      if (replacement.has(block)) return;
      count++;
      if (looks === 0 && count > capacity) replacement.resize((capacity = count));
      last = block;
      fresh.set(block, 1);
      replacement.arrive(block, pages > PAGES_PER_BLOCK / 2);
    },
    used(block) {
      // A walk through a block faults many times: together they are one use of it.
      if (!replacement.has(block)) return;
      const isFirst = fresh.get(block) === 1;
      fresh.set(block, 0);
      if (block === last) return;
      last = block;
      replacement.touch(block, isFirst);
    },
    deactivate(block) {
      if (!replacement.has(block)) return;
      count--;
      replacement.leave(block);
    },
    evict(evictable) {
      look();
      return replacement.victim(evictable);
    },
    keepFree,
  };
}
