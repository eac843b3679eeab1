/**
 * Whether a processor touches a range here and there while its node is full. What came along with
 * such a touch would push out what it needs sooner. No hardware says which of the pages that came
 * along are used, so that this is told by what comes back: a block that left the node after faults
 * that followed no other one, and on which such a fault comes again soon. A set that fits the node
 * never gives one.
 */

import { PAGES_PER_BLOCK, PAGES_PER_GROUP } from '../basics/types.js';
import type { Node } from '../table/nodes.js';
import type { Processor } from '../table/processors.js';
import type { Range } from '../table/range.js';
import type { Block, Mapping, Residence } from '../table/va-block.js';

/**
 * A block is back soon if the node gave up at most so many blocks meanwhile for each one that it
 * has room for.
 */
const SOON = 4;
/**
 * The most faults that are counted, and what one that follows another takes off them: a walk is
 * known for one after a few.
 */
export const MOST = 64;
const FOLLOWED = 4;

/**
 * The fault lies in the 64 KiB of the block of which the processor's last one there brought pages,
 * or in the next 64 KiB.
 */
export function follows({ walkPage }: Mapping, page: number): boolean {
  if (walkPage === -1) return false;
  const groups = Math.floor(page / PAGES_PER_GROUP) - Math.floor((walkPage - 1) / PAGES_PER_GROUP);
  return groups === 0 || groups === 1;
}

/** Faults of the processor that lay scattered over the range, less those that followed others. */
export function scatteredFaults({ scattered }: Range, { id }: Processor): number {
  return scattered[id] ?? 0;
}

/** Whether the processor was last seen to touch the range here and there. */
export function isScattered(range: Range, processor: Processor): boolean {
  return scatteredFaults(range, processor) > 0;
}

/**
 * Takes note of a fault where the program has given no advice, and says how many scattered ones
 * there were.
 */
export function noteFault(
  block: Block,
  residence: Residence,
  node: Node,
  processor: Processor,
  follower: boolean,
): number {
  const { scattered } = block.range;
  const before = scatteredFaults(block.range, processor);
  if (follower) {
    if (before > 0) scattered[processor.id] = Math.max(0, before - FOLLOWED);
    return 0;
  }
  if (!node.pressed) return before;
  const meanwhile = node.counters.evictions - residence.gaveUp;
  const back = residence.gaveUp > 0 && meanwhile * PAGES_PER_BLOCK <= SOON * node.budgetPages;
  residence.scattered = true;
  if (!back) return before;
  const now = Math.min(before + 1, MOST);
  scattered[processor.id] = now;
  return now;
}

/** The node has given up the block, or some of it, and has counted that. */
export function noteGivenUp(residence: Residence, node: Node): void {
  residence.left = true;
  residence.gaveUp = residence.scattered ? node.counters.evictions : 0;
  residence.scattered = false;
}
