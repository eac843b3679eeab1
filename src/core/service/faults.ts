/** Faults that wait: what comes along with a page, with which right, and what is denied. */

import {
  add,
  addRun,
  and,
  andNot,
  clear,
  equals,
  has,
  intersects,
  isSubset,
  type Mask,
  next,
  remove,
  setAndNot,
} from '../basics/mask.js';
import {
  Access,
  type DenyReason,
  HOST_NODE,
  isOwner,
  NO_NODE,
  type NodeId,
  PAGES_PER_BLOCK,
  PAGES_PER_GROUP,
  Status,
} from '../basics/types.js';
import { bringAlone } from '../movement/lone-page.js';
import {
  absentPages,
  breakCopyOnWrite,
  excludeScratch,
  givesUp,
  keepUntilItGoesOn,
  migrate,
  type Outcome,
  standsIn,
  waitForMemory,
} from '../movement/moves.js';
import { ATTEMPTS, open, start } from '../movement/operation.js';
import { evictBlock, evictShielded, failsToLeave, reclaim } from '../movement/reclaim.js';
import { bringInPlace } from '../movement/remote-mapping.js';
import { bringAhead } from '../pattern/read-ahead.js';
import { SeenTouch } from '../pattern/touch.js';
import { noteTurn } from '../pattern/turns.js';
import { isFinal, lossIn, reasonOf } from '../table/absence.js';
import { endAhead, releaseBacking } from '../table/backing.js';
import { holderOf, onlyOn } from '../table/contents.js';
import { isHeld, isHeldAgainst } from '../table/holds.js';
import type { Node } from '../table/nodes.js';
import { type Processor, REFUSED } from '../table/processors.js';
import {
  isAsked,
  isRemote,
  makeReady,
  mappingOf,
  nodeOf,
  processorOf,
  residenceOf,
  type State,
  shortageOf,
  usesHostMemory,
} from '../table/state.js';
import { lackingForBlock } from '../table/unit-memory.js';
import { keepWhole, unitsAround } from '../table/units.js';
import {
  type Block,
  isAwaited,
  isUnrestricted,
  type Mapping,
  NO_PAGES,
  noteWaiting,
  rareMask,
  stopWaiting,
} from '../table/va-block.js';

/**
 * How often it must have been said that there is no room still, with no page brought for a
 * processor meanwhile, until it is refused.
 */
export const ROOM_TRIES = 5;

/** Each stand-in page in host memory splits a mapping; the kernel allows 65,530. */
const COVERED_PAGES = 8192;

/** The fault that is served just now. */
const touch = new SeenTouch();

export function serviceFaults(state: State, block: Block, failure: Status): void {
  const count = block.mappings.length;
  if (failure !== Status.Done) putFirst(block, block.ended.page);
  for (let step = 0; step < count; step++) {
    const id = (block.turn + step) % count;
    const mapping = block.mappings[id];
    while (mapping?.waiting === true) {
      const processor = processorOf(state, id);
      if (mapping.waitsForRoom && processor.state === 'alive') break;
      const { mark } = state.masks;
      let outcome = serviceFault(state, block, processor, mapping, failure, false, false);
      // There may be room for the page alone, to be read at least.
      if (outcome === 'stuck')
        outcome = serviceFault(state, block, processor, mapping, failure, false, true);
      if (outcome === 'stuck') {
        const short = nodeOf(state, mapping.node);
        if (evictShielded(state, block, short)) {
          short.waiters.append(block.index);
          outcome = 'blocked';
        } else if (waitsForRoom(state, block, processor)) outcome = 'blocked';
        else outcome = serviceFault(state, block, processor, mapping, failure, true, true);
      }
      state.masks.backTo(mark);
      failure = Status.Done;
      if (outcome === 'started') {
        block.turn = (id + 1) % count;
        return;
      }
      if (outcome !== 'done') break;
    }
  }
}

/**
 * A disk that is full may have room again soon: threads wait for that, but not for ever. A device
 * that was refused once is refused at once until its launch has ended, which fails anyway.
 */
function waitsForRoom(state: State, block: Block, processor: Processor): boolean {
  if (processor.state !== 'alive' || shortageOf(state) !== 'OUT_OF_STORAGE') return false;
  if (processor.waited < ROOM_TRIES) {
    state.waitsForRoom.append(block.index);
    mappingOf(state, block, processor.id).waitsForRoom = true;
    processor.lacksRoom = true;
    return true;
  }
  if (!usesHostMemory(processor)) processor.waited = REFUSED;
  return false;
}

