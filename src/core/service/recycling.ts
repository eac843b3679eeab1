/** Addresses of a range that is no more, which another range may have. */
import { createMask } from '../basics/mask.js';
import { PAGES_PER_BLOCK } from '../basics/types.js';
import { endAhead, releaseBacking } from '../table/backing.js';
import { isHeld } from '../table/holds.js';
import type { Range } from '../table/range.js';
import type { State } from '../table/state.js';

/** Gives back all that nodes have of the range. False: something is under way; nothing changed. */
export function recycle(state: State, range: Range): boolean {
  const first = range.first / PAGES_PER_BLOCK;
  const end = first + Math.ceil(range.reserved / PAGES_PER_BLOCK);
  for (let index = first; index < end; index++) {
    const block = state.va.blocks.get(index);
    if (block === undefined) continue;
    if (block.operation !== null || block.tasks.length > 0) return false;
    for (let id = 0; id < block.residences.length; id++) if (isHeld(block, id)) return false;
  }
  for (let index = first; index < end; index++) {
    const block = state.va.blocks.get(index);
    if (block === undefined) continue;
    // Zero pages that late readers got are given back with the rest, and so is what stood in for
    // pages past the end.
    const all = createMask().fill(-1);
    for (const node of state.nodes) {
      if (node === undefined) continue;
      releaseBacking(state, block, node, all);
      endAhead(block, node);
      node.scratchBlocks.delete(block);
      node.completed.delete(block);
      node.unused.remove(index);
      node.eviction.deactivate(index);
      node.waiters.remove(index);
    }
    state.waitsForRoom.remove(index);
    for (const processor of state.processors) {
      if (processor === undefined) continue;
      const { slotBlock } = processor;
      for (let slot = 0; slot < slotBlock.length; slot++)
        if (slotBlock[slot] === index) slotBlock[slot] = -1;
    }
  }
  if (range.refuses) state.refusals--;
  state.va.recycle(range);
  return true;
}
