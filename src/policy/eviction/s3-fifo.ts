/**
 * S3-FIFO: a small queue filters blocks that are used once, a main queue keeps the others, and a
 * ghost queue brings back to the main one what left the small one too early (Yang et al., "FIFO
 * Queues are All You Need for Cache Eviction", SOSP 2023).
 */
import { IntrusiveList } from '../../core/basics/intrusive-list.js';
import type { EvictionPolicy } from '../../core/basics/types.js';
import { BlockTable } from './block-table.js';
import { GhostList } from './ghost-list.js';
import { evictionBy, type Replacement } from './replacement.js';

/** The small queue has a tenth of the room. */
const SMALL_SHARE = 10;
/** Uses are counted up to this. */
const MOST_USES = 3;

/** S3-FIFO (Yang and others, SOSP 2023). */
export function s3Fifo(): EvictionPolicy {
  return evictionBy(s3FifoReplacement());
}

function s3FifoReplacement(): Replacement {
  const small = new IntrusiveList();
  const main = new IntrusiveList();
  const ghosts = new GhostList();
  const uses = new BlockTable();
  let smallRoom = 1;

  function fromMain(may: (block: number) => boolean): number {
    for (let looks = main.size * (MOST_USES + 1); looks > 0; looks--) {
      const block = main.head;
      if (uses.get(block) === 0 && may(block)) return block;
      uses.set(block, Math.max(0, uses.get(block) - 1));
      main.append(block);
    }
    return -1;
  }

  function fromSmall(may: (block: number) => boolean): number {
    for (let looks = small.size; looks > 0; looks--) {
      const block = small.head;
      if (uses.get(block) > 1) {
        small.remove(block);
        uses.set(block, 0);
        main.append(block);
      } else if (may(block)) return block;
      else small.append(block);
    }
    return -1;
  }

  return {
    resize(blocks) {
      smallRoom = Math.max(1, Math.floor(blocks / SMALL_SHARE));
      ghosts.limit = Math.max(1, blocks - smallRoom);
      ghosts.trim();
    },
    has: (block) => small.has(block) || main.has(block),
    arrive(block) {
      uses.set(block, 0);
      if (ghosts.has(block)) {
        ghosts.remove(block);
        main.append(block);
      } else small.append(block);
    },
    touch: (block) => uses.set(block, Math.min(MOST_USES, uses.get(block) + 1)),
    victim(may) {
      if (small.size >= smallRoom || main.size === 0) {
        const block = fromSmall(may);
        if (block !== -1) return block;
      }
      const block = fromMain(may);
      return block === -1 ? fromSmall(may) : block;
    },
    leave(block) {
      if (small.has(block)) {
        small.remove(block);
        ghosts.add(block);
      } else main.remove(block);
    },
  };
}
