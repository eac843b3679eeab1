/** Bringing pages to a processor and taking them away: what every task and every fault comes down to. */

import { isFinal } from './absence.js';
import { add, addRun, bitCount, clear, has, isEmpty, type Mask, next, WORDS } from './mask.js';
import { ATTEMPTS, begin, type OperationPlan } from './operation.js';
import { evictBlock, reclaim } from './reclaim.js';
import {
  conflictsWithHold,
  holderOf,
  isHeld,
  makeReady,
  mappingOf,
  nodeOf,
  type Processor,
  processorOf,
  releaseBacking,
  residenceOf,
  type State,
  somethingMoves,
} from './state.js';
import { Access, HOST, PAGES_PER_BLOCK, type Status } from './types.js';
import { type Block, isProvided, rareMask, type Task } from './va-block.js';

export const plan: OperationPlan = {
  kind: 'migrate',
  processor: 0,
  access: Access.None,
  map: true,
  urgentPage: -1,
  exclusive: false,
  task: null,
};

/**
 * `started`: an operation runs, or has run. `done`: nothing was left to do. `blocked`: something else must end first.
 * `stuck`: memory is needed and nothing that is under way will give any.
 */
export type Outcome = 'started' | 'done' | 'blocked' | 'stuck';

/** Brings `mask` to the processor; the caller has taken out of it what must not move. */
export function migrate(
  state: State,
  block: Block,
  processor: Processor,
  access: Access,
  map: boolean,
  mask: Mask,
  urgentPage: number,
  task: Task | null,
): Outcome {
  if (conflictsWithHold(state, block, processor.id, access, mask)) return 'blocked';
  if (!processor.description.addressable) {
    // Two memories that the manager cannot address have no way to each other but over the host, nor has a file to them.
    const detour = state.maskB;
    if (pagesByHost(state, block, processor, mask, detour)) {
      // Room at the end of the way comes first, and the copy on the host stays until the block goes on: otherwise blocks that
      // go this way together on little memory could drop each other's copies for ever.
      if (!hasRoom(state, block, processor, mask)) return waitForMemory(state, block, processor);
      pagesByHost(state, block, processor, mask, detour);
      const host = processorOf(state, HOST);
      const outcome = transferTo(state, block, host, Access.Read, false, detour, urgentPage, task);
      if (outcome === 'started') {
        block.onDetour = true;
        residenceOf(state, block, HOST).protectedBy++;
      }
      return outcome;
    }
  }
  return transferTo(state, block, processor, access, map, mask, urgentPage, task);
}

/** Whether the node has memory for these pages, or could be made to have it at once. */
function hasRoom(state: State, block: Block, processor: Processor, mask: Mask): boolean {
  const { backed } = residenceOf(state, block, processor.id);
  let pages = 0;
  for (let word = 0; word < WORDS; word++) {
    const bits = mask[word];
    if (bits !== 0) pages += bitCount(bits & ~backed[word]);
  }
  if (pages === 0) return true;
  state.keep = block;
  const room = reclaim(state, processor, pages, block);
  state.keep = null;
  return room;
}

function transferTo(
  state: State,
  block: Block,
  processor: Processor,
  access: Access,
  map: boolean,
  mask: Mask,
  urgentPage: number,
  task: Task | null,
): Outcome {
  const { needed } = state;
  for (let word = 0; word < WORDS; word++) needed[word] = mask[word];
  if (!hasRoom(state, block, processor, needed)) return waitForMemory(state, block, processor);
  plan.kind = 'migrate';
  plan.processor = processor.id;
  plan.access = access;
  plan.map = map;
  plan.urgentPage = urgentPage;
  plan.exclusive = task?.exclusive ?? false;
  plan.task = task;
  begin(state, block, plan, needed);
  if (block.operation === null) makeReady(state, block);
  return 'started';
}

function pagesByHost(state: State, block: Block, processor: Processor, mask: Mask, detour: Mask): boolean {
  clear(detour);
  let any = false;
  const own = block.residences[processor.id];
  for (let page = next(mask, 0); page < PAGES_PER_BLOCK; page = next(mask, page + 1)) {
    if (own !== undefined && has(own.resident, page)) continue;
    // Zeros are made where they are wanted.
    if (!isProvided(block, page) && !has(block.dirty, page)) continue;
    const holder = holderOf(state, block, page, processor.id);
    const far = holder === -1 || !processorOf(state, holder).description.addressable;
    if (far) {
      add(detour, page);
      any = true;
    }
  }
  return any;
}

