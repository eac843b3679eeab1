/** Memory of granules of several blocks: taken with the first block, given back with the last. */
import { PAGES_PER_BLOCK, Status } from '../basics/types.js';
import type { LargeGranule, LargeGranules } from './large-granules.js';
import type { Node } from './nodes.js';
import type { State } from './state.js';
import type { Block } from './va-block.js';

/** For how many pages the node needs memory that it has not got, for the block to have its own. */
export function lackingForBlock({ id, large }: Node, { index, residences }: Block): number {
  if (large === null || (residences[id]?.backedCount ?? 0) > 0) return 0;
  const granule = large.of(index);
  return granule === undefined || granule.pending > 0 ? large.pages : 0;
}

/**
 * Whether a driver may still use what blocks of the granule had: none gets memory of it meanwhile.
 */
export function awaitsRelease({ large }: Node, { index }: Block): boolean {
  return (large?.of(index)?.pending ?? 0) > 0;
}

/** The block gets its memory of the granule, which the budget has room for. Its frame, or page. */
export function joinGranule(state: State, node: Node, large: LargeGranules, index: number): number {
  let granule = large.of(index);
  if (granule === undefined) {
    const frame = node.allocator?.allocate(large.pages) ?? large.pageOf(index);
    if (frame === -1) throw new Error('a pooled node has fewer free granules than its budget says');
    const number = large.numberOf(index);
    granule = { number, frame, members: 0, pending: 0, leaves: false, quarantined: false };
    large.add(granule);
    node.backedPages += large.pages;
    if (node.backedPages > node.peakPages) node.peakPages = node.backedPages;
  } else if (granule.pending > 0) throw new Error(`block ${index} gets memory that may be in use`);
  granule.members++;
  recount(state, node, large, granule);
  return granule.frame + (index % large.blocks) * PAGES_PER_BLOCK;
}

/** The block gives its memory back, as its driver has been told; `status`: what that answered. */
export function leaveGranule(
  state: State,
  node: Node,
  large: LargeGranules,
  index: number,
  status: Status,
): void {
  const granule = large.taken(index);
  granule.members--;
  if (status === Status.Pending) {
    granule.pending++;
    state.quarantines++;
  }
  settle(state, node, large, granule);
}

/**
 * Nothing uses any more what a block had: it may get memory again, and with the last one others.
 */
export function granuleReleased(
  state: State,
  node: Node,
  large: LargeGranules,
  index: number,
): void {
  const granule = large.taken(index);
  granule.pending--;
  settle(state, node, large, granule);
  node.pump = true;
}

function settle(state: State, node: Node, large: LargeGranules, granule: LargeGranule): void {
  recount(state, node, large, granule);
  if (granule.members > 0 || granule.pending > 0) return;
  large.remove(granule);
  node.backedPages -= large.pages;
  node.allocator?.release(granule.frame, large.pages);
  node.pump = true;
}

/** An operation that takes what the node has of the block begins or ends. */
export function noteLeaving(state: State, node: Node, { index }: Block): void {
  const granule = node.large?.of(index);
  if (node.large !== null && granule !== undefined) recount(state, node, node.large, granule);
}

/** The blocks that have memory of the block's granule. */
export function* blocksOfGranule(
  { va }: State,
  { id }: Node,
  large: LargeGranules,
  index: number,
): Generator<Block> {
  const first = large.firstOf(index);
  for (let at = first; at < first + large.blocks; at++) {
    const block = va.blocks.get(at);
    if (block !== undefined && (block.residences[id]?.backedCount ?? 0) > 0) yield block;
  }
}

/** A granule leaves when all that it has does: a part of it makes no room. */
function recount(state: State, node: Node, large: LargeGranules, granule: LargeGranule): void {
  const quarantined = granule.members === 0 && granule.pending > 0;
  const leaves = quarantined || (granule.members > 0 && isLeaving(state, node, large, granule));
  if (quarantined !== granule.quarantined)
    node.quarantinedPages += quarantined ? large.pages : -large.pages;
  if (leaves !== granule.leaves) node.leavingPages += leaves ? large.pages : -large.pages;
  granule.quarantined = quarantined;
  granule.leaves = leaves;
}

function isLeaving(
  state: State,
  node: Node,
  large: LargeGranules,
  { number }: LargeGranule,
): boolean {
  for (const { operation } of blocksOfGranule(state, node, large, number * large.blocks))
    if (operation?.kind !== 'evict' || operation.node !== node.id) return false;
  return true;
}