/** Whether its clones, or its source in another range, found no room. */
function lacksRoomElsewhere(
  state: State,
  block: Block,
  page: number,
  reason: DenyReason | null,
  failure: Status,
  unitPages: number,
): boolean {
  if (reason === 'OUT_OF_MEMORY') return failure === Status.SourceStarved;
  return reason === 'OUT_OF_STORAGE' && !meetsUnit(state, block, page, unitPages, block.lost);
}

/** The page that failed comes first: else its threads might never hear of the failure. */
function putFirst(block: Block, page: number): void {
  if (page === -1) return;
  for (let id = 0; id < block.mappings.length; id++) {
    const mapping = block.mappings[id];
    if (mapping?.waiting !== true || !isAwaited(mapping, page)) continue;
    mapping.urgentPage = page;
    block.turn = id;
    return;
  }
}

function serviceFault(
  state: State,
  block: Block,
  processor: Processor,
  mapping: Mapping,
  failure: Status,
  stuck: boolean,
  single: boolean,
): Outcome {
  const page = nextWaiting(mapping);
  const node = nodeOf(state, mapping.node);
  endAhead(block, node);
  const wanted = has(mapping.waitingWrite, page);
  if (processor.state !== 'alive') return dismiss(mapping, page);
  const base = block.index * PAGES_PER_BLOCK;
  if (has(wanted ? mapping.writable : mapping.mapped, page)) {
    state.commands.wake(
      processor.id,
      base + page,
      1,
      has(mapping.writable, page) ? Access.Write : Access.Read,
    );
    return dismiss(mapping, page);
  }
  const { unitPages } = node;
  // A page that came along may have been what failed: only a failure of this page alone is its own.
  const narrow = failure !== Status.Done || block.attempts > 0;
  const mine = narrow && block.ended.only === page ? failure : Status.Done;
  const failed = mine !== Status.Done && givesUp(block, mine) ? reasonOf(mine) : null;
  const forbidden =
    denial(block, node.id, page, wanted) ??
    (unitPages > 1 ? denialAround(state, block, node, page, wanted) : null);
  const found = stuck
    ? shortageOf(state)
    : (forbidden ?? (mapping.failedPage === page ? mapping.failure : failed));
  const lacks = !stuck && lacksRoomElsewhere(state, block, page, found, mine, unitPages);
  if (lacks && waitsForRoom(state, block, processor)) {
    block.attempts = 0;
    return 'blocked';
  }
  // A copy that found no room is made again where there is some by now.
  const again = lacks && found === 'OUT_OF_STORAGE' && shortageOf(state) !== found;
  const reason = again ? null : lacks ? shortageOf(state) : found;
  // A late read of freed memory on the host gives zeros, after a warning: it is a mistake, but
  // spoils no content.
  const late = reason === 'FREED' && isOwner(processor.id) && !wanted;
  if (late)
    state.commands.deny(processor.id, base + page, wanted, mapping.urgentThread, reason, false);
  else if (isForOthersToAllow(block, processor, reason))
    return want(state, block, mapping, page, wanted);
  else if (reason !== null) {
    const residence = block.residences[node.id];
    const fails = residence !== undefined && failsToLeave(state, residence);
    // Of what forbids it nothing is kept: that may end before the denial is given.
    if (unitPages > 1 && (stuck || forbidden === null)) {
      mapping.failedPage = page;
      mapping.failure = reason;
    }
    const spent = stuck || fails || (block.attempts >= ATTEMPTS && !isFinal(mine));
    return deny(state, block, processor, node, mapping, page, wanted, reason, spent);
  }
  const cloned = wanted && meetsUnit(state, block, page, unitPages, block.copyOnWrite);
  if (cloned && breakAround(state, block, page, unitPages)) return 'blocked';
  const alone = late || narrow || single;
  const outcome = bringFor(state, block, processor, mapping, node, page, wanted && !cloned, alone);
  if (cloned && outcome === 'started') keepUntilItGoesOn(state, block, node.id);
  return outcome;
}

