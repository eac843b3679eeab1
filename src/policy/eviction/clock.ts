/**
 * CLOCK, the second chance: the oldest block goes, unless it was used since the hand last passed it
 * (Corbató, "A Paging Experiment with the Multics System", 1968).
 */
import { IntrusiveList } from '../../core/basics/intrusive-list.js';
import type { EvictionPolicy } from '../../core/basics/types.js';
import { BlockTable } from './block-table.js';
import { evictionBy, type Replacement } from './replacement.js';

/** CLOCK (Corbató, 1968). */
export function clock(): EvictionPolicy {
  return evictionBy(clockReplacement());
}

function clockReplacement(): Replacement {
  const list = new IntrusiveList();
  const used = new BlockTable();
  return {
    resize: () => undefined,
    has: (block) => list.has(block),
    arrive(block) {
      used.set(block, 0);
      list.append(block);
    },
    touch: (block) => used.set(block, 1),
    victim(may) {
      // Every block loses its second chance in one round, so that the second finds one.
      for (let looks = list.size * 2; looks > 0; looks--) {
        const block = list.head;
        if (used.get(block) === 0 && may(block)) return block;
        used.set(block, 0);
        list.append(block);
      }
      return -1;
    },
    leave: (block) => list.remove(block),
  };
}
