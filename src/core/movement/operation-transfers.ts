/**
 * The copy phase of an operation: runs of pages from where their content is to where they go, the
 * run that a thread waits for first, in smaller pieces where a node refuses large ones. Each run
 * becomes visible at its new place by itself (settling.ts).
 */

import { and, has, next, nextAbsent, removeRun, sizeOfRun } from '../basics/mask.js';
import {
  Access,
  NO_NODE,
  NO_PROCESSOR,
  type NodeId,
  PAGES_PER_BLOCK,
  PAGES_PER_GROUP,
  PAGES_PER_TRANSFER,
  PROVIDER,
  SOURCE_PROVIDER,
  SOURCE_ZERO,
  type Source,
  Status,
} from '../basics/types.js';
import { reserve } from '../table/backing.js';
import { complete } from '../table/completion.js';
import { holderOf, onlyCopies } from '../table/contents.js';
import { noteLeaving } from '../table/large-granule-memory.js';
import type { Node } from '../table/nodes.js';
import { mappingOf, nodeOf, residenceOf, type State } from '../table/state.js';
import { endToken, newToken, type Token } from '../table/tokens.js';
import { type Block, isProvided } from '../table/va-block.js';
import type { Operation } from '../table/work.js';
import { finish, hasAny, targetOf } from './operation-end.js';
import { accessAt, accessOf, frameAt, isInPlace, settle } from './settling.js';

/**
 * A range's last block of so many pages gets its memory in one piece: pages one by one take longer
 * to get, to map and to give back than to clear the rest.
 */
const MOSTLY = PAGES_PER_BLOCK / 2;

/** Finds out what is to be copied, and takes memory for it. */
export function reserveFor(state: State, block: Block, operation: Operation): void {
  const { kind, node, mask, moving } = operation;
  const target = targetOf(state, operation);
  if (kind !== 'evict')
    for (let word = operation.firstWord; word < operation.endWord; word++)
      moving[word] = mask[word];
  else if (target !== undefined || operation.target === PROVIDER)
    onlyCopies(state, block, node, mask, moving);
  // What the provider would give anyway, it need not get.
  if (operation.target === PROVIDER) and(moving, block.dirty);
  if (target !== undefined)
    operation.whole = takesWhole(block, target, reserve(state, block, target, operation));
  if (kind !== 'evict') return;
  const leaver = nodeOf(state, node);
  operation.evictingPages = leaver.large === null ? backedIn(block, operation) : 0;
  leaver.leavingPages += operation.evictingPages;
  noteLeaving(state, leaver, block);
}

/**
 * Takes what lies behind the end of the block's range, too, where nearly all of the block comes.
 * Returns whether all of its memory has been taken just now.
 */
function takesWhole(block: Block, target: Node, reserved: number): boolean {
  // Of a larger granule the block may have had its memory before.
  if (target.large !== null) return false;
  return reserved === PAGES_PER_BLOCK || (reserved >= MOSTLY && complete(block, target, reserved));
}

function backedIn(block: Block, { node, mask }: Operation): number {
  const residence = block.residences[node];
  if (residence === undefined) return 0;
  let total = 0;
  for (let page = next(mask, 0); page < PAGES_PER_BLOCK; page = next(mask, page + 1)) {
    if (has(residence.backed, page)) total++;
  }
  return total;
}

export function issueTransfers(state: State, block: Block, operation: Operation): void {
  const target = targetOf(state, operation);
  operation.outstanding++;
  if (operation.target === PROVIDER) giveBack(state, block, operation);
  const begin = operation.firstWord * 32;
  const end = operation.endWord * 32;
  operation.together = isTogether(operation);
  const last = operation.together ? operation.urgentPage : -1;
  // The chunk that a thread waits for goes first, then the ones after it, since most programs walk
  // upwards.
  const urgent = chunkOf(operation.urgentPage);
  const from = urgent > begin && urgent < end ? urgent : begin;
  if (target !== undefined) {
    issueRuns(state, block, operation, target, from, end, last);
    if (operation.failure === Status.Done)
      issueRuns(state, block, operation, target, begin, from, last);
    if (last !== -1 && operation.failure === Status.Done)
      issueRun(state, block, operation, target, last, last + 1);
  }
  operation.outstanding--;
  if (operation.outstanding === 0) endTransfers(state, block, operation);
}

/**
 * Whether the page that a thread waits for comes last. Of a stride a thread uses little of each
 * page: it would come to the next ones while they are copied, and wait for each.
 */
function isTogether({ reason, urgentPage, moving }: Operation): boolean {
  if (reason !== 'stride' || urgentPage === -1 || !has(moving, urgentPage)) return false;
  return sizeOfRun(moving, 0, PAGES_PER_BLOCK) <= PAGES_PER_TRANSFER;
}

