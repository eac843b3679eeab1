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
import { givesUp, putsOff } from '../movement/attempts.js';
import { bringAlone } from '../movement/lone-page.js';
import {
  absentPages,
  breakCopyOnWrite,
  bring,
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
import { isAsked, isRemote, nodeOf, processorOf, type State, shortageOf } from '../table/state.js';
import { type Block, forgetFailure, isAwaited, type Mapping } from '../table/va-block.js';
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

export function serviceFaults(state: State, block: Block): void {
  const count = block.mappings.length;
  for (let step = 0; step < count; step++) {
    const id = (block.nextServed + step) % count;
    const mapping = block.mappings[id];
    while (mapping?.waiting === true) {
      const processor = processorOf(state, id);
      if (mapping.waitsForRoom && processor.state === 'alive') break;
      const node = nodeOf(state, mapping.node);
      fault.of(block, processor, mapping, node);
      const { mark } = state.masks;
      let outcome = serviceFault(state, fault, false, false);
      // There may be room for the page alone, to be read at least.
      if (outcome === 'stuck') outcome = serviceFault(state, fault, false, true);
      if (outcome === 'stuck') {
        if (evictShielded(state, block, node)) {
          node.waiters.append(block.index);
          outcome = 'blocked';
        } else if (waitsForRoom(state, fault)) outcome = 'blocked';
        else outcome = serviceFault(state, fault, true, true);
      }
      state.masks.backTo(mark);
      if (outcome === 'started') {
        block.nextServed = (id + 1) % count;
        return;
      }
      if (outcome !== 'done') break;
    }
  }
}

function serviceFault(state: State, fault: Fault, stuck: boolean, single: boolean): Outcome {
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
  const failure = mapping.failedPage === page ? mapping.failure : Status.Done;
  const failed = mapping.failedPage === page && givesUp(mapping) ? reasonOf(failure) : null;
  if (failed === null && putsOff(state, block, mapping)) return 'blocked';
  const found = stuck ? shortageOf(state) : (denialOf(state, fault) ?? failed);
  const lacks = !stuck && lacksRoomElsewhere(state, fault, found, failure);
  if (lacks && waitsForRoom(state, fault)) {
    forgetFailure(mapping);
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
    const spent = stuck || fails || (mapping.attempts >= ATTEMPTS && !isFinal(failure));
    return deny(state, fault, reason, spent);
  }
  const narrow = mapping.attempts > 0;
  const cloned = wanted && meetsGranule(state, fault, block.copyOnWrite);
  if (cloned && breakAround(state, fault)) return 'blocked';
  const outcome = bringFor(state, fault, wanted && !cloned, late || narrow || single);
  if (cloned && outcome === 'started') keepUntilItGoesOn(state, block, node.id);
  return outcome;
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
  const { failedPage, urgentPage } = mapping;
  // Else a thread might never hear of what failed while others of its processor come.
  if (failedPage !== -1) return failedPage;
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
