/**
 * What a thread does not get that waits for a page: why, what it finds instead, or that it
 * waits on.
 */

import {
  add,
  addRun,
  clear,
  has,
  intersects,
  isSubset,
  type Mask,
  next,
  remove,
} from '../basics/mask.js';
import {
  Access,
  type DenyReason,
  HOST_NODE,
  NO_NODE,
  type NodeId,
  PAGES_PER_BLOCK,
  Status,
} from '../basics/types.js';
import { type Outcome, standsIn, waitForMemory } from '../movement/moves.js';
import { open, start } from '../movement/operation.js';
import { evictBlock, reclaim } from '../movement/reclaim.js';
import { lossIn } from '../table/absence.js';
import { releaseBacking } from '../table/backing.js';
import { holderOf } from '../table/contents.js';
import { Fault } from '../table/fault.js';
import { isHeld, isHeldAgainst } from '../table/holds.js';
import { lackingForBlock } from '../table/large-granule-memory.js';
import { type Processor, REFUSED } from '../table/processors.js';
import {
  isRemote,
  makeReady,
  nodeOf,
  residenceOf,
  type State,
  shortageOf,
  usesHostMemory,
} from '../table/state.js';
import {
  type Block,
  isUnrestricted,
  NO_PAGES,
  noteWaiting,
  rareMask,
  stopWaiting,
} from '../table/va-block.js';
import { granuleOf, meetsGranule } from './companions.js';

/**
 * How often it must have been said that there is no room still, with no page brought for a
 * processor meanwhile, until it is refused.
 */
export const ROOM_TRIES = 5;

/** Each stand-in page in host memory splits a mapping; the kernel allows 65,530. */
const COVERED_PAGES = 8192;

/**
 * A disk that is full may have room again soon: threads wait for that, but not for ever. A device
 * that was refused once is refused at once until its launch has ended, which fails anyway.
 */
export function waitsForRoom(state: State, { block, processor, mapping }: Fault): boolean {
  if (processor.state !== 'alive' || shortageOf(state) !== 'OUT_OF_STORAGE') return false;
  if (processor.waited < ROOM_TRIES) {
    state.waitsForRoom.append(block.index);
    mapping.waitsForRoom = true;
    processor.lacksRoom = true;
    return true;
  }
  if (!usesHostMemory(processor)) processor.waited = REFUSED;
  return false;
}

/** Whether its clones, or its source in another range, found no room. */
export function lacksRoomElsewhere(
  state: State,
  fault: Fault,
  reason: DenyReason | null,
  failure: Status,
): boolean {
  if (reason === 'OUT_OF_MEMORY') return failure === Status.SourceStarved;
  return reason === 'OUT_OF_STORAGE' && !meetsGranule(state, fault, fault.block.lost);
}

/** Why the page cannot be had, or because of another page of it the page's granule. */
export function denialOf(state: State, fault: Fault): DenyReason | null {
  const { block, node, page, write } = fault;
  const reason = denial(block, node.id, page, write);
  return reason === null && node.granulePages > 1 ? denialAround(state, fault) : reason;
}

function denialAround(state: State, fault: Fault): DenyReason | null {
  const { block, node, write } = fault;
  const { scratch } = residenceOf(state, block, node.id);
  if (isUnrestricted(block) && block.lost === NO_PAGES && scratch === NO_PAGES) return null;
  const { mark } = state.masks;
  const granule = state.masks.take();
  granuleOf(state, fault, granule);
  let reason: DenyReason | null = standsIn(state, block, node.id, granule) ? 'OUT_OF_MEMORY' : null;
  for (let each = next(granule, 0); each < PAGES_PER_BLOCK; each = next(granule, each + 1))
    reason ??= denial(block, node.id, each, write);
  state.masks.backTo(mark);
  return reason;
}

function denial(block: Block, node: NodeId, page: number, write: boolean): DenyReason | null {
  if (!has(block.inside, page)) return 'OUTSIDE';
  if (has(block.lost, page)) return lossIn(block, page);
  if (has(block.freed, page)) return 'FREED';
  if (!isUnrestricted(block)) {
    if (has(block.unreadable, page)) return 'NO_ACCESS';
    if (write && has(block.unwritable, page)) return 'READ_ONLY';
    if (write && node !== HOST_NODE && has(block.pinned, page)) return 'PINNED';
    const unbroken = write && has(block.copyOnWrite, page) ? block.unbroken?.get(page) : undefined;
    if (unbroken !== undefined) return unbroken;
  }
  return null;
}

/**
 * Whether another machine has what the processor may not do, so that it can be asked for. Launches
 * of a device have asked before they began.
 */
export function isForOthersToAllow(
  { block, processor }: Fault,
  reason: DenyReason | null,
): boolean {
  const asks = usesHostMemory(processor);
  return block.range.shared === true && asks && (reason === 'NO_ACCESS' || reason === 'READ_ONLY');
}

/** Threads wait for the right out of the way of other pages of the block: it may take long. */
export function want(state: State, { block, mapping, page, write }: Fault): Outcome {
  remove(write ? mapping.waitingWrite : mapping.waitingRead, page);
  noteWaiting(mapping);
  add(rareMask(mapping, write ? 'wantedWrite' : 'wantedRead'), page);
  state.commands.want(block.index * PAGES_PER_BLOCK + page, write);
  return 'done';
}

