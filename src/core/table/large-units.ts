/**
 * Units of several blocks: a node gets memory by these and gives it back by these. Rights go by
 * blocks, as content goes by pages, so that no operation is about more than its block. The first
 * block of a unit that gets memory takes a whole unit for all of them. Those that leave give back
 * their rights, and the last one all of the unit.
 */
import { PAGES_PER_BLOCK, Status } from '../basics/types.js';
import type { Node } from './nodes.js';
import type { State } from './state.js';
import type { Block } from './va-block.js';

export interface LargeUnit {
  /** Its number: that of its first block, by blocks of a unit. */
  readonly number: number;
  /** Its first frame of a pooled node; of another one its first page. */
  readonly frame: number;
  /** How many of its blocks have memory. */
  members: number;
  /** Blocks that have left it, of which the driver has not said yet that nothing uses them. */
  pending: number;
  /** Counted in `Node.leavingPages`: all that it has is on its way out. */
  leaves: boolean;
  /** Counted in `Node.quarantinedPages`: only what is pending keeps it. */
  quarantined: boolean;
}

export class LargeUnits {
  readonly pages: number;
  private readonly units = new Map<number, LargeUnit>();

  constructor(readonly blocks: number) {
    this.pages = blocks * PAGES_PER_BLOCK;
  }

  /** The unit of a block, if it has memory. */
  of(block: number): LargeUnit | undefined {
    return this.units.get(this.numberOf(block));
  }

  /** The same for a block that has memory, or had some that may be in use. */
  taken(block: number): LargeUnit {
    const unit = this.of(block);
    if (unit === undefined) throw new Error(`block ${block} has no memory of a unit`);
    return unit;
  }

  numberOf(block: number): number {
    return Math.floor(block / this.blocks);
  }

  /** The first block of the unit. */
  firstOf(block: number): number {
    return block - (block % this.blocks);
  }

  /** The first page of the unit. */
  pageOf(block: number): number {
    return this.firstOf(block) * PAGES_PER_BLOCK;
  }

  add(unit: LargeUnit): void {
    this.units.set(unit.number, unit);
  }

  remove({ number }: LargeUnit): void {
    this.units.delete(number);
  }

  all(): Iterable<LargeUnit> {
    return this.units.values();
  }
}

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

/** An operation that takes memory from a block of the unit begins or ends. */
export function noteLeaving(state: State, node: Node, large: LargeUnits, index: number): void {
  const unit = large.of(index);
  if (unit !== undefined) recount(state, node, large, unit);
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

function isLeaving({ va }: State, { id }: Node, large: LargeUnits, unit: LargeUnit): boolean {
  const first = unit.number * large.blocks;
  for (let index = first; index < first + large.blocks; index++) {
    const block = va.blocks.get(index);
    if (block === undefined || (block.residences[id]?.backedCount ?? 0) === 0) continue;
    const { operation } = block;
    if (operation?.kind !== 'evict' || operation.node !== id) return false;
  }
  return true;
}
