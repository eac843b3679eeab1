/**
 * Blocks that a memory's policy wants before a processor comes to them, since it knows which launch
 * uses them. They come while no thread waits, as what comes ahead of a walk does.
 */
import { Access, PAGES_PER_BLOCK, type Wish } from '../basics/types.js';
import { freeBlocks, mayGo } from '../movement/reclaim.js';
import { bringWanted } from '../pattern/read-ahead.js';
import type { Node } from '../table/nodes.js';
import type { State } from '../table/state.js';

/** The part of a memory that guesses may have before plans want no more. */
const SHARE = 8;

/** Something has happened by which its policy may know more, while a launch runs there. */
export function mayWish({ processors }: State, node: Node): void {
  if (node.eviction.wants === undefined) return;
  const owner = processors[node.owner];
  if (owner?.description.faults === true && owner.intents.length > 0)
    node.wishes = mostGuesses(node);
}

function mostGuesses({ budgetPages }: Node): number {
  return Math.max(1, Math.floor(budgetPages / PAGES_PER_BLOCK / SHARE));
}

export function haveWishes({ nodes }: State): boolean {
  for (let id = 0; id < nodes.length; id++) if ((nodes[id]?.wishes ?? 0) > 0) return true;
  return false;
}

/** Asks the first policy that may want a block, and begins to bring it. */
export function beginWish(state: State): void {
  for (const node of state.nodes) {
    if (node === undefined || node.wishes === 0) continue;
    node.wishes = bringNext(state, node) ? node.wishes - 1 : 0;
    return;
  }
}

function bringNext(state: State, node: Node): boolean {
  const owner = state.processors[node.owner];
  if (owner?.state !== 'alive' || node.state !== 'alive' || owner.intents.length === 0)
    return false;
  if (node.aheadBlocks >= mostGuesses(node)) return false;
  const wish: Wish = {
    freeBlocks: freeBlocks(node),
    evictable: (index) => mayGo(state, node, index),
    write: false,
  };
  const index = node.eviction.wants?.(wish) ?? -1;
  const block = index === -1 ? undefined : state.va.block(index);
  if (block === undefined) return false;
  // Until a launch writes it, the death of the device must not take it along.
  const writes = wish.write && node.description.memorySurvives;
  return bringWanted(state, block, owner, node, writes ? Access.Write : Access.Read);
}
