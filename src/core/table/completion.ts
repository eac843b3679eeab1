/**
 * The memory behind a range's end in its last block. A node takes it along where nearly all of the
 * block comes at once, since memory in one piece is many times cheaper than by pages. It never has
 * content; it goes with the last page of the block that the node has, and before anything is
 * refused for want of room.
 */
import { type Mask, size, WORDS } from '../basics/mask.js';
import { HOST_NODE, PAGES_PER_BLOCK } from '../basics/types.js';
import type { Node } from './nodes.js';
import type { Block, Residence } from './va-block.js';

/**
 * Has the node take the rest of a block of which it has just taken `reserved` pages, where these
 * are all that it has and all that the range has there. False: it has no room for the rest, or
 * other memory.
 */
export function complete(block: Block, node: Node, reserved: number): boolean {
  const residence = block.residences[node.id];
  // The host may have to hold all of what programs were promised, to the last page. Pooled frames
  // come in pieces by themselves.
  if (residence === undefined || node.id === HOST_NODE || residence.frames !== null) return false;
  if (
    !node.description.addressable ||
    residence.backedCount !== reserved ||
    size(block.inside) !== reserved
  )
    return false;
  // What the range may grow by is not behind its end: its pages are filled later, and their
  // transfers say whether they have memory.
  if (block.range.pages < block.range.reserved) return false;
  const rest = PAGES_PER_BLOCK - reserved;
  if (node.backedPages + rest > Math.min(node.budgetPages, node.limitPages, node.goalPages))
    return false;
  residence.backed.fill(-1);
  residence.backedCount += rest;
  node.backedPages += rest;
  if (node.backedPages > node.peakPages) node.peakPages = node.backedPages;
  node.completed.add(block);
  return true;
}

/** Adds what the node has behind the range's end to the mask. */
export function addCompletion({ inside }: Block, { backed, scratch }: Residence, to: Mask): void {
  for (let word = 0; word < WORDS; word++)
    to[word] |= backed[word] & ~inside[word] & ~scratch[word];
}
