/** Bringing pages to a node and taking them away: what every task and every fault comes down to. */

import {
  add,
  addRun,
  andNot,
  bitCount,
  clear,
  has,
  intersects,
  isEmpty,
  type Mask,
  next,
  setAndNot,
  size,
  WORDS,
} from '../basics/mask.js';
import {
  Access,
  HOST_NODE,
  NO_NODE,
  type NodeId,
  PAGES_PER_BLOCK,
  PAGES_PER_GROUP,
} from '../basics/types.js';
import { releaseBacking } from '../table/backing.js';
import { holderOf } from '../table/contents.js';
import type { Fault } from '../table/fault.js';
import {
  excludeGranules,
  granulePagesOf,
  granulesAround,
  mappedAround,
  widen,
} from '../table/granules.js';
import { conflictsWithHold, isHeld, isHeldAgainst } from '../table/holds.js';
import { lackingForBlock } from '../table/large-granule-memory.js';
import type { Node } from '../table/nodes.js';
import {
  mappingOf,
  nodeOf,
  pagesMove,
  residenceOf,
  type State,
  somethingMoves,
} from '../table/state.js';
import { type Block, isProvided, NO_PAGES, rareMask } from '../table/va-block.js';
import type { Operation, OperationKind, Task } from '../table/work.js';
import { open, setPages, start } from './operation.js';
import { goOn } from './operation-end.js';
import { mayBeFilled, mayBeWritten, mayComeToBeRead } from './reading-room.js';
import { evictBlock, evictShielded, reclaim } from './reclaim.js';

/** The first group's bits in the first word of a mask. */
export const FIRST_GROUP = 2 ** PAGES_PER_GROUP - 1;

/**
 * `started`: an operation runs, or has run. `done`: nothing was left to do. `blocked`: something
 * else must end first. `stuck`: memory is needed and nothing that is under way will give any.
 */
export type Outcome = 'started' | 'done' | 'blocked' | 'stuck';

/** Brings pages for a thread that waits for one of them to the memory that it reaches. */
export function bring(state: State, fault: Fault, mask: Mask): Outcome {
  const { block, processor, node } = fault;
  const operation = open(block, 'migrate', node.id, processor.id, mask);
  operation.access = fault.access;
  operation.map = true;
  operation.urgentPage = fault.page;
  operation.reason = processor.reason;
  return migrate(state, block, operation);
}

/** What a task wants brought to a node, to be mapped for no processor, unless that is filled in. */
export function openFor(
  block: Block,
  task: Task,
  node: Node,
  access: Access,
  mask: Mask,
): Operation {
  const operation = open(block, 'migrate', node.id, node.owner, mask);
  operation.access = access;
  operation.entry = task.entry;
  operation.exclusive = task.exclusive;
  operation.reason = task.reason;
  operation.task = task;
  return operation;
}

/** Brings what the operation is to bring; the caller has taken out of it what must not move. */
export function migrate(state: State, block: Block, operation: Operation): Outcome {
  const node = nodeOf(state, operation.node);
  if (operation.map && node.granulePages > 1) {
    const { mark } = state.masks;
    setPages(operation, granulesAround(state, block, operation.mask, node.granulePages));
    state.masks.backTo(mark);
  }
  if (conflictsWithHold(state, block, node.id, operation.access, operation.mask)) return 'blocked';
  if (node.granulePages > 1) {
    const { mark } = state.masks;
    const outcome = unmapFilled(state, block, node, operation);
    state.masks.backTo(mark);
    if (outcome !== null) return outcome;
  }
  if (!node.description.addressable) {
    // Two memories that the manager cannot address have no way to each other but over the host, nor
    // has a file to them.
    const { mark } = state.masks;
    const outcome = detour(state, block, operation);
    state.masks.backTo(mark);
    if (outcome !== null) return outcome;
  }
  return begin(state, block, operation);
}

/**
 * Unmaps first what the operation is to fill: a range may have grown into a granule that is mapped.
 * A launch that holds something of the granule there keeps it. Null: there is no such granule.
 */
function unmapFilled(
  state: State,
  block: Block,
  node: Node,
  { mask, processor, task }: Operation,
): Outcome | null {
  const mapped = mappedAround(state, block, node, mask);
  if (isEmpty(mapped)) return null;
  if (isHeldAgainst(residenceOf(state, block, node.id), Access.Write, mapped)) return 'blocked';
  const operation = open(block, 'unmapGranules', node.id, processor, mapped);
  operation.task = task;
  start(state, block, operation);
  return 'started';
}

