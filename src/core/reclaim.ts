/**
 * Making room on a node. Stale memory goes first, since nobody misses it; then the policy names victims. A victim whose pages
 * have copies elsewhere is dropped at once, others are copied home first, and the block that needs the room waits for that.
 */
import { isEmpty, size, WORDS } from './mask.js';
import { ATTEMPTS, begin, evictedByCopy, type OperationPlan } from './operation.js';
import { classify, isHeld, makeReady, type Processor, processorOf, releaseBacking, type State } from './state.js';
import { Access, HOST } from './types.js';
import type { Block } from './va-block.js';

const plan: OperationPlan = {
  kind: 'evict',
  processor: 0,
  access: Access.None,
  map: false,
  urgentPage: -1,
  exclusive: false,
  task: null,
};

/** Whether `pages` more fit the node's budget now. If not, evictions that will make them fit are under way, when any can be. */
export function reclaim(state: State, processor: Processor, pages: number, forBlock: Block): boolean {
  while (processor.backedPages - processor.evictingPages + pages > processor.budgetPages) {
    const stale = firstStale(state, processor, forBlock);
    if (stale !== null) {
      releaseAll(state, stale, processor);
      continue;
    }
    let victim = chooseVictim(state, processor, forBlock, false);
    if (victim !== null && evictBlock(state, victim, processor)) continue;
    // The host has no room for what the policy would send home; what has a copy elsewhere needs none.
    if (victim !== null) victim = chooseVictim(state, processor, forBlock, true);
    if (victim !== null && evictBlock(state, victim, processor)) continue;
    if (!dropScratch(state, processor, forBlock)) return false;
  }
  return processor.backedPages + pages <= processor.budgetPages;
}

/**
 * Takes back what stands in for denied pages of another block. A launch that goes on over more of them than its device has memory
 * for would otherwise leave no room even for the next one; a thread that touches such a page again is denied again.
 */
function dropScratch(state: State, processor: Processor, forBlock: Block): boolean {
  for (const block of processor.scratchBlocks) {
    const residence = block.residences[processor.id];
    if (block === forBlock || block.operation !== null || residence === undefined || residence.protectedBy > 0)
      continue;
    processor.scratchBlocks.delete(block);
    if (isEmpty(residence.scratch)) continue;
    releaseBacking(state, block, processor, residence.scratch.slice());
    classify(state, block);
    makeReady(state, block);
    return true;
  }
  return false;
}

function chooseVictim(state: State, processor: Processor, forBlock: Block, droppable: boolean): Block | null {
  // What is preferred elsewhere goes first, and what is preferred here last.
  for (let rank = state.preferences ? 0 : 2; rank <= 2; rank++) {
    const may = (index: number): boolean =>
      isEvictable(state, processor, index, forBlock, droppable) && rankOf(state, processor, index) <= rank;
    const index = processor.eviction.evict(may);
    // A policy may come from outside: an answer that was not allowed must not make this an endless loop.
    if (index !== -1 && may(index)) return state.va.blocks.get(index) ?? null;
  }
  return null;
}

function rankOf(state: State, processor: Processor, index: number): number {
  const preferred = state.va.blocks.get(index)?.advice.preferred ?? -1;
  if (preferred === -1) return 1;
  return preferred === processor.id ? 2 : 0;
}

/** Whether evictions of the block have failed so often that trying again must wait for a new reason. */
export function failsToLeave(state: State, block: Block): boolean {
  return block.evictFailures >= ATTEMPTS && block.evictEffort === state.effort;
}

/**
 * The node refused memory that its budget allows: gives something back, so that the next attempt may do better. True if that
 * is under way and worth waiting for.
 */
export function relieve(state: State, processor: Processor, forBlock: Block): boolean {
  const stale = firstStale(state, processor, forBlock);
  if (stale !== null) releaseAll(state, stale, processor);
  else {
    const victim = chooseVictim(state, processor, forBlock, false);
    if (victim !== null) evictBlock(state, victim, processor);
  }
  return processor.evictingPages > 0;
}

/** Starts to bring everything that the node has of the block home. False if the host has no room for it. */
export function evictBlock(state: State, block: Block, processor: Processor): boolean {
  const residence = block.residences[processor.id];
  if (residence === undefined || residence.backedCount === 0) return true;
  const mask = state.evictMask;
  for (let word = 0; word < WORDS; word++) mask[word] = residence.backed[word] & ~residence.scratch[word];
  let room = true;
  if (processor.id !== HOST) {
    const home = processorOf(state, HOST);
    const hostBacked = block.residences[HOST]?.backed;
    evictedByCopy(state, block, processor.id, mask, state.maskA);
    if (hostBacked !== undefined) for (let word = 0; word < WORDS; word++) state.maskA[word] &= ~hostBacked[word];
    const pages = size(state.maskA);
    room = pages === 0 || reclaim(state, home, pages, block);
    for (let word = 0; word < WORDS; word++) mask[word] = residence.backed[word] & ~residence.scratch[word];
  }
  if (room) {
    plan.processor = processor.id;
    begin(state, block, plan, mask);
  }
  return room;
}

function firstStale(state: State, processor: Processor, forBlock: Block): Block | null {
  for (let index = processor.unused.head; index !== -1; index = processor.unused.after(index)) {
    const block = state.va.blocks.get(index);
    if (block === undefined || block === forBlock || block === state.keep || block.operation !== null) continue;
    if (processor.id === HOST && !isEmpty(block.pinned)) continue;
    const residence = block.residences[processor.id];
    // Scratch pages are no content either, but threads use them.
    if (residence !== undefined && residence.backedCount > size(residence.scratch)) return block;
  }
  return null;
}

function releaseAll(state: State, block: Block, processor: Processor): void {
  const residence = block.residences[processor.id];
  if (residence === undefined) return;
  state.maskA.set(residence.backed);
  for (let word = 0; word < WORDS; word++) state.maskA[word] &= ~residence.scratch[word];
  releaseBacking(state, block, processor, state.maskA);
  classify(state, block);
  makeReady(state, block);
}

function isEvictable(state: State, processor: Processor, index: number, forBlock: Block, droppable: boolean): boolean {
  const block = state.va.blocks.get(index);
  if (block === undefined || block === forBlock || block === state.keep || block.operation !== null) return false;
  const residence = block.residences[processor.id];
  if (residence === undefined || residence.backedCount === 0) return false;
  if (residence.protectedBy > 0 || isHeld(block, processor.id)) return false;
  if (processor.id === HOST && !isEmpty(block.pinned)) return false;
  if (!isEmpty(residence.scratch) || failsToLeave(state, block)) return false;
  if (processor.id !== HOST && !droppable) return true;
  // The host has nowhere to send a page to: only what can be had again may be dropped.
  evictedByCopy(state, block, processor.id, residence.backed, state.maskA);
  return isEmpty(state.maskA);
}
