/**
 * SIEVE: new blocks join at one end and stay in place; a hand moves from the other end, spares
 * blocks that were used, and takes the first that was not (Zhang et al., "SIEVE is Simpler than
 * LRU", NSDI 2024).
 */
import { IntrusiveList } from '../../core/basics/intrusive-list.js';
import type { EvictionPolicy } from '../../core/basics/types.js';
import { BlockTable } from './block-table.js';
import { evictionBy, type Replacement } from './replacement.js';

/** SIEVE (Zhang and others, NSDI 2024). */
export function sieve(): EvictionPolicy {
  return evictionBy(sieveReplacement());
}

function sieveReplacement(): Replacement {
  const list = new IntrusiveList();
  const used = new BlockTable();
  let hand = -1;
  return {
    resize: () => undefined,
    has: (block) => list.has(block),
    arrive(block) {
      used.set(block, 0);
      list.append(block);
    },
    touch: (block) => used.set(block, 1),
    victim(may) {
      if (list.size === 0) return -1;
      for (let looks = list.size * 2; looks > 0; looks--) {
        if (hand === -1) hand = list.head;
        if (used.get(hand) === 0 && may(hand)) return hand;
        used.set(hand, 0);
        hand = list.after(hand);
      }
      return -1;
    },
    leave(block) {
      if (block === hand) hand = list.after(block);
      list.remove(block);
    },
  };
}