/** Brings what cannot come at once to the host first; null: there is no such page. */
function detour(state: State, block: Block, operation: Operation): Outcome | null {
  const { mask, processor, urgentPage, task } = operation;
  const node = nodeOf(state, operation.node);
  const pages = state.masks.take();
  if (!pagesByHost(state, block, node, mask, pages)) return null;
  // Room at the end of the way comes first.
  if (!hasRoom(state, block, operation)) return waitForMemory(state, block, node, task);
  pagesByHost(state, block, node, mask, pages);
  if (task === null) open(block, 'migrate', HOST_NODE, processor, pages).access = Access.Read;
  else openFor(block, task, nodeOf(state, HOST_NODE), Access.Read, pages);
  operation.urgentPage = urgentPage;
  const outcome = begin(state, block, operation);
  if (outcome === 'started') keepUntilItGoesOn(state, block, HOST_NODE);
  return outcome;
}

function begin(state: State, block: Block, operation: Operation): Outcome {
  if (!hasRoom(state, block, operation))
    return waitForMemory(state, block, nodeOf(state, operation.node), operation.task);
  start(state, block, operation);
  if (block.operation === null) goOn(state, block);
  return 'started';
}

/**
 * What is on its way to the node stays there until the block has done the next step, for which it
 * comes. Blocks that need room of each other would push it out between the two, and bring the same
 * pages again for ever.
 */
export function keepUntilItGoesOn(state: State, block: Block, node: NodeId): void {
  if (block.comeTo !== NO_NODE) return;
  block.comeTo = node;
  residenceOf(state, block, node).shields++;
}

function hasRoom(state: State, block: Block, operation: Operation): boolean {
  const { access, mask, task, firstWord, endWord } = operation;
  const node = nodeOf(state, operation.node);
  let pages = 0;
  if (node.large !== null) pages = lackingForBlock(node, block);
  else if (node.granulePages > 1) pages = granulesLacking(state, block, node, mask);
  else {
    const { backed } = residenceOf(state, block, node.id);
    for (let word = firstWord; word < endWord; word++) {
      const bits = mask[word];
      if (bits !== 0) pages += bitCount(bits & ~backed[word]);
    }
  }
  // What becomes a block's own cannot go any more, no more than what is written.
  const use = task?.kind === 'materialize' ? Access.Write : access;
  return hasRoomFor(state, block, node, use, mask, pages);
}

/**
 * Whether the node has memory for the pages of the mask, of which it lacks so many, or could be
 * made to have it at once.
 */
export function hasRoomFor(
  state: State,
  block: Block,
  node: Node,
  access: Access,
  mask: Mask,
  pages: number,
): boolean {
  const room =
    (pages === 0 && mayBeFilled(state, block, node, mask)) || reclaim(state, block, node, pages);
  if (node.id !== HOST_NODE) return room;
  if (access === Access.Write) return room && mayBeWritten(state, block, node, mask);
  return room || mayComeToBeRead(state, block, node, mask, pages);
}

/** Pages of the granules around the mask for which the node has no memory. */
function granulesLacking(
  state: State,
  block: Block,
  { id, granulePages }: Node,
  mask: Mask,
): number {
  const { mark } = state.masks;
  const granules = state.masks.take();
  granules.set(mask);
  widen(granules, granulePages);
  andNot(granules, residenceOf(state, block, id).backed);
  const pages = size(granules);
  state.masks.backTo(mark);
  return pages;
}

function pagesByHost(state: State, block: Block, node: Node, mask: Mask, result: Mask): boolean {
  clear(result);
  let any = false;
  const own = block.residences[node.id];
  for (let page = next(mask, 0); page < PAGES_PER_BLOCK; page = next(mask, page + 1)) {
    if (own !== undefined && has(own.resident, page)) continue;
    // Zeros are made where they are wanted.
    if (!isProvided(block, page) && !has(block.dirty, page)) continue;
    const holder = holderOf(state, block, page, node.id);
    if (holder === NO_NODE || !nodeOf(state, holder).description.addressable) {
      add(result, page);
      any = true;
    }
  }
  return any;
}

/** @param task what the memory is for, unless a thread waits for the page */
export function waitForMemory(state: State, block: Block, node: Node, task: Task | null): Outcome {
  const stands = !pagesMove(state, node.id) && !node.pump && !node.spare;
  // The end of a hold, which is waited for below, may wait for this very task.
  const begun = stands && task !== null && !task.early && evictShielded(state, block, node);
  if (!begun && stands && !somethingMoves(state, node.id)) return 'stuck';
  if (!node.waiters.has(block.index)) node.waiters.append(block.index);
  return 'blocked';
}

/** What stands in for denied pages stays until the launch ends; the pages cannot come there. */
export function excludeScratch(state: State, block: Block, node: NodeId, mask: Mask): void {
  const residence = block.residences[node];
  if (residence === undefined) return;
  const granulePages = granulePagesOf(state, node);
  if (granulePages === 1) {
    andNot(mask, residence.scratch);
    return;
  }
  const { mark } = state.masks;
  const scratch = state.masks.take();
  scratch.set(residence.scratch);
  excludeGranules(mask, scratch, granulePages);
  state.masks.backTo(mark);
}

