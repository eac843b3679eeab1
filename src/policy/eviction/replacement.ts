/**
 * A page replacement algorithm as papers describe it, over blocks of one size, and how it becomes an
 * eviction policy.
 *
 * Papers see every access, and replace on a miss of a known block. The manager sees fewer accesses
 * (a fault, a launch argument, a sample), several in a row for one block, and it makes room before it
 * says for which block. The adapter below closes that gap once for all algorithms.
 */
import type { EvictionPolicy } from '../../core/types.js';
import { aheadOf } from './ahead.js';

export interface Replacement {
  /** The memory has room for `blocks`. It is told whenever that changes, at least 1. */
  resize(blocks: number): void;
  has(block: number): boolean;
  /** A missing block was brought. There is room: a victim has left if one had to. */
  arrive(block: number): void;
  /** A block that is here was used again. */
  touch(block: number): void;
  /** The next block to go among those that `may` allows, or -1. It stays until `leave`. */
  victim(may: (block: number) => boolean): number;
  /** A block that is here has gone: it was evicted, freed, or moved elsewhere. */
  leave(block: number): void;
}

/** The eviction policy that a replacement algorithm makes. */
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
