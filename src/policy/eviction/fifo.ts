/**
 * First in, first out, however often used (Belady, "A Study of Replacement Algorithms for a
 * Virtual-Storage Computer", IBM Systems Journal 1966).
 */
import { IntrusiveList } from '../../core/basics/intrusive-list.js';
import type { EvictionPolicy } from '../../core/basics/types.js';
import { keepFree } from './keep-free.js';

/** First in, first out. */
export function fifo(): EvictionPolicy {
  const list = new IntrusiveList();
  return {
    activate: (block) => {
      if (!list.has(block)) list.append(block);
    },
    used: () => undefined,
    deactivate: (block) => list.remove(block),
    evict: (evictable) => list.find(evictable),
    keepFree,
  };
}
