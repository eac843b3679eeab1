/**
 * Bringing blocks ahead of a processor that will want them, while it works on what it has. Their
 * first group stays unmapped, so that entering a block faults, cheaply, and brings the one after it
 * in time. How many come the policy says.
 */

import { copy, createMask, isEmpty } from '../basics/mask.js';
import {
  type Access,
  HOST_NODE,
  MOST_AHEAD,
  NO_NODE,
  NO_PROCESSOR,
  PAGES_PER_BLOCK,
  PAGES_PER_GROUP,
  Status,
} from '../basics/types.js';
import { endAhead } from '../table/backing.js';
import type { Fault } from '../table/fault.js';
import type { Node } from '../table/nodes.js';
import type { Processor } from '../table/processors.js';
import {
  type BlockAhead,
  isRemote,
  makeReady,
  nodeOf,
  processorOf,
  reachedBy,
  residenceOf,
  type State,
} from '../table/state.js';
import { type Block, changedPages, NO_PAGES } from '../table/va-block.js';
import type { Task } from '../table/work.js';

/** The request number of tasks that no request waits for. */
const NO_REQUEST = 0;

/**
 * What a task was to bring ahead did not come, for want of room or of the right: it is no guess.
 */
export function endGuess(state: State, block: Block, { request, processor }: Task): void {
  const node = state.nodes[block.mappings[processor]?.node ?? NO_NODE];
  const isThere = !isEmpty(block.residences[node?.id ?? NO_NODE]?.resident ?? NO_PAGES);
  if (request === NO_REQUEST && node !== undefined && !isThere) endAhead(block, node);
}

/**
 * Begins to bring so many of the blocks after this one.
 * @param certain no fault is to say that the processor has come into one that is not the last
 */
export function bringAhead(state: State, fault: Fault, count: number, certain: boolean): void {
  const { block } = fault;
  const blocks = Math.min(count, MOST_AHEAD);
  for (let step = 1; step <= blocks; step++) {
    const ahead = state.va.block(block.index + step);
    if (ahead === undefined || ahead.range !== block.range) return;
    bringOne(state, ahead, fault, !certain || step === blocks);
  }
}

/** @param entry it is a guess, until the processor faults at its beginning */
function bringOne(state: State, ahead: Block, fault: Fault, entry: boolean): void {
  const { processor, node, access } = fault;
  if (!isMissing(state, ahead, processor, node)) return;
  const residence = residenceOf(state, ahead, node.id);
  const stored = isStored(state, ahead);
  if (entry && !stored && !hasRoomAhead(node)) return;
  // Zeros are made as fast as they are asked for, and would take memory of the host on a guess.
  if (node.id === HOST_NODE && !hasContent(state, ahead)) return;
  residence.ahead = entry;
  if (entry) node.aheadBlocks++;
  // An engine answers late, and what the program has advised is no guess; what is only copied
  // otherwise waits until no thread does: one that goes through several arrays is about to come
  // into the next of them.
  const coming = { block: ahead, processor: processor.id, access, reason: processor.reason };
  const advised = ahead.advice.pattern === 'sequential';
  if (!entry || stored || advised || node.id === HOST_NODE) begin(state, coming, stored, entry);
  else state.later.push(coming);
}

/** Whether the policy of a full memory allows one more guess. */
function hasRoomAhead({ pressed, eviction, budgetPages, aheadBlocks }: Node): boolean {
  if (!pressed || eviction.mostAhead === undefined) return true;
  return aheadBlocks < eviction.mostAhead(Math.floor(budgetPages / PAGES_PER_BLOCK));
}

/** Begins to bring a block that the memory's policy wants. False: it may not come. */
export function bringWanted(
  state: State,
  block: Block,
  processor: Processor,
  node: Node,
  access: Access,
): boolean {
  if (!isMissing(state, block, processor, node)) return false;
  residenceOf(state, block, node.id).ahead = true;
  node.aheadBlocks++;
  const coming = { block, processor: processor.id, access, reason: 'plan' } as const;
  begin(state, coming, isStored(state, block), true);
  return true;
}

/** Begins with the first block that waits to be brought ahead, if it may still come. */
export function beginLater(state: State): void {
  const next = state.later.shift();
  if (next === undefined) return;
  const { block } = next;
  const processor = state.processors[next.processor];
  if (processor?.state !== 'alive') return;
  const residence = block.residences[processor.localNode];
  // A processor has come into it by now, or its addresses are another range's.
  if (residence?.ahead !== true) return;
  const node = nodeOf(state, processor.localNode);
  if (mayCome(state, block, processor, node) && isEmpty(residence.resident))
    begin(state, next, false, true);
  else endAhead(block, node);
}

/** Whether nothing of the block is there, nor on its way. */
function isMissing(state: State, block: Block, processor: Processor, node: Node): boolean {
  const residence = residenceOf(state, block, node.id);
  if (residence.ahead || !isEmpty(residence.resident)) return false;
  return mayCome(state, block, processor, node);
}

/** Whether the block may come to the node, which the processor must reach there. */
function mayCome(state: State, block: Block, processor: Processor, node: Node): boolean {
  if (block.operation !== null || block.tasks.length > 0) return false;
  return reachedBy(state, block, processor.id) === node.id;
}

function begin(state: State, coming: BlockAhead, stored: boolean, entry: boolean): void {
  const { block, processor, access, reason } = coming;
  const mask = createMask();
  copy(mask, block.inside);
  // Of a granule no part stays unmapped, nor of memory that is reached in place: all of the block
  // does then, and its first fault maps it.
  const owner = processorOf(state, processor);
  const byPages =
    !isRemote(block, owner) && nodeOf(state, owner.localNode).granulePages <= PAGES_PER_GROUP;
  const task: Task = {
    kind: 'present',
    mask,
    node: NO_NODE,
    processor,
    access,
    map: !entry || byPages,
    entry: entry && byPages,
    hold: false,
    exclusive: false,
    overtakes: false,
    // A guess takes no room of what a thread has just been given, and nothing waits behind it.
    early: true,
    lastChance: false,
    attempts: 0,
    failure: Status.Done,
    triedNode: NO_NODE,
    kept: null,
    keptFor: null,
    forgot: 0,
    request: NO_REQUEST,
    written: false,
    reason,
  };
  // An engine is asked for all alike; what is mapped is mapped when that is there.
  if (stored) block.tasks.push({ ...task, map: false, entry: false });
  block.tasks.push(task);
  makeReady(state, block);
}

/**
 * Whether some of the block is where only an engine reaches it, which answers late and many at
 * once: in a store, in a GPU's memory.
 */
export function isStored(state: State, { residences }: Block): boolean {
  for (let id = HOST_NODE + 1; id < residences.length; id++) {
    const residence = residences[id];
    if (residence === undefined || isEmpty(residence.resident)) continue;
    const node = state.nodes[id];
    if (node?.owner === NO_PROCESSOR || node?.description.addressable === false) return true;
  }
  return false;
}

/** Whether the block has anything but zeros. */
function hasContent(state: State, block: Block): boolean {
  if (block.range.provided) return true;
  const { mark } = state.masks;
  const changed = state.masks.take();
  changedPages(block, block.inside, changed);
  const any = !isEmpty(changed);
  state.masks.backTo(mark);
  return any;
}
