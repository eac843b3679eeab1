/**
 * Reading ahead: a processor that walks through a range will want the next blocks, which are
 * brought while it works on this one. The policy says how many. Their first group stays unmapped,
 * so that entering a block faults, cheaply, and brings the one after it in time.
 */

import { copy, createMask, isEmpty, WORDS } from '../basics/mask.js';
import {
  type Access,
  HOST_NODE,
  NO_NODE,
  NO_PROCESSOR,
  PAGES_PER_BLOCK,
  PAGES_PER_GROUP,
  type ProcessorId,
} from '../basics/types.js';
import { endAhead } from '../table/backing.js';
import { isCrowded, type Node } from '../table/nodes.js';
import type { Processor } from '../table/processors.js';
import { isRemote, makeReady, nodeOf, residenceOf, type State } from '../table/state.js';
import { type Block, changedPages, type Mapping } from '../table/va-block.js';
import type { Task } from '../table/work.js';
import { isDue } from './density.js';

/** The request number of tasks that no request waits for. */
const NO_REQUEST = 0;

/** Faults one after the other from which on a processor is taken to walk. */
export const WALK = 2;

/** The most blocks that a policy may have brought at once. */
const MOST = 8;
/**
 * The same where the processor has come to where content begins for the first time, and nothing
 * tells that it walks.
 */
const FIRST_AT_BEGIN = 1;

/**
 * The processor comes in at the border to a block of the same range that is wholly mapped, or that
 * it has walked through: it walks.
 */
export function streams(state: State, block: Block, processor: Processor, page: number): boolean {
  if (page < PAGES_PER_GROUP) return comesFrom(state, block, processor);
  return (
    page >= PAGES_PER_BLOCK - PAGES_PER_GROUP &&
    isWhole(state, block, block.index + 1, processor.id)
  );
}

/**
 * Whether the processor comes into a block of which it has nothing where it came in before, and
 * then went on into the next one: what a launch did it mostly does again. That is believed once,
 * until the walk has gone on again.
 */
export function beginsAsBefore({ ledOn, entryPage, mapped }: Mapping, page: number): boolean {
  return ledOn && groupOf(page) === groupOf(entryPage) && isEmpty(mapped);
}

function groupOf(page: number): number {
  return Math.floor(page / PAGES_PER_GROUP);
}

/**
 * Why a processor is taken to walk: it comes from the block before, a launch began here before, or
 * content begins here that only an engine reaches.
 */
export type WalkSign = 'border' | 'repeated' | 'content';

/** The processor walks, and has come into this block. */
export function readAhead(
  state: State,
  block: Block,
  processor: Processor,
  node: Node,
  access: Access,
  sign: WalkSign,
): void {
  const advised = block.advice.pattern === 'sequential';
  const comes = comesFrom(state, block, processor);
  if (comes) noteLedOn(state, block, processor);
  if (sign === 'border' && !advised && !comes) return;
  const most = sign === 'content' ? asLastTime(block) : MOST;
  noteWalk(block);
  // The walks have no room for a block each, let alone for the next ones.
  if (isCrowded(node)) return;
  const nodeBlocks = Math.floor(node.budgetPages / PAGES_PER_BLOCK);
  let reached = 0;
  let stored = false;
  for (let step = 1; step <= MOST; step++) {
    const following = state.va.blocks.get(block.index + step);
    if (following === undefined || following.range !== block.range) break;
    const residence = following.residences[node.id];
    if (residence?.ahead === true) reached++;
    // Memory that was kept may have the content of an earlier time.
    else if (residence === undefined || isEmpty(residence.resident)) {
      stored = isStored(state, following);
      break;
    }
  }
  const { aheadBlocks } = node;
  const blocks = Math.min(
    most,
    processor.readAhead({ advised, nodeBlocks, aheadBlocks, reached, stored }),
  );
  for (let step = 1; step <= blocks; step++) {
    const ahead = state.va.block(block.index + step);
    if (ahead === undefined || ahead.range !== block.range) return;
    bringAhead(state, ahead, processor, node, access, sign !== 'content' || step === blocks);
  }
}

/**
 * As many blocks as the last walk from here came into: programs do again what they have done. Where
 * it did not come into the last one that was asked for, half as many.
 */
function asLastTime({ index, range }: Block): number {
  let blocks = FIRST_AT_BEGIN;
  if (range.beganIn === index)
    blocks = range.walkedBlocks > 0 ? range.walkedBlocks : range.askedBlocks >> 1;
  range.beganIn = index;
  range.askedBlocks = Math.min(MOST, blocks);
  range.walkedBlocks = 0;
  return range.askedBlocks;
}