/** Brings a page that a thread waits for, and what comes along: nothing where it is to come `alone`. */
function bringFor(
  state: State,
  block: Block,
  processor: Processor,
  mapping: Mapping,
  node: Node,
  page: number,
  write: boolean,
  alone: boolean,
): Outcome {
  const inPlace = isRemote(block, processor);
  // Of what is mostly read others keep their copies until a processor really writes.
  const { pattern } = block.advice;
  const base = block.index * PAGES_PER_BLOCK;
  const guarded = isAsked(block, processor);
  const readMostly = block.advice.readMostly || guarded;
  const intent =
    !readMostly && declaredWrite(processor, base + page) && mayWrite(state, block, node, page);
  const owned = !readMostly && ownsAlone(state, block, node, page);
  const access = write || intent || owned ? Access.Write : Access.Read;
  if (state.policies.looksAtTurns && !inPlace)
    noteTurn(state, block, processor, node, page, access === Access.Write);
  touch.look(state, block, processor, mapping, node, page);
  touch.write = access === Access.Write;
  touch.occupied = touch.write ? mapping.writable : mapping.mapped;
  const unasked = touch.write && !write && !intent;
  touch.allowed = companions(
    state,
    block,
    node,
    page,
    access,
    alone || guarded || pattern === 'random',
    unasked,
  );
  processor.prefetch(touch);
  touch.keep();
  processor.reason = touch.reason;
  const { result, ahead, certain } = touch;
  const outcome = inPlace
    ? bringInPlace(state, block, processor, mapping, access, result, page, guarded)
    : (bringAlone(state, block, node, processor, mapping, access, result, page) ??
      migrate(state, block, node, processor, access, result, page, null));
  const comes = outcome === 'started' || outcome === 'done';
  processor.stalled = comes ? -1 : base + page;
  if (!comes) return outcome;
  if (ahead > 0 && !guarded) bringAhead(state, block, processor, node, access, ahead, certain);
  return outcome;
}

function nextWaiting(mapping: Mapping): number {
  const { urgentPage } = mapping;
  if (urgentPage !== -1 && isAwaited(mapping, urgentPage)) return urgentPage;
  const page = next(mapping.waitingWrite, 0);
  return page < PAGES_PER_BLOCK ? page : next(mapping.waitingRead, 0);
}

function dismiss(mapping: Mapping, page: number): Outcome {
  stopWaiting(mapping, page);
  return 'done';
}

/**
 * Pages that a fault may bring, its own among them: `alone` only that one, `owned` those that the
 * node has alone. What is returned may be the block's own mask.
 */
function companions(
  state: State,
  block: Block,
  { id: node, unitPages }: Node,
  page: number,
  access: Access,
  alone: boolean,
  owned: boolean,
): Mask {
  const { inside, freed, lost } = block;
  const { scratch } = residenceOf(state, block, node);
  const free =
    freed === NO_PAGES && lost === NO_PAGES && scratch === NO_PAGES && isUnrestricted(block);
  if (free && !alone && !owned) return inside;
  const allowed = state.masks.take();
  if (alone) unitOf(state, block, page, unitPages, allowed);
  else {
    setAndNot(allowed, inside, freed);
    andNot(allowed, lost);
    excludeScratch(state, block, node, allowed);
    excludeForbidden(block, node, access, allowed);
  }
  if (owned) keepOwned(state, block, node, allowed);
  if (unitPages > 1) keepWhole(state, block, allowed, unitPages);
  return allowed;
}

/** The page, or all of its unit that has content. */
function unitOf(state: State, block: Block, page: number, unitPages: number, result: Mask): void {
  clear(result);
  add(result, page);
  if (unitPages === 1) return;
  const { mark } = state.masks;
  result.set(unitsAround(state, block, result, unitPages));
  state.masks.backTo(mark);
  add(result, page);
}

/** Leaves out what is protected against it, or must first be copied for clones or unpinned. */
function excludeForbidden(block: Block, node: NodeId, access: Access, mask: Mask): void {
  andNot(mask, block.unreadable);
  if (access !== Access.Write) return;
  andNot(mask, block.unwritable);
  andNot(mask, block.copyOnWrite);
  if (node !== HOST_NODE) andNot(mask, block.pinned);
}

/** Whether the mask has something of the page's unit, which may be the page alone. */
function meetsUnit(
  state: State,
  block: Block,
  page: number,
  unitPages: number,
  mask: Mask,
): boolean {
  if (unitPages === 1 || mask === NO_PAGES) return has(mask, page);
  const { mark } = state.masks;
  const unit = state.masks.take();
  unitOf(state, block, page, unitPages, unit);
  const meets = intersects(unit, mask);
  state.masks.backTo(mark);
  return meets;
}