/** The provider takes runs as long as there are. */
function giveBack(state: State, block: Block, operation: Operation): void {
  const base = block.index * PAGES_PER_BLOCK;
  const { frames } = residenceOf(state, block, operation.node);
  const order = state.transfer;
  for (
    let first = next(operation.moving, 0);
    first < PAGES_PER_BLOCK && operation.failure === Status.Done;
  ) {
    const end = nextAbsent(operation.moving, first);
    const token = newToken(state, 'transfer', block, PROVIDER, first, end - first);
    token.source = operation.node;
    operation.outstanding++;
    order.token = token.id;
    order.source = operation.node;
    order.sourceFrame = frameAt(frames, base, first);
    order.node = PROVIDER;
    order.processor = NO_PROCESSOR;
    order.page = base + first;
    order.count = end - first;
    order.frame = base + first;
    order.access = Access.None;
    order.backed = true;
    order.urgent = false;
    order.reason = null;
    const status = state.commands.transfer(order);
    if (status !== Status.Pending) {
      endToken(state, token);
      operation.outstanding--;
      givenBack(state, token, status);
    }
    first = next(operation.moving, end);
  }
}

/** The pages are what their provider would give, wherever there are copies. */
function givenBack(state: State, { block, first, count }: Token, status: Status): void {
  const operation = block.record;
  if (status !== Status.Done) {
    operation.failure = status;
    return;
  }
  operation.progress = true;
  removeRun(operation.moving, first, count);
  removeRun(block.dirty, first, count);
  removeRun(block.blank, first, count);
  nodeOf(state, operation.node).counters.pagesOut += count;
}

function chunkOf(page: number): number {
  return page - (page % PAGES_PER_TRANSFER);
}

/** Runs that begin in [from, limit), without the page that comes last; -1: there is none. */
function issueRuns(
  state: State,
  block: Block,
  operation: Operation,
  target: Node,
  from: number,
  limit: number,
  last: number,
): void {
  // What settles meanwhile lies behind.
  const { moving } = operation;
  for (
    let first = next(moving, from, limit >>> 5);
    first < limit;
    first = next(moving, first, limit >>> 5)
  ) {
    const end = first < last ? Math.min(last, limit) : limit;
    first = first === last ? last + 1 : issueRun(state, block, operation, target, first, end);
    if (first === -1) return;
  }
}

/** One run, at most a chunk long where the manager copies it. Returns its end; -1: it failed. */
function issueRun(
  state: State,
  block: Block,
  operation: Operation,
  target: Node,
  first: number,
  limit: number,
): number {
  const residence = residenceOf(state, block, target.id);
  const mapping = operation.map ? mappingOf(state, block, operation.processor) : null;
  const base = block.index * PAGES_PER_BLOCK;
  const { moving } = operation;
  const source = sourceOf(state, block, operation, target.id, first);
  if (source >= 0 && state.nodes[source]?.gone === true) {
    operation.failure = Status.Lost;
    operation.lostSource = source;
    return -1;
  }
  const backed = !has(operation.reserved, first);
  const access = accessAt(operation, first);
  const previous =
    mapping === null ? Access.None : accessOf(mapping.mapped, mapping.writable, first);
  let end = first + 1;
  const reach = isLong(state, target, source, backed) ? limit : chunkOf(first) + PAGES_PER_TRANSFER;
  const longest = Math.min(limit, reach, first + operation.transferPages, endAt(operation, first));
  while (
    end < longest &&
    has(moving, end) &&
    sourceOf(state, block, operation, target.id, end) === source &&
    !has(operation.reserved, end) === backed &&
    (mapping === null || accessOf(mapping.mapped, mapping.writable, end) === previous) &&
    follows(residence.frames, end) &&
    (source < 0 || source === target.id || follows(block.residences[source]?.frames ?? null, end))
  ) {
    end++;
  }
  const token = newToken(state, 'transfer', block, target.id, first, end - first);
  token.source = source;
  if (source === target.id) {
    if (access > previous && target.granulePages === 1) {
      const frame = frameAt(residence.frames, base, first);
      state.commands.map(operation.processor, base + first, token.count, access, previous, frame);
    }
    settle(state, token);
    endToken(state, token);
    return end;
  }
  const status = transfer(state, target, token, backed);
  return status !== Status.Pending && operation.failure !== Status.Done ? -1 : end;
}

