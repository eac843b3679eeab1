/**
 * ARC: one list of blocks used once, one of blocks used more often; ghosts of both say which of
 * them should have had more room (Megiddo and Modha, "ARC: A Self-Tuning, Low Overhead Replacement
 * Cache", FAST 2003).
 */
import { IntrusiveList } from '../../core/basics/intrusive-list.js';
import type { EvictionPolicy } from '../../core/basics/types.js';
import { GhostList } from './ghost-list.js';
import { evictionBy, type Replacement } from './replacement.js';

/** ARC (Megiddo and Modha, FAST 2003). */
export function arc(): EvictionPolicy {
  return evictionBy(arcReplacement());
}

function arcReplacement(): Replacement {
  const once = new IntrusiveList();
  const often = new IntrusiveList();
  const onceGhosts = new GhostList();
  const oftenGhosts = new GhostList();
  let capacity = 1;
  /** The room that blocks used once are meant to have. */
  let target = 0;

  return {
    resize(blocks) {
      capacity = blocks;
      target = Math.min(target, capacity);
      onceGhosts.limit = capacity;
      oftenGhosts.limit = capacity;
      onceGhosts.trim();
      oftenGhosts.trim();
    },
    has: (block) => once.has(block) || often.has(block),
    arrive(block) {
      if (onceGhosts.has(block)) {
        target = Math.min(capacity, target + Math.max(1, oftenGhosts.size / onceGhosts.size));
        onceGhosts.remove(block);
        often.append(block);
      } else if (oftenGhosts.has(block)) {
        target = Math.max(0, target - Math.max(1, onceGhosts.size / oftenGhosts.size));
        oftenGhosts.remove(block);
        often.append(block);
      } else {
        // Ghosts and blocks of the first list together are at most a memory's worth.
        while (onceGhosts.size > 0 && once.size + onceGhosts.size >= capacity)
          onceGhosts.remove(onceGhosts.oldest);
        once.append(block);
      }
    },
    touch(block) {
      once.remove(block);
      often.append(block);
    },
    victim(may) {
      const first = once.size > 0 && once.size > target ? once : often;
      const block = first.find(may);
      return block === -1 ? (first === once ? often : once).find(may) : block;
    },
    leave(block) {
      if (once.has(block)) {
        once.remove(block);
        onceGhosts.add(block);
      } else {
        often.remove(block);
        oftenGhosts.add(block);
      }
    },
  };
}