/** The count is begun anew where content begins, so that it needs no care before. */
function noteWalk({ index, range }: Block): void {
  range.walkedBlocks = Math.max(range.walkedBlocks, index - range.beganIn);
}

/** @param entry it is a guess, until the processor faults at its beginning */
function bringAhead(
  state: State,
  ahead: Block,
  processor: Processor,
  node: Node,
  access: Access,
  entry: boolean,
): void {
  if (!mayCome(ahead, processor)) return;
  const residence = residenceOf(state, ahead, node.id);
  if (residence.ahead || !isEmpty(residence.resident)) return;
  if (ahead.advice.pattern === 'normal' && isDue(ahead, residence, node, processor)) return;
  // Zeros are made as fast as they are asked for, and would take memory of the host on a guess.
  if (node.id === HOST_NODE && !hasContent(state, ahead)) return;
  residence.ahead = entry;
  if (entry) node.aheadBlocks++;
  const stored = isStored(state, ahead);
  // An engine answers late, and what the program has advised is no guess; what is only copied
  // otherwise waits until no thread does: one that goes through several arrays is about to come
  // into the next of them.
  const advised = ahead.advice.pattern === 'sequential';
  if (!entry || stored || advised || node.id === HOST_NODE)
    begin(state, ahead, processor.id, access, stored, entry);
  else state.later.push({ block: ahead, processor: processor.id, access });
}

/**
 * Begins with the first of the blocks that wait to be brought ahead of a processor, if it still may
 * come.
 */
export function beginLater(state: State): void {
  const next = state.later.shift();
  if (next === undefined) return;
  const { block, access } = next;
  const processor = state.processors[next.processor];
  if (processor?.state !== 'alive') return;
  const residence = block.residences[processor.own];
  // A processor has come into it by now, or its addresses are another range's.
  if (residence?.ahead !== true) return;
  if (mayCome(block, processor) && isEmpty(residence.resident))
    begin(state, block, processor.id, access, false, true);
  else endAhead(block, nodeOf(state, processor.own));
}

function mayCome(block: Block, processor: Processor): boolean {
  return block.operation === null && block.tasks.length === 0 && !isRemote(block, processor);
}

function begin(
  state: State,
  ahead: Block,
  processor: ProcessorId,
  access: Access,
  stored: boolean,
  entry: boolean,
): void {
  const mask = createMask();
  copy(mask, ahead.inside);
  const task: Task = {
    kind: 'present',
    mask,
    node: NO_NODE,
    processor,
    access,
    map: true,
    entry,
    hold: false,
    exclusive: false,
    ahead: false,
    early: false,
    lastChance: false,
    kept: null,
    keptFor: null,
    forgot: 0,
    request: NO_REQUEST,
    written: false,
  };
  // An engine is asked for all alike; what is mapped is mapped when that is there.
  if (stored) ahead.tasks.push({ ...task, map: false, entry: false });
  ahead.tasks.push(task);
  makeReady(state, ahead);
}

/**
 * Whether some of the block is where only an engine reaches it, which answers late and many at
 * once: in a store, in a GPU's memory.
 */
function isStored(state: State, { residences }: Block): boolean {
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

/** The processor went on into this block from the one before. */
function noteLedOn(state: State, block: Block, { id }: Processor): void {
  const mapping = state.va.blocks.get(block.index - 1)?.mappings[id];
  if (mapping !== undefined) mapping.ledOn = true;
}

/**
 * Whether the processor has the block before, or the end of it at least, by faults one after the
 * other.
 */
function comesFrom(state: State, block: Block, { id }: Processor): boolean {
  const before = state.va.blocks.get(block.index - 1);
  if (before === undefined || before.range !== block.range) return false;
  const mapping = before.mappings[id];
  if (mapping === undefined) return false;
  return (
    (mapping.walked >= WALK && mapping.walkPage === PAGES_PER_BLOCK) ||
    isWhole(state, block, before.index, id)
  );
}

function isWhole(state: State, block: Block, index: number, processor: ProcessorId): boolean {
  const neighbour = state.va.blocks.get(index);
  if (neighbour === undefined || neighbour.range !== block.range) return false;
  const mapping = neighbour.mappings[processor];
  if (mapping === undefined) return false;
  for (let word = 0; word < WORDS; word++)
    if ((neighbour.inside[word] & ~mapping.mapped[word]) !== 0) return false;
  return true;
}
