/** Pages that may come along with one that a thread waits for, and with which right. */

import {
  add,
  and,
  andNot,
  clear,
  equals,
  has,
  intersects,
  type Mask,
  setAndNot,
} from '../basics/mask.js';
import { Access, HOST_NODE, NO_NODE, type NodeId, PAGES_PER_BLOCK } from '../basics/types.js';
import { excludeScratch } from '../movement/moves.js';
import { holderOf, onlyOn } from '../table/contents.js';
import type { Fault } from '../table/fault.js';
import { granulesAround, keepWhole } from '../table/granules.js';
import { residenceOf, type State } from '../table/state.js';
import { type Block, isUnrestricted, NO_PAGES } from '../table/va-block.js';

/**
 * Pages that a fault may bring, its own among them: `alone` only that one, `owned` those that the
 * node has alone. What is returned may be the block's own mask.
 */
export function companions(state: State, fault: Fault, alone: boolean, owned: boolean): Mask {
  const { block, node, access } = fault;
  const { inside, freed, lost } = block;
  const { scratch } = residenceOf(state, block, node.id);
  const free =
    freed === NO_PAGES && lost === NO_PAGES && scratch === NO_PAGES && isUnrestricted(block);
  if (free && !alone && !owned) return inside;
  const allowed = state.masks.take();
  if (alone) granuleOf(state, fault, allowed);
  else {
    setAndNot(allowed, inside, freed);
    andNot(allowed, lost);
    excludeScratch(state, block, node.id, allowed);
    excludeForbidden(block, node.id, access, allowed);
  }
  if (owned) keepOwned(state, block, node.id, allowed);
  if (node.granulePages > 1) keepWhole(state, block, allowed, node.granulePages);
  return allowed;
}

/** The page, or all of its granule that has content. */
export function granuleOf(state: State, { block, node, page }: Fault, result: Mask): void {
  clear(result);
  add(result, page);
  if (node.granulePages === 1) return;
  const { mark } = state.masks;
  result.set(granulesAround(state, block, result, node.granulePages));
  state.masks.backTo(mark);
  add(result, page);
}

/** Whether the mask has something of the page's granule, which may be the page alone. */
export function meetsGranule(state: State, fault: Fault, mask: Mask): boolean {
  if (fault.node.granulePages === 1 || mask === NO_PAGES) return has(mask, fault.page);
  const { mark } = state.masks;
  const granule = state.masks.take();
  granuleOf(state, fault, granule);
  const meets = intersects(granule, mask);
  state.masks.backTo(mark);
  return meets;
}

/** Leaves out what is protected against it, or must first be copied for clones or unpinned. */
function excludeForbidden(block: Block, node: NodeId, access: Access, mask: Mask): void {
  andNot(mask, block.unreadable);
  if (access !== Access.Write) return;
  andNot(mask, block.unwritable);
  andNot(mask, block.copyOnWrite);
  if (node !== HOST_NODE) andNot(mask, block.pinned);
}

/** Whether a launch that runs has said that it writes the page, and it may. */
export function isToBeWritten(state: State, fault: Fault): boolean {
  const page = fault.block.index * PAGES_PER_BLOCK + fault.page;
  for (const { write, first, end } of fault.processor.intents)
    if (write && page >= first && page < end) return mayWrite(state, fault);
  return false;
}

function mayWrite(state: State, fault: Fault): boolean {
  const { unwritable, copyOnWrite, pinned } = fault.block;
  if (meetsGranule(state, fault, unwritable) || meetsGranule(state, fault, copyOnWrite))
    return false;
  return fault.node.id === HOST_NODE || !meetsGranule(state, fault, pinned);
}

/** The only copy is here, and written: giving write access takes nothing from anybody. */
export function ownsAlone(state: State, fault: Fault): boolean {
  const { block, node, page } = fault;
  const residence = block.residences[node.id];
  if (residence === undefined || !has(residence.resident, page) || !has(block.dirty, page))
    return false;
  if (!mayWrite(state, fault)) return false;
  if (node.granulePages > 1) return ownsGranule(state, fault);
  return holderOf(state, block, page, node.id) === NO_NODE;
}

function ownsGranule(state: State, fault: Fault): boolean {
  const { mark } = state.masks;
  const granule = state.masks.take();
  const owned = state.masks.take();
  granuleOf(state, fault, granule);
  owned.set(granule);
  keepOwned(state, fault.block, fault.node.id, owned);
  const isAlone = equals(granule, owned);
  state.masks.backTo(mark);
  return isAlone;
}

function keepOwned(state: State, block: Block, node: NodeId, mask: Mask): void {
  const { resident } = residenceOf(state, block, node);
  and(mask, resident);
  and(mask, block.dirty);
  onlyOn(state, block, node, mask, mask);
}
