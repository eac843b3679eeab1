/** Which nodes have the content of a page. */
import { and, andNot, clear, has, type Mask, WORDS } from '../basics/mask.js';
import { HOST_NODE, NO_NODE, NO_PROCESSOR, type NodeId } from '../basics/types.js';
import type { Node } from './nodes.js';
import type { State } from './state.js';
import type { Block } from './va-block.js';

/**
 * Writes into `result` the pages of `mask` whose content is on no other node than `node`.
 * @param lasting a copy that goes with its device counts for nothing
 */
export function onlyOn(
  state: State,
  block: Block,
  node: NodeId,
  mask: Mask,
  result: Mask,
  lasting = false,
): void {
  if (result !== mask) result.set(mask);
  for (let other = 0; other < block.residences.length; other++) {
    const residence = block.residences[other];
    if (residence === undefined || other === node) continue;
    const holder = state.nodes[other];
    // A copy in memory that is gone saves nothing.
    if (holder?.gone === true || (lasting && holder !== undefined && goesWithDevice(holder)))
      continue;
    andNot(result, residence.resident);
  }
}

/** Whether the death of its device takes the content of the node along. */
function goesWithDevice({ owner, description }: Node): boolean {
  return owner !== NO_PROCESSOR && !description.memorySurvives;
}

/**
 * Whether the node keeps its own copy of a page where the other one goes with its device. A host
 * without a store does not: it has nowhere else to send pages to.
 */
function keepsLastingCopies(state: State, id: NodeId): boolean {
  const node = state.nodes[id];
  if (node === undefined || goesWithDevice(node)) return false;
  return id !== HOST_NODE || node.home !== NO_NODE;
}

/**
 * The node to copy a page from, or NO_NODE when none holds it. The host comes first: its copies
 * cost the devices nothing. Then come those that a processor works on, and last those that only
 * store: the further from the host, the slower. Memory that is gone comes after all: a caller that
 * gets it as an answer knows that the page is lost.
 */
export function holderOf(state: State, block: Block, page: number, except: NodeId): NodeId {
  let found: NodeId = NO_NODE;
  let gone: NodeId = NO_NODE;
  for (let id = 0; id < block.residences.length; id++) {
    const residence = block.residences[id];
    if (residence === undefined || id === except || !has(residence.resident, page)) continue;
    const node = state.nodes[id];
    if (node?.gone === true) gone = id;
    else if (node?.owner !== NO_PROCESSOR) return id;
    else if (found === NO_NODE) found = id;
  }
  return found === NO_NODE ? gone : found;
}

/** Pages whose only good copy is on this node, and that nothing could make again. */
export function onlyCopies(
  state: State,
  block: Block,
  node: NodeId,
  mask: Mask,
  result: Mask,
): void {
  const residence = block.residences[node];
  if (residence === undefined) {
    clear(result);
    return;
  }
  onlyOn(state, block, node, mask, result, keepsLastingCopies(state, node));
  and(result, residence.resident);
  andNot(result, block.lost);
  // What is being copied for clones should not have to be had again: perhaps it cannot be.
  for (let word = 0; word < WORDS; word++) result[word] &= block.dirty[word] | block.breaking[word];
}