/**
 * Copies for clones are made by 64 KiB: a processor that writes a page mostly writes its
 * neighbours, too. False: the page, or one of its unit, must be fetched before.
 */
function breakAround(state: State, block: Block, page: number, unitPages: number): boolean {
  const group = state.masks.take();
  const absent = state.masks.take();
  clear(group);
  const pages = Math.max(PAGES_PER_GROUP, unitPages);
  addRun(group, page - (page % pages), pages);
  absentPages(state, block, group, absent);
  if (meetsUnit(state, block, page, unitPages, absent)) return false;
  and(group, block.copyOnWrite);
  andNot(group, absent);
  andNot(group, block.lost);
  breakCopyOnWrite(state, block, group, false);
  return true;
}

function mayWrite(state: State, block: Block, { id, unitPages }: Node, page: number): boolean {
  const { unwritable, copyOnWrite, pinned } = block;
  if (meetsUnit(state, block, page, unitPages, unwritable)) return false;
  if (meetsUnit(state, block, page, unitPages, copyOnWrite)) return false;
  return id === HOST_NODE || !meetsUnit(state, block, page, unitPages, pinned);
}

/** Why the page's unit cannot be had because of another page of it. */
function denialAround(
  state: State,
  block: Block,
  { id, unitPages }: Node,
  page: number,
  write: boolean,
): DenyReason | null {
  const { scratch } = residenceOf(state, block, id);
  if (isUnrestricted(block) && block.lost === NO_PAGES && scratch === NO_PAGES) return null;
  const { mark } = state.masks;
  const unit = state.masks.take();
  unitOf(state, block, page, unitPages, unit);
  let reason: DenyReason | null = standsIn(state, block, id, unit) ? 'OUT_OF_MEMORY' : null;
  for (let each = next(unit, 0); each < PAGES_PER_BLOCK; each = next(unit, each + 1))
    reason ??= denial(block, id, each, write);
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
function isForOthersToAllow(
  { range }: Block,
  processor: Processor,
  reason: DenyReason | null,
): boolean {
  const asks = usesHostMemory(processor);
  return range.shared === true && asks && (reason === 'NO_ACCESS' || reason === 'READ_ONLY');
}

/** Threads wait for the right out of the way of other pages of the block: it may take long. */
function want(state: State, block: Block, mapping: Mapping, page: number, write: boolean): Outcome {
  remove(write ? mapping.waitingWrite : mapping.waitingRead, page);
  noteWaiting(mapping);
  add(rareMask(mapping, write ? 'wantedWrite' : 'wantedRead'), page);
  state.commands.want(block.index * PAGES_PER_BLOCK + page, write);
  return 'done';
}

/** Threads of a processor that want a right to `count` pages from `page` on do not get it. */
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
  for (let page = from; page < from + count; page++) {
    const write = has(mapping.wantedWrite, page);
    if (!write && !has(mapping.wantedRead, page)) continue;
    remove(mapping.wantedRead, page);
    remove(mapping.wantedWrite, page);
    if (
      reason === 'OUT_OF_STORAGE' &&
      (shortageOf(state) !== reason || waitsForRoom(state, block, processor))
    ) {
      add(write ? mapping.waitingWrite : mapping.waitingRead, page);
      noteWaiting(mapping);
      continue;
    }
    tellDenied(state, block, processor, page, write, reason, false);
  }
}

/**
 * A thread of host memory cannot be sent on, so that its denial is for the pager to carry out:
 * nothing stands in for the page, which such a thread asks for again once it may have it. A device's
 * thread goes on with a scratch page of zeros that no other processor ever sees, and its launch
 * fails.
 */
