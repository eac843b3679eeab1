/**
 * The density prefetcher of NVIDIA's UVM driver: a fault brings its 64 KiB group; walking from
 * there to the root of a binary tree over the block, the largest subtree of which more than
 * `thresholdPercent` would then be there comes whole. When the processor comes in from a
 * neighbouring block that is all there already, the block comes at once: streams need no second
 * fault. Where the node is full, only the group comes: density then says where the processor was,
 * and guesses push out what it needs; and only the page where it comes from host memory and no walk
 * may begin with it, or where what comes by groups keeps leaving and coming back. Faults one after
 * the other are no guess: what they bring grows. What comes from far comes to the end of the block
 * as soon as a processor walks: to wait for another fault's pages there costs more than to bring a
 * block in vain. A write takes the pages away from there, so that it must be a walk for longer. In
 * all cases as much comes as the launch's walks have room for.
 */
import { addRun, clear, sizeOfRun } from '../../core/basics/mask.js';
import { PAGES_PER_BLOCK, PAGES_PER_GROUP, type PrefetchPolicy } from '../../core/basics/types.js';
import { type OptionNames, refuseUnknown } from '../../messages/option-names.js';
import { checkOption } from '../option-range.js';

/** Options of `tree`. */
export interface TreeOptions {
  /**
   * Density above which a subtree is brought whole, in percent, from 0 to 100; 51 as in the driver.
   */
  readonly thresholdPercent?: number;
}

/**
 * So many touches whose pages left and came back: neighbours would leave before they are used, too.
 */
const SCATTERED = 16;

const TREE_OPTIONS: OptionNames<TreeOptions> = { thresholdPercent: true };

/**
 * The density tree of NVIDIA's UVM driver: a fault brings the largest part of its block of which
 * more than `thresholdPercent` (51) is present or coming.
 * @example
 * import { openSpace } from 'onemem';
 *
 * const policies = { prefetch: { name: 'tree', thresholdPercent: 75 } };
 * const space = await openSpace({ policies });
 * console.log(space.isClosed); // false
 * await space.close();
 */
export function tree(options: TreeOptions = {}): PrefetchPolicy {
  refuseUnknown('OPTIONS', 'tree() has no option', Object.keys(options), Object.keys(TREE_OPTIONS));
  const { thresholdPercent = 51 } = options;
  checkOption('thresholdPercent of tree()', thresholdPercent, 0, 100, false);
  return (request) => {
    const { result, occupied, allowed } = request;
    clear(result);
    let first = request.page & ~(PAGES_PER_GROUP - 1);
    let count: number = PAGES_PER_GROUP;
    if (request.scattered >= SCATTERED) {
      first = request.page;
      count = 1;
    } else if (request.streaming) {
      first = 0;
      count = PAGES_PER_BLOCK;
    } else if (request.pressed) {
      // A processor that has walked through two groups gets twice as much each time.
      if (request.walked > 1)
        count = Math.min(PAGES_PER_GROUP << (request.walked - 1), PAGES_PER_BLOCK - first);
      else if (request.close && request.walked === 0 && request.page !== first) {
        // A touch in the middle of a group, and not next to the one before it, is no walk: its
        // neighbours would push out what is needed.
        first = request.page;
        count = 1;
      }
    } else if (request.distant && request.walked > (request.write ? 1 : 0)) {
      count = PAGES_PER_BLOCK - first;
    } else {
      for (let width = PAGES_PER_GROUP * 2; width <= PAGES_PER_BLOCK; width *= 2) {
        const start = request.page & ~(width - 1);
        // The group of the fault counts as there; pages of it that are there already must not count
        // twice.
        const group = request.page & ~(PAGES_PER_GROUP - 1);
        const there =
          sizeOfRun(occupied, start, width) +
          PAGES_PER_GROUP -
          sizeOfRun(occupied, group, PAGES_PER_GROUP);
        if (there * 100 > width * thresholdPercent) {
          first = start;
          count = width;
        }
      }
    }
    if (count > request.most) {
      first = request.page & ~(request.most - 1);
      count = request.most;
    }
    addRun(result, first, count);
    for (let word = first >>> 5; word * 32 < first + count; word++)
      result[word] &= allowed[word] & ~occupied[word];
  };
}

/** Brings the touched page alone: for measurements, and for devices whose users know better. */
export const none: PrefetchPolicy = (request) => {
  clear(request.result);
  request.result[request.page >>> 5] |= 1 << (request.page & 31);
};
