/**
 * NVIDIA's UVM driver (595.45), as a baseline: what publications compare with. Eviction: blocks of
 * 2 MiB go in the order in which they last got memory, whether they are used or not; nothing leaves
 * ahead of need. Prefetch: the density tree with a threshold of 51 %, also while the memory is full.
 *
 * Three parts of the driver are not in it. Throttling and pinning of pages that go back and forth
 * need a clock and mappings that onemem makes where the program advised them. Batches of faults
 * exist for GPUs with thousands of threads: a device here has a thread a unit. A block is not
 * brought whole on its first touch where it is preferred.
 */
import { IntrusiveList } from '../core/basics/intrusive-list.js';
import { addRun, and, andNot, clear, sizeOfRun } from '../core/basics/mask.js';
import {
  type EvictionPolicy,
  PAGES_PER_BLOCK,
  PAGES_PER_GROUP,
  type PrefetchPolicy,
} from '../core/basics/types.js';

const THRESHOLD_PERCENT = 51;
const FIRST_BLOCKS = 64;

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
 * const space = await openSpace({ policies: 'uvm' }); // this, uvmEviction, and no read-ahead
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
