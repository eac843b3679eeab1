/** Pages that a node holds, and what that keeps from others. */

import { intersects, type Mask } from '../basics/mask.js';
import type { Access, NodeId } from '../basics/types.js';
import type { State } from './state.js';
import type { Block, Residence } from './va-block.js';

export function isHeld(block: Block, node: NodeId): boolean {
  const residence = block.residences[node];
  return residence !== undefined && residence.holds.length > 0;
}

/**
 * Whether another node's hold forbids giving processors that reach `node` this access to these
 * pages. A node whose processor has died keeps nothing: a holder of its pages looks whether it
 * lives before using them.
 */
export function conflictsWithHold(
  state: State,
  block: Block,
  node: NodeId,
  access: Access,
  pages: Mask,
): boolean {
  for (let other = 0; other < block.residences.length; other++) {
    const residence = block.residences[other];
    if (residence === undefined || other === node || residence.holds.length === 0) continue;
    if (state.nodes[other]?.state === 'dead') continue;
    if (isHeldAgainst(residence, access, pages)) return true;
  }
  return false;
}

/** Whether the node holds some of these pages in a way that excludes another's access. */
export function isHeldAgainst(residence: Residence, access: Access, pages: Mask): boolean {
  for (const hold of residence.holds) {
    if (hold.access !== 2 && access !== 2) continue;
    if (intersects(hold.reach, pages)) return true;
  }
  return false;
}