/** Whether something stands in for a page of the mask, or for any other one of its granule. */
export function standsIn(state: State, block: Block, node: NodeId, mask: Mask): boolean {
  const scratch = block.residences[node]?.scratch ?? NO_PAGES;
  if (scratch === NO_PAGES) return false;
  const { mark } = state.masks;
  const granules = state.masks.take();
  granules.set(mask);
  widen(granules, granulePagesOf(state, node));
  const any = intersects(granules, scratch);
  state.masks.backTo(mark);
  return any;
}

/** Those of the asked pages that have, or could have, content that a processor may see. */
export function setPresent(result: Mask, block: Block, asked: Mask): void {
  const { inside, freed, lost, unreadable } = block;
  for (let word = 0; word < WORDS; word++)
    result[word] = asked[word] & inside[word] & ~(freed[word] | lost[word] | unreadable[word]);
}

/**
 * Pages of the mask that have to come from their provider first. A processor that wants to write
 * cloned pages has them fetched before they are copied for the clones: if they cannot be had the
 * processor is denied them, and the clones have lost nothing.
 */
export function absentPages(state: State, block: Block, mask: Mask, result: Mask): void {
  if (!block.range.provided) {
    clear(result);
    return;
  }
  setAndNot(result, mask, block.blank);
  andNot(result, block.freed);
  andNot(result, block.lost);
  for (let node = 0; node < block.residences.length; node++) {
    const residence = block.residences[node];
    if (residence === undefined || state.nodes[node]?.gone === true) continue;
    andNot(result, residence.resident);
  }
}

/**
 * Asks for copies of cloned pages that a processor is about to write, or, with `lastChance`, whose
 * content is about to be forgotten. The block goes on when they have been made.
 */
export function breakCopyOnWrite(
  state: State,
  block: Block,
  mask: Mask,
  lastChance: boolean,
): void {
  const base = block.index * PAGES_PER_BLOCK;
  for (let first = next(mask, 0); first < PAGES_PER_BLOCK; ) {
    let end = first;
    while (end < PAGES_PER_BLOCK && has(mask, end) && !has(block.breaking, end)) end++;
    if (end > first) {
      addRun(rareMask(block, 'breaking'), first, end - first);
      state.breaks += end - first;
      state.commands.breakCopyOnWrite(base + first, end - first, lastChance);
    }
    first = next(mask, Math.max(end, first + 1));
  }
}

/**
 * Whether all that the operation is to bring is there, and mapped with the access that is wanted,
 * if it is to be; but for the first group of a block at whose `entry` the processor is to fault.
 */
export function isDone(state: State, block: Block, operation: Operation): boolean {
  const { node, processor, map, entry, mask } = operation;
  const residence = residenceOf(state, block, node);
  const mapping = map ? mappingOf(state, block, processor) : undefined;
  const write = operation.access === Access.Write;
  for (let word = 0; word < WORDS; word++) {
    let good = residence.resident[word];
    if (mapping !== undefined)
      good &=
        (write ? mapping.writable[word] : mapping.mapped[word]) |
        (entry && word === 0 ? FIRST_GROUP : 0);
    else if (write) good &= block.dirty[word];
    if ((mask[word] & ~good) !== 0) return false;
  }
  return map || standsStill(state, block, node, write, mask);
}

/** Whether no processor elsewhere may write these pages, nor, with `write`, has a copy. */
function standsStill(
  state: State,
  block: Block,
  node: NodeId,
  write: boolean,
  pages: Mask,
): boolean {
  for (const mapping of block.mappings) {
    if (mapping === undefined || mapping.node === node) continue;
    for (let word = 0; word < WORDS; word++)
      if ((mapping.writable[word] & ~mapping.standIn[word] & pages[word]) !== 0) return false;
  }
  for (let other = 0; write && other < block.residences.length; other++) {
    const copies = block.residences[other];
    if (other === node || copies === undefined || state.nodes[other] === undefined) continue;
    if (intersects(copies.resident, pages)) return false;
  }
  return true;
}

/** Brings everything that the task's node holds of the block to the node's home. */
export function sendHome(state: State, block: Block, task: Task, from: NodeId): Outcome {
  const node = state.nodes[from];
  const residence = block.residences[from];
  if (node === undefined || residence === undefined) return 'done';
  if (node.state !== 'dead' && isHeld(block, from)) return 'blocked';
  // The threads have ended: what stood in for pages that they were denied is not needed any more.
  releaseBacking(state, block, node, residence.scratch);
  if (residence.backedCount === 0) return 'done';
  if (!evictBlock(state, block, node, task))
    return waitForMemory(
      state,
      block,
      nodeOf(state, node.home === NO_NODE ? HOST_NODE : node.home),
      task,
    );
  return 'started';
}

/** Begins an operation that moves no page. */
export function immediate(
  state: State,
  block: Block,
  task: Task,
  kind: OperationKind,
  mask: Mask,
  access: Access = Access.None,
): Outcome {
  const operation = open(block, kind, NO_NODE, task.processor, mask);
  operation.access = access;
  operation.task = task;
  start(state, block, operation);
  return block.operation === null ? 'done' : 'started';
}
