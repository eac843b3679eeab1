/** Faults that wait: each page in its turn comes, with what comes along, or is denied. */

import { addRun, and, andNot, clear, has, next, size } from '../basics/mask.js';
import {
  Access,
  isOwner,
  PAGES_PER_BLOCK,
  PAGES_PER_GROUP,
  type Reason,
  Status,
} from '../basics/types.js';
import { bringAlone } from '../movement/lone-page.js';
import {
  absentPages,
  breakCopyOnWrite,
  bring,
  givesUp,
  keepUntilItGoesOn,
  type Outcome,
} from '../movement/moves.js';
import { ATTEMPTS } from '../movement/operation.js';
import { notePassed } from '../movement/passed.js';
import { evictShielded, failsToLeave } from '../movement/reclaim.js';
import { bringInPlace } from '../movement/remote-mapping.js';
import { bringAhead } from '../pattern/read-ahead.js';
import { SeenTouch } from '../pattern/touch.js';
import { noteTurn } from '../pattern/turns.js';
import { isFinal, reasonOf } from '../table/absence.js';
import { endAhead } from '../table/backing.js';
import { Fault } from '../table/fault.js';
import { granulePagesOf } from '../table/granules.js';
import { isAsked, isRemote, nodeOf, processorOf, type State, shortageOf } from '../table/state.js';
import { type Block, isAwaited, type Mapping } from '../table/va-block.js';
import type { Ended } from '../table/work.js';
import { companions, isToBeWritten, meetsGranule, ownsAlone } from './companions.js';
import {
  denialOf,
  deny,
  dismiss,
  isForOthersToAllow,
  lacksRoomElsewhere,
  waitsForRoom,
  want,
} from './denials.js';

/**
 * Why a processor is brought a part of a block. Of a block that is there, in memory that it reaches
 * in place, no more is mapped then: to map all of it costs as much as twelve faults.
 */
const IN_PARTS: readonly Reason[] = ['near', 'dense', 'stride'];
/** With so many pages of it mapped here and there, the rest is mapped. */
const MANY = 4 * PAGES_PER_GROUP;

/** The fault that is served just now, and what a policy sees of it. */
const fault = new Fault();
const touch = new SeenTouch();

export function serviceFaults(state: State, block: Block, failure: Status): void {
  const count = block.mappings.length;
  if (failure !== Status.Done) putFirst(block, block.ended);
  for (let step = 0; step < count; step++) {
    const id = (block.nextServed + step) % count;
    const mapping = block.mappings[id];
    while (mapping?.waiting === true) {
      const processor = processorOf(state, id);
      if (mapping.waitsForRoom && processor.state === 'alive') break;
      const node = nodeOf(state, mapping.node);
      fault.of(block, processor, mapping, node);
      const { mark } = state.masks;
      let outcome = serviceFault(state, fault, failure, false, false);
      // There may be room for the page alone, to be read at least.
      if (outcome === 'stuck') outcome = serviceFault(state, fault, failure, false, true);
      if (outcome === 'stuck') {
        if (evictShielded(state, block, node)) {
          node.waiters.append(block.index);
          outcome = 'blocked';
        } else if (waitsForRoom(state, fault)) outcome = 'blocked';
        else outcome = serviceFault(state, fault, failure, true, true);
      }
      state.masks.backTo(mark);
      failure = Status.Done;
      if (outcome === 'started') {
        block.nextServed = (id + 1) % count;
        return;
      }
      if (outcome !== 'done') break;
    }
  }
}

/**
 * The page that failed comes first, where it was to come: else its threads might never hear of the
 * failure.
 */
function putFirst(block: Block, { page, node }: Ended): void {
  if (page === -1) return;
  let first = -1;
  for (let id = 0; id < block.mappings.length; id++) {
    const mapping = block.mappings[id];
    if (mapping?.waiting !== true || !isAwaited(mapping, page)) continue;
    if (first === -1 || mapping.node === node) first = id;
  }
  const mapping = block.mappings[first];
  if (mapping === undefined) return;
  mapping.urgentPage = page;
  block.nextServed = first;
}