function deny(
  state: State,
  block: Block,
  processor: Processor,
  node: Node,
  mapping: Mapping,
  page: number,
  write: boolean,
  reason: DenyReason,
  stranded: boolean,
): Outcome {
  if (usesHostMemory(processor)) {
    block.attempts = 0;
    tellDenied(state, block, processor, page, write, reason, false);
    // Others may still wait to read what this one may not write.
    if (reason !== 'READ_ONLY') return dismiss(mapping, page);
    remove(mapping.waitingWrite, page);
    noteWaiting(mapping);
    return 'done';
  }
  if (isRemote(block, processor))
    return coverInPlace(state, block, processor, mapping, page, write, reason);
  if (stranded) {
    // Nothing can be moved for this device any more, not even a scratch page in: the pager takes it
    // for dead.
    if (reason !== 'OUT_OF_MEMORY' && reason !== 'OUT_OF_STORAGE') reason = 'COPY_FAILED';
    block.attempts = 0;
    tellDenied(state, block, processor, page, write, reason, true);
    return dismiss(mapping, page);
  }
  const mask = state.masks.take();
  const { unitPages } = node;
  clear(mask);
  addRun(mask, page - (page % unitPages), unitPages);
  const residence = residenceOf(state, block, node.id);
  // A copy reads or writes the page just now: what stands in for it waits until that is through.
  if (isHeldAgainst(residence, Access.Write, mask)) return 'blocked';
  const alone = holderOf(state, block, page, node.id) === NO_NODE;
  // What may not even be read must not show through what stands in for it; what may, the device has
  // read before.
  const hidden = reason !== 'READ_ONLY' && reason !== 'PINNED';
  const isShown =
    unitPages > 1
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
  // Memory that was kept has the content of an earlier time, also of the rest of a unit.
  if (!has(residence.resident, page) && !isSubset(mask, residence.scratch))
    releaseBacking(state, block, node, mask);
  const lacking = node.large === null ? unitPages : lackingForBlock(node, block);
  if (!has(residence.backed, page) && !reclaim(state, block, node, lacking))
    return waitForMemory(state, block, node, null);
  tellDenied(state, block, processor, page, write, reason, false);
  return standIn(state, block, processor, page, 'scratch', unitPages);
}

function tellDenied(
  state: State,
  block: Block,
  processor: Processor,
  page: number,
  write: boolean,
  reason: DenyReason,
  stranded: boolean,
): void {
  processor.counters.denied++;
  const { urgentThread } = mappingOf(state, block, processor.id);
  const at = block.index * PAGES_PER_BLOCK + page;
  state.commands.deny(processor.id, at, write, urgentThread, reason, stranded);
}

/**
 * Where host memory is reached in place the processor has none of its own that could stand in: its
 * driver puts a page there that it keeps for itself. It stays until the block is remapped, which is
 * before the next launch that uses it.
 */
function coverInPlace(
  state: State,
  block: Block,
  processor: Processor,
  mapping: Mapping,
  page: number,
  write: boolean,
  reason: DenyReason,
): Outcome {
  const stranded = processor.coveredPages >= COVERED_PAGES;
  block.attempts = 0;
  tellDenied(state, block, processor, page, write, reason, stranded);
  if (stranded) return dismiss(mapping, page);
  return standIn(state, block, processor, page, 'cover', 1);
}

/** Has a page that no other processor ever sees stand in for one that the processor was denied. */
function standIn(
  state: State,
  block: Block,
  processor: Processor,
  page: number,
  kind: 'scratch' | 'cover',
  unitPages: number,
): Outcome {
  const mask = state.masks.take();
  clear(mask);
  addRun(mask, page - (page % unitPages), unitPages);
  const operation = open(block, kind, processor.localNode, processor.id, mask);
  operation.access = Access.Write;
  operation.map = true;
  operation.urgentPage = page;
  start(state, block, operation);
  return 'started';
}

/** The only copy is here, and written: giving write access takes nothing from anybody. */
function ownsAlone(state: State, block: Block, node: Node, page: number): boolean {
  const residence = block.residences[node.id];
  if (residence === undefined || !has(residence.resident, page) || !has(block.dirty, page))
    return false;
  if (!mayWrite(state, block, node, page)) return false;
  if (node.unitPages > 1) return ownsUnit(state, block, node, page);
  return holderOf(state, block, page, node.id) === NO_NODE;
}

function ownsUnit(state: State, block: Block, node: Node, page: number): boolean {
  const { mark } = state.masks;
  const unit = state.masks.take();
  const owned = state.masks.take();
  unitOf(state, block, page, node.unitPages, unit);
  owned.set(unit);
  keepOwned(state, block, node.id, owned);
  const isAlone = equals(unit, owned);
  state.masks.backTo(mark);
  return isAlone;
}

function keepOwned(state: State, block: Block, node: NodeId, mask: Mask): void {
  const { resident } = residenceOf(state, block, node);
  and(mask, resident);
  and(mask, block.dirty);
  onlyOn(state, block, node, mask, mask);
}

function declaredWrite(processor: Processor, page: number): boolean {
  for (const intent of processor.intents) {
    if (intent.write && page >= intent.first && page < intent.end) return true;
  }
  return false;
}
