/**
 * A page replacement algorithm as papers describe it, over blocks of one size, and how it becomes
 * an eviction policy.
 *
 * Papers see every access, and replace on a miss of a known block. The manager sees fewer accesses
 * (a fault, a launch argument, a sample), several in a row for one block, and it makes room before
 * it says for which block. The adapter below closes that gap once for all algorithms.
 */
import type { EvictionPolicy } from '../../core/basics/types.js';
import { aheadOf } from './ahead.js';

/** A page replacement algorithm as papers describe it, over blocks of 2 MiB. */
export interface Replacement {
  /** The memory has room for `blocks`, at least 1; called whenever that changes. */
  resize(blocks: number): void;
  /** Whether the block is here. */
  has(block: number): boolean;
  /** A missing block was brought; there is room. */
  arrive(block: number): void;
  /** A present block was used. */
  touch(block: number): void;
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
  let count = 0;
  let capacity = 0;
  let last = -1;

  /** The capacity is what is here when room is needed, and at least what was ever here since. */
  function learn(blocks: number): void {
    if (blocks === capacity) return;
    capacity = blocks;
    replacement.resize(Math.max(1, blocks));
  }

  return {
    activate(block) {
      if (replacement.has(block)) return;
      count++;
      if (count > capacity) learn(count);
      last = block;
      replacement.arrive(block);
    },
    used(block) {
      // A walk through a block faults many times: together they are one use of it.
      if (block === last) return;
      last = block;
      if (replacement.has(block)) replacement.touch(block);
    },
    deactivate(block) {
      if (!replacement.has(block)) return;
      count--;
      replacement.leave(block);
    },
    evict(evictable) {
      learn(count);
      return replacement.victim(evictable);
    },
    ahead: aheadOf,
  };
}