function serviceFault(
  state: State,
  fault: Fault,
  failure: Status,
  stuck: boolean,
  single: boolean,
): Outcome {
  const { block, processor, mapping, node } = fault;
  const page = nextWaiting(mapping);
  const wanted = has(mapping.waitingWrite, page);
  fault.page = page;
  fault.write = wanted;
  endAhead(block, node);
  if (processor.state !== 'alive') return dismiss(fault);
  const at = block.index * PAGES_PER_BLOCK + page;
  if (has(wanted ? mapping.writable : mapping.mapped, page)) {
    const access = has(mapping.writable, page) ? Access.Write : Access.Read;
    state.commands.wake(processor.id, at, 1, access);
    return dismiss(fault);
  }
  const narrow = failure !== Status.Done || block.attempts > 0;
  const mine = narrow && isOfPage(state, fault) ? failure : Status.Done;
  const failed = mine !== Status.Done && givesUp(block, mine) ? reasonOf(mine) : null;
  const forbidden = denialOf(state, fault);
  const found = stuck
    ? shortageOf(state)
    : (forbidden ?? (mapping.failedPage === page ? mapping.failure : failed));
  const lacks = !stuck && lacksRoomElsewhere(state, fault, found, mine);
  if (lacks && waitsForRoom(state, fault)) {
    block.attempts = 0;
    return 'blocked';
  }
  // A copy that found no room is made again where there is some by now.
  const again = lacks && found === 'OUT_OF_STORAGE' && shortageOf(state) !== found;
  const reason = again ? null : lacks ? shortageOf(state) : found;
  // A late read of freed memory on the host gives zeros, after a warning: it is a mistake, but
  // spoils no content.
  const late = reason === 'FREED' && isOwner(processor.id) && !wanted;
  if (late) state.commands.deny(processor.id, at, wanted, mapping.urgentThread, reason, false);
  else if (isForOthersToAllow(fault, reason)) return want(state, fault);
  else if (reason !== null) {
    const residence = block.residences[node.id];
    const fails = residence !== undefined && failsToLeave(state, residence);
    // Of what forbids it nothing is kept: that may end before the denial is given.
    if (node.granulePages > 1 && (stuck || forbidden === null)) {
      mapping.failedPage = page;
      mapping.failure = reason;
    }
    const spent = stuck || fails || (block.attempts >= ATTEMPTS && !isFinal(mine));
    return deny(state, fault, reason, spent);
  }
  const cloned = wanted && meetsGranule(state, fault, block.copyOnWrite);
  if (cloned && breakAround(state, fault)) return 'blocked';
  const outcome = bringFor(state, fault, wanted && !cloned, late || narrow || single);
  if (cloned && outcome === 'started') keepUntilItGoesOn(state, block, node.id);
  return outcome;
}

/**
 * Whether what failed was about this page alone, or about its granule where the processor has
 * granules. A page that came along may have been what failed.
 */
function isOfPage(state: State, { block, node, page }: Fault): boolean {
  const { ended } = block;
  return ended.only === page && (ended.node === node.id || granulePagesOf(state, ended.node) === 1);
}

/**
 * Brings a page that a thread waits for, and what comes along: nothing where it is to come `alone`.
 */
function bringFor(state: State, fault: Fault, write: boolean, alone: boolean): Outcome {
  const { block, processor, mapping, page } = fault;
  const inPlace = isRemote(block, processor);
  // Of what is mostly read others keep their copies until a processor really writes.
  const { pattern } = block.advice;
  const guarded = isAsked(block, processor);
  const readMostly = block.advice.readMostly || guarded;
  const intent = !readMostly && isToBeWritten(state, fault);
  const owned = !readMostly && ownsAlone(state, fault);
  fault.access = write || intent || owned ? Access.Write : Access.Read;
  if (state.policies.looksAtTurns && !inPlace) noteTurn(state, fault);
  touch.look(state, fault);
  touch.occupied = touch.write ? mapping.writable : mapping.mapped;
  const unasked = touch.write && !write && !intent;
  touch.allowed = companions(state, fault, alone || guarded || pattern === 'random', unasked);
  processor.prefetch(touch);
  touch.keep();
  processor.reason = touch.reason;
  const { result, ahead, certain } = touch;
  if (!inPlace) notePassed(state, fault, result, touch.reason);
  const outcome = inPlace
    ? bringInPlace(state, fault, result, isForPart(touch.reason, mapping), guarded)
    : (bringAlone(state, fault, result) ?? bring(state, fault, result));
  const comes = outcome === 'started' || outcome === 'done';
  processor.stalled = comes ? -1 : block.index * PAGES_PER_BLOCK + page;
  if (!comes) return outcome;
  if (ahead > 0 && !guarded) bringAhead(state, fault, ahead, certain);
  return outcome;
}

/** Whether the processor is taken to use no more of the block than what it is brought. */
function isForPart(reason: Reason, { mapped }: Mapping): boolean {
  return IN_PARTS.includes(reason) && (reason === 'stride' || size(mapped) < MANY);
}

function nextWaiting(mapping: Mapping): number {
  const { urgentPage } = mapping;
  if (urgentPage !== -1 && isAwaited(mapping, urgentPage)) return urgentPage;
  const page = next(mapping.waitingWrite, 0);
  return page < PAGES_PER_BLOCK ? page : next(mapping.waitingRead, 0);
}

/**
 * Copies for clones are made by 64 KiB: a processor that writes a page mostly writes its
 * neighbours, too. False: the page, or one of its granule, must be fetched before.
 */
function breakAround(state: State, fault: Fault): boolean {
  const { block, page } = fault;
  const group = state.masks.take();
  const absent = state.masks.take();
  clear(group);
  const pages = Math.max(PAGES_PER_GROUP, fault.node.granulePages);
  addRun(group, page - (page % pages), pages);
  absentPages(state, block, group, absent);
  if (meetsGranule(state, fault, absent)) return false;
  and(group, block.copyOnWrite);
  andNot(group, absent);
  andNot(group, block.lost);
  breakCopyOnWrite(state, block, group, false);
  return true;
}