export function waitForMemory(state: State, block: Block, processor: Processor): Outcome {
  if (!somethingMoves(state, processor.id) && !processor.pump) return 'stuck';
  if (!processor.waiters.has(block.index)) processor.waiters.append(block.index);
  return 'blocked';
}

/** What stands in for denied pages on a node stays until the launch ends; the pages themselves cannot come there meanwhile. */
export function excludeScratch(block: Block, node: number, mask: Mask): void {
  const residence = block.residences[node];
  if (residence === undefined) return;
  for (let word = 0; word < WORDS; word++) mask[word] &= ~residence.scratch[word];
}

/** Pages of the block that have, or could have, content that a processor may see. */
export function present(block: Block, word: number): number {
  return block.inside[word] & ~(block.freed[word] | block.lost[word] | block.unreadable[word]);
}

/**
 * Pages of the mask that have to come from their provider first. A processor that wants to write cloned pages has them fetched before they are saved
 * for the clones: if they cannot be had he fails, and the clones have lost nothing.
 */
export function absentPages(state: State, block: Block, mask: Mask, result: Mask): void {
  for (let word = 0; word < WORDS; word++) {
    result[word] = block.range.provided ? mask[word] & ~(block.blank[word] | block.freed[word] | block.lost[word]) : 0;
  }
  for (let node = 0; node < block.residences.length; node++) {
    const residence = block.residences[node];
    if (residence === undefined || state.processors[node]?.gone === true) continue;
    for (let word = 0; word < WORDS; word++) result[word] &= ~residence.resident[word];
  }
}

/**
 * Asks for copies of cloned pages that a processor is about to write, or, with `lastChance`, whose content is about to be forgotten. The
 * block goes on when they have been made.
 */
export function save(state: State, block: Block, mask: Mask, lastChance: boolean): void {
  const base = block.index * PAGES_PER_BLOCK;
  for (let first = next(mask, 0); first < PAGES_PER_BLOCK; ) {
    let end = first;
    while (end < PAGES_PER_BLOCK && has(mask, end) && !has(block.saving, end)) end++;
    if (end > first) {
      addRun(rareMask(block, 'saving'), first, end - first);
      state.saves += end - first;
      state.commands.save(base + first, end - first, lastChance);
    }
    first = next(mask, Math.max(end, first + 1));
  }
}

/** Whether all these pages are where the task wants them, with the access that it wants. */
export function isDone(
  state: State,
  block: Block,
  processor: number,
  map: boolean,
  access: Access,
  pages: Mask,
): boolean {
  const residence = residenceOf(state, block, processor);
  const mapping = mappingOf(block, processor);
  const write = access === Access.Write;
  for (let word = 0; word < WORDS; word++) {
    let good = residence.resident[word];
    if (map) good &= write ? mapping.writable[word] : mapping.mapped[word];
    else if (write) good &= block.dirty[word];
    if ((pages[word] & ~good) !== 0) return false;
  }
  if (map) return true;
  for (let other = 0; other < block.mappings.length; other++) {
    if (nodeOf(block, other) === processor) continue;
    const theirs = block.mappings[other];
    const copies = block.residences[other];
    for (let word = 0; word < WORDS; word++) {
      if (theirs !== undefined && (theirs.writable[word] & ~(copies?.scratch[word] ?? 0) & pages[word]) !== 0)
        return false;
      if (write && copies !== undefined && (copies.resident[word] & pages[word]) !== 0) return false;
    }
  }
  return true;
}

export function sendHome(state: State, block: Block, task: Task): Outcome {
  const processor = state.processors[task.processor];
  const residence = block.residences[task.processor];
  if (processor === undefined || residence === undefined) return 'done';
  if (processor.state !== 'dead' && isHeld(block, processor.id)) return 'blocked';
  // Its threads have ended, so that nobody needs what stood in for pages that they were denied.
  if (!isEmpty(residence.scratch)) releaseBacking(state, block, processor, residence.scratch.slice());
  if (residence.backedCount === 0) return 'done';
  if (!evictBlock(state, block, processor)) return waitForMemory(state, block, processorOf(state, HOST));
  block.spareOperation.task = task;
  return 'started';
}

/** Begins an operation that moves no page. */
export function immediate(state: State, block: Block, task: Task, mask: Mask): Outcome {
  plan.processor = task.processor;
  plan.map = false;
  plan.urgentPage = -1;
  plan.exclusive = false;
  plan.task = task;
  begin(state, block, plan, mask);
  return block.operation === null ? 'done' : 'started';
}

export function givesUp(block: Block, failure: Status): boolean {
  return isFinal(failure) || block.attempts >= ATTEMPTS;
}
