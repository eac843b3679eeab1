/**
 * Least recently used blocks first. "Used" is what the manager can observe (a fault, a launch argument, a sample), so a block
 * that is read without faulting ages all the same: this is LRU over misses, as every driver without access bits has it.
 */
import { IntrusiveList } from '../../core/intrusive-list.js';
import type { EvictionPolicy } from '../../core/types.js';
import { aheadOf } from './ahead.js';

export function lru(): EvictionPolicy {
  const list = new IntrusiveList();
  return {
    activate: (block) => {
      if (!list.has(block)) list.append(block);
    },
    used: (block) => {
      if (list.has(block)) list.append(block);
    },
    deactivate: (block) => list.remove(block),
    evict: (evictable) => list.find(evictable),
    ahead: aheadOf,
  };
}
