/**
 * NVIDIA's UVM driver (595.45), as a baseline: what publications compare with. Eviction: blocks of
 * 2 MiB go in the order in which they last got memory, whether they are used or not; nothing leaves
 * ahead of need. Prefetch: the density tree with a threshold of 51 %, also while the memory is full.
 *
 * Placement: a block that thrashes, which means that it goes to and fro between processors, is pinned
 * in host memory for a while, and the devices that can map it remotely. That begins at a device's
 * next launch, because mappings do not change while a kernel runs. Events are counted in place of the
 * driver's times.
 *
 * Three parts of the driver are not in it. Throttling has a thread wait for a lapse of time in its
 * fault; the core has no clock, and no fault here waits for what need not come. Batches of faults
 * exist for GPUs with thousands of threads: a device here has a thread a unit. A block is not
 * brought whole on its first touch where it is preferred.
 */
import { IntrusiveList } from '../core/basics/intrusive-list.js';
import { addRun, and, andNot, clear, sizeOfRun } from '../core/basics/mask.js';
import {
  type EvictionPolicy,
  PAGES_PER_BLOCK,
  PAGES_PER_GROUP,
  type PlacementPolicy,
  type PrefetchPolicy,
  TURN_LAPSE,
} from '../core/basics/types.js';

const THRESHOLD_PERCENT = 51;
const FIRST_BLOCKS = 64;
/** Turns from which on a block thrashes. */
const THRASHING = 3;
/** How long it is pinned then: the driver's 150 ms are 300 of its lapses. */
const PINNED = 300 * TURN_LAPSE;

/**
 * Blocks in the order in which they last got memory, as NVIDIA's UVM driver evicts them.
 * @example
 * import { uvmEviction } from 'onemem/policy';
 *
 * const policy = uvmEviction();
 * policy.activate(1, 16);
 * policy.activate(2, 16);
 * policy.used(1); // a use changes nothing
 * console.log(policy.evict(() => true)); // 1
 * policy.activate(1, 32); // more memory does
 * console.log(policy.evict(() => true)); // 2
 */
export function uvmEviction(): EvictionPolicy {
  const list = new IntrusiveList();
  /** By block. */
  let pagesOf = new Int32Array(FIRST_BLOCKS);
  return {
    activate(block, pages) {
      if (block >= pagesOf.length) {
        const larger = new Int32Array(Math.max(block + 1, pagesOf.length * 2));
        larger.set(pagesOf);
        pagesOf = larger;
      }
      if (!list.has(block) || pages > pagesOf[block]) list.append(block);
      pagesOf[block] = pages;
    },
    used: () => undefined,
    deactivate: (block) => list.remove(block),
    evict: (evictable) => list.find(evictable),
  };
}

/**
 * The density tree of NVIDIA's UVM driver, at any time: a fault brings its 64 KiB, and the largest
 * part of its block of which more than 51 % is there then.
 * @example
 * import { openSpace } from 'onemem';
 *
 * const space = await openSpace({ policies: 'uvm' }); // this, its eviction and its placement
 * console.log(space.isClosed); // false
 * await space.close();
 */
export function uvmPrefetch(): PrefetchPolicy {
  return ({ page, occupied, allowed, result }) => {
    const group = page & ~(PAGES_PER_GROUP - 1);
    const comes = PAGES_PER_GROUP - sizeOfRun(occupied, group, PAGES_PER_GROUP);
    let first = group;
    let count: number = PAGES_PER_GROUP;
    for (let width = PAGES_PER_GROUP * 2; width <= PAGES_PER_BLOCK; width *= 2) {
      const start = page & ~(width - 1);
      const there = sizeOfRun(occupied, start, width) + comes;
      if (there * 100 <= width * THRESHOLD_PERCENT) continue;
      first = start;
      count = width;
    }
    clear(result);
    addRun(result, first, count);
    and(result, allowed);
    andNot(result, occupied);
  };
}

/**
 * Where the program advised so, and while a block is pinned that thrashed, it is used in host memory.
 * @example
 * import { uvmPlacement } from 'onemem/policy';
 *
 * const block = { processor: 1, advised: false, remote: false, sinceTurn: 10 };
 * console.log(uvmPlacement({ ...block, turns: 2 })); // own
 * console.log(uvmPlacement({ ...block, turns: 3 })); // remote
 */
export const uvmPlacement: PlacementPolicy = ({ advised, turns, sinceTurn }) =>
  advised || (turns >= THRASHING && sinceTurn <= PINNED) ? 'remote' : 'own';
