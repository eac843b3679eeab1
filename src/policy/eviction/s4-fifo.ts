/**
 * S4-FIFO: the queues of S3-FIFO with five parameters (Xia et al., "Learning-Augmented Heuristics:
 * Simple yet Smart, Robust and Interpretable Cache Eviction", OSDI 2026). Uses soon after a block
 * came say nothing of later ones, so that it is on probation first; and a block may have to come
 * back several times before the main queue takes it.
 *
 * In the paper a model chooses the parameters. It was learned from traces of servers' caches, and is
 * not here: `s4Fifo` has fixed values from the paper's ranges, those with the fewest misses on the
 * traces of docs/measurements. A program may state others.
 */
import { IntrusiveList } from '../../core/basics/intrusive-list.js';
import type { EvictionPolicy } from '../../core/basics/types.js';
import { type OptionNames, refuseUnknown } from '../../messages/option-names.js';
import { checkOption } from '../option-range.js';
import { BlockTable } from './block-table.js';
import { GhostList } from './ghost-list.js';
import { evictionBy, type Replacement } from './replacement.js';

/** Options of `s4Fifo`. */
export interface S4FifoOptions {
  /** Part of the room that the small queue has, at most 0.9; 0.05 unless said otherwise. */
  readonly smallShare?: number;
  /** Blocks that the ghost queue remembers, as a multiple of the room, at most 6; 6. */
  readonly ghostShare?: number;
  /** Part of the small queue in which a new block's uses are not counted, at most 0.9; 0.25. */
  readonly skipShare?: number;
  /** Counted uses from which on a block of the small queue goes to the main one, 1 or 2; 1. */
  readonly smallToMain?: number;
  /** Returns from the ghost queue to the small one that precede the main one, 0 or 1; 0. */
  readonly ghostToMain?: number;
}

const OPTIONS: OptionNames<S4FifoOptions> = {
  smallShare: true,
  ghostShare: true,
  skipShare: true,
  smallToMain: true,
  ghostToMain: true,
};

/** Uses are counted up to this. */
const MOST_USES = 3;

/**
 * S4-FIFO (Xia and others, OSDI 2026), with fixed parameters.
 * @example
 * import { s4Fifo } from 'onemem/policy';
 *
 * const policy = s4Fifo({ smallShare: 0.2 });
 * policy.activate(1, 512);
 * policy.activate(2, 512);
 * console.log(policy.evict(() => true)); // 1
 */
export function s4Fifo(options: S4FifoOptions = {}): EvictionPolicy {
  refuseUnknown('OPTIONS', 's4Fifo() has no option', Object.keys(options), Object.keys(OPTIONS));
  const {
    smallShare = 0.05,
    ghostShare = 6,
    skipShare = 0.25,
    smallToMain = 1,
    ghostToMain = 0,
  } = options;
  checkOption('smallShare of s4Fifo()', smallShare, 0, 0.9, false);
  checkOption('ghostShare of s4Fifo()', ghostShare, 0, 6, false);
  checkOption('skipShare of s4Fifo()', skipShare, 0, 0.9, false);
  checkOption('smallToMain of s4Fifo()', smallToMain, 1, 2, true);
  checkOption('ghostToMain of s4Fifo()', ghostToMain, 0, 1, true);
  return evictionBy(fifoQueues({ smallShare, ghostShare, skipShare, smallToMain, ghostToMain }));
}

/** A small queue, a main one and ghosts, by parameters. */
export function fifoQueues({
  smallShare,
  ghostShare,
  skipShare,
  smallToMain,
  ghostToMain,
}: Required<S4FifoOptions>): Replacement {
  const small = new IntrusiveList();
  const main = new IntrusiveList();
  const ghosts = new GhostList();
  const uses = new BlockTable();
  /** By ghost: how often the block came back. */
  const returns = new BlockTable();
  /** By block of the small queue: how many had come to it when it did. */
  const cameAt: number[] = [];
  let smallRoom = 1;
  let skipped = 0;
  let arrivals = 0;

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
      if (uses.get(block) >= smallToMain) {
        small.remove(block);
        ghosts.remove(block);
        uses.set(block, 0);
        main.append(block);
      } else if (may(block)) return block;
      else small.append(block);
    }
    return -1;
  }

  function isGhostOfMain(block: number): boolean {
    if (!ghosts.has(block)) return false;
    if (returns.get(block) >= ghostToMain) return true;
    returns.set(block, returns.get(block) + 1);
    return false;
  }

  return {
    resize(blocks) {
      smallRoom = Math.max(1, Math.floor(blocks * smallShare));
      skipped = skipShare * smallRoom;
      ghosts.limit = Math.max(1, Math.round(blocks * ghostShare));
      ghosts.trim();
    },
    has: (block) => small.has(block) || main.has(block),
    arrive(block) {
      uses.set(block, 0);
      if (isGhostOfMain(block)) {
        ghosts.remove(block);
        main.append(block);
        return;
      }
      small.append(block);
      cameAt[block] = arrivals++;
    },
    touch(block) {
      if (small.has(block) && arrivals - 1 - cameAt[block] < skipped) return;
      uses.set(block, Math.min(MOST_USES, uses.get(block) + 1));
    },
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
        if (!ghosts.has(block)) returns.set(block, 0);
        ghosts.add(block);
      } else main.remove(block);
    },
  };
}
