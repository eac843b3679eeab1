/**
 * Least recently used blocks first (Mattson et al., "Evaluation Techniques for Storage Hierarchies",
 * IBM Systems Journal 1970). "Used" is what the manager can observe (a fault, a launch
 * argument, a sample), so a block that is read without faulting ages all the same: this is LRU over
 * misses, as every driver without access bits has it.
 */
import { IntrusiveList } from '../../core/basics/intrusive-list.js';
import type { EvictionPolicy } from '../../core/basics/types.js';
import { evictionBy, type Replacement } from './replacement.js';

/** Least recently used: by faults, launches and samples. */
export function lru(): EvictionPolicy {
  return evictionBy(lruReplacement());
}

export function lruReplacement(): Replacement {
  const list = new IntrusiveList();
  return {
    resize: () => undefined,
    has: (block) => list.has(block),
    arrive: (block) => list.append(block),
    touch: (block) => list.append(block),
    victim: (may) => list.find(may),
    leave: (block) => list.remove(block),
  };
}