/** Threads of a processor that want a right to `count` pages from `from` on do not get it. */
export function refuseWanted(
  state: State,
  block: Block,
  processor: Processor,
  from: number,
  count: number,
  reason: DenyReason,
): void {
  const mapping = block.mappings[processor.id];
  if (mapping === undefined) return;
  const fault = new Fault();
  fault.of(block, processor, mapping, nodeOf(state, mapping.node));
  for (let page = from; page < from + count; page++) {
    const write = has(mapping.wantedWrite, page);
    if (!write && !has(mapping.wantedRead, page)) continue;
    fault.page = page;
    fault.write = write;
    remove(mapping.wantedRead, page);
    remove(mapping.wantedWrite, page);
    if (
      reason === 'OUT_OF_STORAGE' &&
      (shortageOf(state) !== reason || waitsForRoom(state, fault))
    ) {
      add(write ? mapping.waitingWrite : mapping.waitingRead, page);
      noteWaiting(mapping);
      continue;
    }
    tellDenied(state, fault, reason, false);
  }
}

/** No thread waits for the page any more. */
export function dismiss({ mapping, page }: Fault): Outcome {
  stopWaiting(mapping, page);
  return 'done';
}

/**
 * A thread of host memory cannot be sent on, so that its denial is for the pager to carry out:
 * nothing stands in for the page, which such a thread asks for again once it may have it. A
 * device's thread goes on with a scratch page of zeros that no other processor ever sees, and its
 * launch fails.
 */
export function deny(state: State, fault: Fault, reason: DenyReason, stranded: boolean): Outcome {
  const { block, processor, mapping, page } = fault;
  if (usesHostMemory(processor)) {
    tellDenied(state, fault, reason, false);
    // Others may still wait to read what this one may not write.
    if (reason !== 'READ_ONLY') return dismiss(fault);
    remove(mapping.waitingWrite, page);
    noteWaiting(mapping);
    return 'done';
  }
  if (isRemote(block, processor)) return coverInPlace(state, fault, reason);
  if (!stranded) return giveScratch(state, fault, reason);
  // Nothing can be moved for this device any more, not even a scratch page in: the pager takes it
  // for dead.
  const isShortage = reason === 'OUT_OF_MEMORY' || reason === 'OUT_OF_STORAGE';
  tellDenied(state, fault, isShortage ? reason : 'COPY_FAILED', true);
  return dismiss(fault);
}

/** Has scratch memory of the device stand in for the page, once nothing of it is there any more. */
function giveScratch(state: State, fault: Fault, reason: DenyReason): Outcome {
  const { block, node, page } = fault;
  const { granulePages } = node;
  const mask = state.masks.take();
  granuleRun(page, granulePages, mask);
  const residence = residenceOf(state, block, node.id);
  // A copy reads or writes the page just now: what stands in for it waits until that is through.
  if (isHeldAgainst(residence, Access.Write, mask)) return 'blocked';
  const alone = holderOf(state, block, page, node.id) === NO_NODE;
  // What may not even be read must not show through what stands in for it; what may, the device has
  // read before.
  const hidden = reason !== 'READ_ONLY' && reason !== 'PINNED';
  const isShown =
    granulePages > 1
      ? intersects(residence.resident, mask)
      : has(residence.resident, page) && (hidden || (alone && has(block.dirty, page)));
  if (isShown) {
    // The whole block goes home, and with it what copies may hold of other pages.
    if (isHeld(block, node.id)) return 'blocked';
    if (!evictBlock(state, block, node))
      return waitForMemory(state, block, nodeOf(state, node.home), null);
    if (block.operation === null) makeReady(state, block);
    return 'started';
  }
  // Memory that was kept has the content of an earlier time, also of the rest of a granule.
  if (!has(residence.resident, page) && !isSubset(mask, residence.scratch))
    releaseBacking(state, block, node, mask);
  const lacking = node.large === null ? granulePages : lackingForBlock(node, block);
  if (!has(residence.backed, page) && !reclaim(state, block, node, lacking))
    return waitForMemory(state, block, node, null);
  tellDenied(state, fault, reason, false);
  return standIn(state, fault, 'scratch', mask);
}

/**
 * Where host memory is reached in place the processor has none of its own that could stand in: its
 * driver puts a page there that it keeps for itself. It stays until the block is remapped, which is
 * before the next launch that uses it.
 */
function coverInPlace(state: State, fault: Fault, reason: DenyReason): Outcome {
  const stranded = fault.processor.coveredPages >= COVERED_PAGES;
  tellDenied(state, fault, reason, stranded);
  if (stranded) return dismiss(fault);
  const mask = state.masks.take();
  granuleRun(fault.page, 1, mask);
  return standIn(state, fault, 'cover', mask);
}

function granuleRun(page: number, granulePages: number, result: Mask): void {
  clear(result);
  addRun(result, page - (page % granulePages), granulePages);
}

function tellDenied(state: State, fault: Fault, reason: DenyReason, stranded: boolean): void {
  const { block, processor, mapping, page, write } = fault;
  processor.counters.denied++;
  const at = block.index * PAGES_PER_BLOCK + page;
  state.commands.deny(processor.id, at, write, mapping.urgentThread, reason, stranded);
}

/** Has pages that no other processor ever sees stand in for those that the processor was denied. */
function standIn(state: State, fault: Fault, kind: 'scratch' | 'cover', mask: Mask): Outcome {
  const { block, processor, page } = fault;
  const operation = open(block, kind, processor.localNode, processor.id, mask);
  operation.access = Access.Write;
  operation.map = true;
  operation.urgentPage = page;
  start(state, block, operation);
  return 'started';
}
