/**
 * Frames of the host beyond its budget that are for reading alone, and only while what is behind it
 * takes nothing more: what lies there can be read, and saved elsewhere, although every frame has a
 * page that cannot go anywhere. What comes there has a copy in a store, or can be made again, so
 * that it makes room for the next one; nothing is written there before it is within the budget.
 */

import { and, isSubset, type Mask, WORDS } from '../basics/mask.js';
import { HOST_NODE, NO_PROCESSOR, PAGES_PER_BLOCK } from '../basics/types.js';
import { onlyCopies } from '../table/contents.js';
import { isWithinBudget, type Node } from '../table/nodes.js';
import { residenceOf, type State, shortageOf } from '../table/state.js';
import type { Block } from '../table/va-block.js';
import { reclaim } from './reclaim.js';

/** A block for each of a few threads that read at once: none of its own pages goes for others. */
const MOST_PAGES = 4 * PAGES_PER_BLOCK;
/** Of the budget, where that is small. */
const SHARE = 1 / 8;

/** How many there are. */
export function readingRoomOf({ id, budgetPages }: Node): number {
  return id === HOST_NODE ? Math.min(MOST_PAGES, Math.floor(budgetPages * SHARE)) : 0;
}

/**
 * Whether frames that the host has already may take the pages of the mask that it lacks: frames
 * beyond the budget take only what can go again.
 */
export function mayBeFilled(state: State, block: Block, node: Node, mask: Mask): boolean {
  return isWithinBudget(node) || canGoAgain(state, block, node, mask);
}

/** Whether `pages` more, for which the host has no frame, may come to be read. */
export function mayComeToBeRead(
  state: State,
  block: Block,
  node: Node,
  mask: Mask,
  pages: number,
): boolean {
  if (shortageOf(state) !== 'OUT_OF_STORAGE' || node.leavingPages > 0) return false;
  if (node.backedPages + pages > node.budgetPages + readingRoomOf(node)) return false;
  return canGoAgain(state, block, node, mask);
}

/** Whether all pages of the mask that the node lacks have a copy in a store, or can be made again. */
function canGoAgain(state: State, block: Block, node: Node, mask: Mask): boolean {
  const { resident } = residenceOf(state, block, node.id);
  for (let word = 0; word < WORDS; word++) {
    if ((mask[word] & ~resident[word] & block.dirty[word] & ~storedIn(state, block, word)) !== 0)
      return false;
  }
  return true;
}

/**
 * Whether the pages of the mask may be written on the host: those that have copies elsewhere until
 * then, or can be made again, cannot go any more.
 */
export function mayBeWritten(state: State, block: Block, node: Node, mask: Mask): boolean {
  if (isWithinBudget(node)) return true;
  const { mark } = state.masks;
  const only = state.masks.take();
  onlyCopies(state, block, node.id, mask, only);
  and(only, block.dirty);
  const may = isSubset(mask, only);
  state.masks.backTo(mark);
  return may || reclaim(state, block, node, 0);
}

function storedIn(state: State, { residences }: Block, word: number): number {
  let pages = 0;
  for (let id = HOST_NODE + 1; id < residences.length; id++) {
    const node = state.nodes[id];
    if (node?.owner === NO_PROCESSOR && node.state === 'alive')
      pages |= residences[id]?.resident[word] ?? 0;
  }
  return pages;
}
