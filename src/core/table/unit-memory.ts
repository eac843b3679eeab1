/** Memory of units of several blocks: taken with the first block, given back with the last. */
import { PAGES_PER_BLOCK, Status } from '../basics/types.js';
import type { LargeUnit, LargeUnits } from './large-units.js';
import type { Node } from './nodes.js';
import type { State } from './state.js';
import type { Block } from './va-block.js';

/** For how many pages the node needs memory that it has not got, for the block to have its own. */
export function lackingForBlock({ id, large }: Node, { index, residences }: Block): number {
  if (large === null || (residences[id]?.backedCount ?? 0) > 0) return 0;
  const unit = large.of(index);
  return unit === undefined || unit.pending > 0 ? large.pages : 0;
}

/** Whether a driver may still use what blocks of the unit had: none gets memory of it meanwhile. */
export function awaitsRelease({ large }: Node, { index }: Block): boolean {
  return (large?.of(index)?.pending ?? 0) > 0;
}

/** The block gets its memory of the unit, which the budget has room for. Its frame, or page. */
export function joinUnit(state: State, node: Node, large: LargeUnits, index: number): number {
  let unit = large.of(index);
  if (unit === undefined) {
    const frame = node.allocator?.allocate(large.pages) ?? large.pageOf(index);
    if (frame === -1) throw new Error('a pooled node has fewer free units than its budget says');
    const number = large.numberOf(index);
    unit = { number, frame, members: 0, pending: 0, leaves: false, quarantined: false };
    large.add(unit);
    node.backedPages += large.pages;
    if (node.backedPages > node.peakPages) node.peakPages = node.backedPages;
  } else if (unit.pending > 0) throw new Error(`block ${index} gets memory that may be in use`);
  unit.members++;
  recount(state, node, large, unit);
  return unit.frame + (index % large.blocks) * PAGES_PER_BLOCK;
}

/** The block gives its memory back, as its driver has been told; `status`: what that answered. */
export function leaveUnit(
  state: State,
  node: Node,
  large: LargeUnits,
  index: number,
  status: Status,
): void {
  const unit = large.taken(index);
  unit.members--;
  if (status === Status.Pending) {
    unit.pending++;
    state.quarantines++;
  }
  settle(state, node, large, unit);
}

/** Nothing uses any more what a block had: it may get memory again, and with the last one others. */
export function unitReleased(state: State, node: Node, large: LargeUnits, index: number): void {
  const unit = large.taken(index);
  unit.pending--;
  settle(state, node, large, unit);
  node.pump = true;
}

function settle(state: State, node: Node, large: LargeUnits, unit: LargeUnit): void {
  recount(state, node, large, unit);
  if (unit.members > 0 || unit.pending > 0) return;
  large.remove(unit);
  node.backedPages -= large.pages;
  node.allocator?.release(unit.frame, large.pages);
  node.pump = true;
}

/** An operation that takes what the node has of the block begins or ends. */
export function noteLeaving(state: State, node: Node, { index }: Block): void {
  const unit = node.large?.of(index);
  if (node.large !== null && unit !== undefined) recount(state, node, node.large, unit);
}

/** The blocks that have memory of the block's unit. */
export function* blocksOfUnit(
  { va }: State,
  { id }: Node,
  large: LargeUnits,
  index: number,
): Generator<Block> {
  const first = large.firstOf(index);
  for (let at = first; at < first + large.blocks; at++) {
    const block = va.blocks.get(at);
    if (block !== undefined && (block.residences[id]?.backedCount ?? 0) > 0) yield block;
  }
}

/** A unit leaves when all that it has does: a part of it makes no room. */
function recount(state: State, node: Node, large: LargeUnits, unit: LargeUnit): void {
  const quarantined = unit.members === 0 && unit.pending > 0;
  const leaves = quarantined || (unit.members > 0 && isLeaving(state, node, large, unit));
  if (quarantined !== unit.quarantined)
    node.quarantinedPages += quarantined ? large.pages : -large.pages;
  if (leaves !== unit.leaves) node.leavingPages += leaves ? large.pages : -large.pages;
  unit.quarantined = quarantined;
  unit.leaves = leaves;
}

function isLeaving(state: State, node: Node, large: LargeUnits, { number }: LargeUnit): boolean {
  for (const { operation } of blocksOfUnit(state, node, large, number * large.blocks))
    if (operation?.kind !== 'evict' || operation.node !== node.id) return false;
  return true;
}