function transfer(state: State, target: Node, token: Token, backed: boolean): Status {
  const { block, source, first, count } = token;
  const operation = block.record;
  const base = block.index * PAGES_PER_BLOCK;
  const frames = source < 0 ? null : (block.residences[source]?.frames ?? null);
  operation.outstanding++;
  if (source === SOURCE_PROVIDER && block.range.derived === true && !operation.dependent) {
    operation.dependent = true;
    state.dependentOperations++;
  }
  const order = state.transfer;
  order.token = token.id;
  order.source = source;
  order.sourceFrame = frameAt(frames, base, first);
  order.node = target.id;
  // A granule is mapped when all of it is there, and what is reached in place when it has come.
  const atOnce = target.granulePages === 1 && !isInPlace(operation, target);
  const access = atOnce ? accessAt(operation, first) : Access.None;
  order.processor = access === Access.None ? NO_PROCESSOR : operation.processor;
  order.page = base + first;
  order.count = count;
  order.frame = frameAt(residenceOf(state, block, target.id).frames, base, first);
  order.access = access;
  order.backed = backed;
  order.whole = operation.whole;
  operation.whole = false;
  order.urgent =
    operation.together ||
    (operation.urgentPage !== -1 && chunkOf(operation.urgentPage) === chunkOf(first));
  order.reason = operation.reason;
  const status = state.commands.transfer(order);
  if (status === Status.Pending) return status;
  endToken(state, token);
  operation.outstanding--;
  transferred(state, token, status);
  return status;
}

/** Where pages that are mapped otherwise begin. */
function endAt({ entry }: Operation, page: number): number {
  return entry && page < PAGES_PER_GROUP ? PAGES_PER_GROUP : PAGES_PER_BLOCK;
}

/**
 * Whether the manager has nothing to copy and no memory to get, so that a run need not end with its
 * chunk: pages that are only mapped, and those that an engine takes, or brings into memory that is
 * there.
 */
function isLong(state: State, target: Node, source: Source, backed: boolean): boolean {
  if (source === target.id) return true;
  const { addressable, longCopies } = target.description;
  if (!addressable)
    return longCopies === true && (source < 0 || nodeOf(state, source).description.addressable);
  if (source < 0 || !backed) return false;
  return nodeOf(state, source).description.longCopies === true;
}

function follows(frames: Int32Array | null, page: number): boolean {
  return frames === null || frames[page] === frames[page - 1] + 1;
}

function sourceOf(
  state: State,
  block: Block,
  operation: Operation,
  target: NodeId,
  page: number,
): Source {
  if (operation.kind === 'evict') return operation.node;
  if (operation.kind === 'scratch') return has(operation.reserved, page) ? SOURCE_ZERO : target;
  const own = block.residences[target];
  if (own !== undefined && has(own.resident, page)) return target;
  const provided = isProvided(block, page);
  // The page was never written: zeros are made faster than they are copied, and even where the copy
  // has died with its device.
  if (!provided && !has(block.dirty, page)) return SOURCE_ZERO;
  const holder = holderOf(state, block, page, target);
  if (holder !== NO_NODE) return holder;
  return provided ? SOURCE_PROVIDER : SOURCE_ZERO;
}

/** A transfer that was pending is through, well or not. */
export function transferDone(state: State, token: Token, status: Status): void {
  const { block, node } = token;
  endToken(state, token);
  const operation = block.operation;
  if (operation === null) return;
  operation.outstanding--;
  if (node === PROVIDER) givenBack(state, token, status);
  else transferred(state, token, status);
  if (operation.outstanding === 0) endTransfers(state, block, operation);
}

/** What the command was to do is through; none is begun before the token has been read. */
function transferred(state: State, token: Token, status: Status): void {
  const { block, source, count } = token;
  const operation = block.record;
  const target = nodeOf(state, token.node);
  if (target.gone) {
    // The pages arrived in memory that is gone; their old place still has them.
    operation.failure = Status.Lost;
    operation.lostSource = source;
  } else if (status === Status.Done) {
    settle(state, token);
  } else {
    if (status === Status.NoMemory) target.counters.refusals++;
    // A node that has no large piece left may still have small ones. What was refused says which:
    // several large pieces may have been under way at once, and the second refusal of their size
    // says nothing about the next one.
    if (status !== Status.NoMemory || count === 1) {
      operation.failure = status;
      operation.lostSource = source;
    } else
      operation.transferPages = Math.min(
        operation.transferPages,
        count > PAGES_PER_GROUP ? PAGES_PER_GROUP : 1,
      );
  }
}

function endTransfers(state: State, block: Block, operation: Operation): void {
  if (operation.failure === Status.Done && hasAny(operation, operation.moving)) {
    // Something was refused as too large: go on with smaller pieces.
    issueTransfers(state, block, operation);
    return;
  }
  finish(state, block, operation);
}
