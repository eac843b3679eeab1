/**
 * Migration in three phases. Setup takes write access (or all access) from the other processors, so that the content stands
 * still; copy moves runs; finalize makes each run visible at its new place, and only then forgets the old one. A run that
 * fails is left where it was. Every step is an entry point of its own, since any of them may have to wait for a device. What each kind
 * takes, says and leaves behind is in operation-rules.ts.
 */
import { holderOf, onlyCopies } from './contents.js';
import {
  addRun,
  clear,
  endOf,
  endWordOf,
  firstWordOf,
  has,
  type Mask,
  next,
  nextAbsent,
  removeRun,
  size,
  WORDS,
} from './mask.js';
import type { Node } from './nodes.js';
import { RULES } from './operation-rules.js';
import {
  classify,
  countPending,
  endToken,
  makeReady,
  mappingOf,
  newToken,
  nodeOf,
  REFUSED,
  releaseBacking,
  reserve,
  residenceOf,
  type State,
  type Token,
} from './state.js';
import {
  Access,
  type InvalidationReason,
  NO_NODE,
  NO_PROCESSOR,
  type NodeId,
  PAGES_PER_BLOCK,
  PAGES_PER_GROUP,
  PAGES_PER_TRANSFER,
  PROVIDER,
  type ProcessorId,
  SOURCE_PROVIDER,
  SOURCE_ZERO,
  type Source,
  Status,
} from './types.js';
import { type Block, isProvided, noteWaiting, rareMask } from './va-block.js';
import type { Operation, OperationKind } from './work.js';

const WORDS_PER_CHUNK = PAGES_PER_TRANSFER / 32;

/** Failed copies in a row before an access is denied, or a block is no victim any more. */
export const ATTEMPTS = 8;

/** An operation of the block, to be filled in further and then started; nothing has changed yet. */
export function open(block: Block, kind: OperationKind, node: NodeId, processor: ProcessorId, mask: Mask): Operation {
  if (block.operation !== null) throw new Error(`block ${block.index} has an operation already`);
  const operation = block.record;
  operation.kind = kind;
  operation.node = node;
  operation.target = node;
  operation.processor = processor;
  fill(operation, mask);
  operation.access = Access.None;
  operation.map = false;
  operation.entry = false;
  operation.exclusive = false;
  operation.urgentPage = -1;
  operation.task = null;
  return operation;
}

/** What the last operation has left in its masks lies where that was. */
function fill(operation: Operation, pages: Mask): void {
  const { mask, moving, reserved } = operation;
  for (let word = operation.firstWord; word < operation.endWord; word++) {
    mask[word] = 0;
    moving[word] = 0;
    reserved[word] = 0;
  }
  operation.firstWord = firstWordOf(pages);
  operation.endWord = endWordOf(pages);
  for (let word = operation.firstWord; word < operation.endWord; word++) mask[word] = pages[word];
}

/** Starts the operation; memory that it needs has been found by the caller. It may have ended when this returns. */
export function start(state: State, block: Block, operation: Operation): void {
  operation.progress = false;
  operation.whole = false;
  operation.phase = 'revoke';
  operation.transferPages = PAGES_PER_TRANSFER;
  operation.failure = Status.Done;
  block.operation = operation;
  state.activeOperations++;
  const rule = RULES[operation.kind];
  if (rule.moves) reserveFor(state, block, operation);
  // The count is held up by one while revocations are handed out, so that none of them ends the phase early.
  operation.outstanding = 1;
  if (block.range.watchers > 0) announce(state, block, operation);
  const meanwhile = rule.meanwhile ?? rule.left;
  for (let id = 0; id < block.mappings.length; id++) {
    const mapping = block.mappings[id];
    if (mapping === undefined) continue;
    const to = meanwhile(operation, id, mapping.node);
    if (to !== Access.Write) revoke(state, block, operation, id, to);
  }
  rule.command?.(state, block, operation);
  operation.outstanding--;
  if (operation.outstanding === 0) startTransfers(state, block, operation);
}

/** The node that pages of the operation are copied to; none where a node makes room whose pages have no home. */
function targetOf(state: State, { target }: Operation): Node | undefined {
  return state.nodes[target];
}

/** Finds out what is to be copied, and takes memory for it. */
function reserveFor(state: State, block: Block, operation: Operation): void {
  const { kind, node, mask, moving } = operation;
  const target = targetOf(state, operation);
  if (kind !== 'evict')
    for (let word = operation.firstWord; word < operation.endWord; word++) moving[word] = mask[word];
  else if (target !== undefined || operation.target === PROVIDER) onlyCopies(state, block, node, mask, moving);
  // What the provider would give anyway, it need not get.
  if (operation.target === PROVIDER) for (let word = 0; word < WORDS; word++) moving[word] &= block.dirty[word];
  if (target !== undefined) operation.whole = reserve(state, block, target, operation) === PAGES_PER_BLOCK;
  if (kind !== 'evict') return;
  operation.evictingPages = backedIn(block, operation);
  nodeOf(state, node).leavingPages += operation.evictingPages;
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

/**
 * Tells the subscribers of a watched range what is about to be taken from anybody: a right, or the content. What takes nothing is no news:
 * setting the rights that pages have, reading what others read, too, or emptying what is zero.
 */
function announce(state: State, block: Block, operation: Operation): void {
  const rule = RULES[operation.kind];
  const { mark } = state.masks;
  const taken = state.masks.take();
  const { forgets } = rule;
  if (forgets === undefined) clear(taken);
  else for (let word = 0; word < WORDS; word++) taken[word] = forgets(block, word) & operation.mask[word];
  for (let id = 0; id < block.mappings.length; id++) {
    const mapping = block.mappings[id];
    if (mapping === undefined) continue;
    const left = rule.left(operation, id, mapping.node);
    if (left === Access.Write) continue;
    const rights = left === Access.None ? mapping.mapped : mapping.writable;
    for (let word = 0; word < WORDS; word++)
      taken[word] |= rights[word] & ~mapping.standIn[word] & operation.mask[word];
  }
  const first = next(taken, 0);
  if (first < PAGES_PER_BLOCK) {
    const end = endOf(taken);
    const page = block.index * PAGES_PER_BLOCK + first;
    operation.announcedPage = page;
    operation.announcedCount = end - first;
    state.commands.invalidate(page, end - first, reasonOf(operation), operation.processor);
  }
  state.masks.backTo(mark);
}

function reasonOf({ kind, exclusive }: Operation): InvalidationReason {
  return exclusive ? 'exclusive' : RULES[kind].reason;
}

/** Takes from a processor what is above `to`. What stands in for denied pages is nobody's, and stays. */
function revoke(state: State, block: Block, operation: Operation, from: ProcessorId, to: Access): void {
  const mapping = block.mappings[from];
  const processor = state.processors[from];
  if (mapping === undefined || processor === undefined) return;
  const { mark } = state.masks;
  const going = state.masks.take();
  const rights = to === Access.None ? mapping.mapped : mapping.writable;
  const { mask, firstWord, endWord } = operation;
  for (let word = firstWord; word < endWord; word++) going[word] = rights[word] & mask[word] & ~mapping.standIn[word];
  const base = block.index * PAGES_PER_BLOCK;
  for (let first = next(going, firstWord * 32, endWord); first < PAGES_PER_BLOCK; ) {
    const end = nextAbsent(going, first, endWord);
    removeRun(mapping.writable, first, end - first);
    if (to === Access.None) removeRun(mapping.mapped, first, end - first);
    processor.counters.revocations++;
    if (processor.state !== 'dead') {
      const token = newToken(state, 'revoke', block, mapping.node, 0, first, end - first);
      countPending(state, operation, token, state.commands.revoke(token.id, from, base + first, end - first, to));
    }
    first = next(going, end, endWord);
  }
  state.masks.backTo(mark);
}

/** A revocation that was pending is through. */
export function revokeDone(state: State, token: Token): void {
  const { block } = token;
  endToken(state, token);
  const operation = block.operation;
  if (operation === null) return;
  operation.outstanding--;
  if (operation.outstanding === 0) startTransfers(state, block, operation);
}

function startTransfers(state: State, block: Block, operation: Operation): void {
  operation.phase = 'transfer';
  // Once nobody has more than he may keep, nothing else has to happen where no page moves.
  if (!RULES[operation.kind].moves) {
    finish(state, block, operation);
    return;
  }
  const dead = deadEnd(state, operation);
  if (dead !== NO_NODE) {
    operation.failure = Status.Lost;
    operation.lostSource = dead;
    finish(state, block, operation);
    return;
  }
  issueTransfers(state, block, operation);
}

/** A node that died while others gave their rights up: nothing has moved yet, and nothing can, or should, any more. */
function deadEnd(state: State, { kind, node, target }: Operation): NodeId {
  if (kind === 'evict' && state.nodes[node]?.gone === true) return node;
  return state.nodes[target]?.state === 'dead' ? target : NO_NODE;
}

function issueTransfers(state: State, block: Block, operation: Operation): void {
  const target = targetOf(state, operation);
  operation.outstanding++;
  if (operation.target === PROVIDER) giveBack(state, block, operation);
  // The chunk that a thread waits for goes first, then the ones after it, since most programs walk upwards.
  const begin = Math.floor(operation.firstWord / WORDS_PER_CHUNK);
  const chunks = Math.ceil(operation.endWord / WORDS_PER_CHUNK) - begin;
  const urgent = Math.floor(operation.urgentPage / PAGES_PER_TRANSFER) - begin;
  const from = urgent > 0 && urgent < chunks ? urgent : 0;
  for (let step = 0; step < chunks && target !== undefined; step++) {
    if (operation.failure !== Status.Done) break;
    issueChunk(state, block, operation, target, (begin + ((from + step) % chunks)) * PAGES_PER_TRANSFER);
  }
  operation.outstanding--;
  if (operation.outstanding === 0) endTransfers(state, block, operation);
}

/** The provider takes runs as long as there are. */
function giveBack(state: State, block: Block, operation: Operation): void {
  const base = block.index * PAGES_PER_BLOCK;
  const { frames } = residenceOf(state, block, operation.node);
  const order = state.transfer;
  for (let first = next(operation.moving, 0); first < PAGES_PER_BLOCK && operation.failure === Status.Done; ) {
    const end = nextAbsent(operation.moving, first);
    const token = newToken(state, 'transfer', block, PROVIDER, operation.node, first, end - first);
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
    const status = state.commands.transfer(order);
    if (status !== Status.Pending) {
      endToken(state, token);
      operation.outstanding--;
      givenBack(state, block, operation, first, end - first, status);
    }
    first = next(operation.moving, end);
  }
}

/** The pages are what their provider would give, wherever there are copies. */
function givenBack(
  state: State,
  block: Block,
  operation: Operation,
  first: number,
  count: number,
  status: Status,
): void {
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

function issueChunk(state: State, block: Block, operation: Operation, target: Node, chunk: number): void {
  const residence = residenceOf(state, block, target.id);
  const mapping = operation.map ? mappingOf(state, block, operation.processor) : null;
  const base = block.index * PAGES_PER_BLOCK;
  const limit = chunk + PAGES_PER_TRANSFER;
  // What settles meanwhile lies behind.
  const { moving } = operation;
  for (let first = next(moving, chunk, limit >>> 5); first < limit; first = next(moving, first, limit >>> 5)) {
    const source = sourceOf(state, block, operation, target.id, first);
    if (source >= 0 && state.nodes[source]?.gone === true) {
      operation.failure = Status.Lost;
      operation.lostSource = source;
      return;
    }
    const backed = !has(operation.reserved, first);
    const access = accessAt(operation, first);
    const previous = mapping === null ? Access.None : accessOf(mapping.mapped, mapping.writable, first);
    let end = first + 1;
    const longest = Math.min(limit, first + operation.transferPages, endAt(operation, first));
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
    const count = end - first;
    if (source === target.id) {
      if (access > previous) {
        const frame = frameAt(residence.frames, base, first);
        state.commands.map(operation.processor, base + first, count, access, previous, frame);
      }
      settle(state, block, operation, target, source, first, count);
    } else {
      const status = transfer(state, block, operation, target, source, first, count, backed);
      if (status !== Status.Pending && operation.failure !== Status.Done) return;
    }
    first = end;
  }
}

function transfer(
  state: State,
  block: Block,
  operation: Operation,
  target: Node,
  source: Source,
  first: number,
  count: number,
  backed: boolean,
): Status {
  const base = block.index * PAGES_PER_BLOCK;
  const frames = source < 0 ? null : (block.residences[source]?.frames ?? null);
  const token = newToken(state, 'transfer', block, target.id, source, first, count);
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
  const access = accessAt(operation, first);
  order.processor = access === Access.None ? NO_PROCESSOR : operation.processor;
  order.page = base + first;
  order.count = count;
  order.frame = frameAt(residenceOf(state, block, target.id).frames, base, first);
  order.access = access;
  order.backed = backed;
  order.whole = operation.whole;
  operation.whole = false;
  order.urgent = operation.urgentPage !== -1 && sameChunk(operation.urgentPage, first);
  const status = state.commands.transfer(order);
  if (status === Status.Pending) return status;
  endToken(state, token);
  operation.outstanding--;
  transferred(state, block, operation, target, source, first, count, status);
  return status;
}

/** The right to a page that the operation's processor gets. */
function accessAt({ map, entry, access }: Operation, page: number): Access {
  return map && !(entry && page < PAGES_PER_GROUP) ? access : Access.None;
}

/** Where pages that are mapped otherwise begin. */
function endAt({ entry }: Operation, page: number): number {
  return entry && page < PAGES_PER_GROUP ? PAGES_PER_GROUP : PAGES_PER_BLOCK;
}

function sameChunk(one: number, other: number): boolean {
  return Math.floor(one / PAGES_PER_TRANSFER) === Math.floor(other / PAGES_PER_TRANSFER);
}

function follows(frames: Int32Array | null, page: number): boolean {
  return frames === null || frames[page] === frames[page - 1] + 1;
}

function frameAt(frames: Int32Array | null, base: number, page: number): number {
  return frames === null ? base + page : frames[page];
}

function accessOf(mapped: Mask, writable: Mask, page: number): Access {
  if (!has(mapped, page)) return Access.None;
  return has(writable, page) ? Access.Write : Access.Read;
}

function sourceOf(state: State, block: Block, operation: Operation, target: NodeId, page: number): Source {
  if (operation.kind === 'evict') return operation.node;
  if (operation.kind === 'scratch') return has(operation.reserved, page) ? SOURCE_ZERO : target;
  const own = block.residences[target];
  if (own !== undefined && has(own.resident, page)) return target;
  const provided = isProvided(block, page);
  // Nobody has written it: zeros are made faster than they are copied, and even where the copy has died with its device.
  if (!provided && !has(block.dirty, page)) return SOURCE_ZERO;
  const holder = holderOf(state, block, page, target);
  if (holder !== NO_NODE) return holder;
  return provided ? SOURCE_PROVIDER : SOURCE_ZERO;
}

/** A transfer that was pending is through, well or not. */
export function transferDone(state: State, token: Token, status: Status): void {
  const { block, source, first, count, node } = token;
  endToken(state, token);
  const operation = block.operation;
  if (operation === null) return;
  operation.outstanding--;
  if (node === PROVIDER) givenBack(state, block, operation, first, count, status);
  else transferred(state, block, operation, nodeOf(state, node), source, first, count, status);
  if (operation.outstanding === 0) endTransfers(state, block, operation);
}

function transferred(
  state: State,
  block: Block,
  operation: Operation,
  target: Node,
  source: Source,
  first: number,
  count: number,
  status: Status,
): void {
  if (target.gone) {
    // The pages arrived in memory that is gone; their old place still has them.
    operation.failure = Status.Lost;
    operation.lostSource = source;
  } else if (status === Status.Done) {
    settle(state, block, operation, target, source, first, count);
  } else {
    if (status === Status.NoMemory) target.counters.refusals++;
    // A node that has no large piece left may still have small ones. What was refused says which: several large pieces may
    // have been under way at once, and the second refusal of their size says nothing about the next one.
    if (status !== Status.NoMemory || count === 1) {
      operation.failure = status;
      operation.lostSource = source;
    } else operation.transferPages = Math.min(operation.transferPages, count > PAGES_PER_GROUP ? PAGES_PER_GROUP : 1);
  }
}

/** A run has its content and its mapping at the target: the table learns it, then the threads that waited are off the list. */
function settle(
  state: State,
  block: Block,
  operation: Operation,
  target: Node,
  source: Source,
  first: number,
  count: number,
): void {
  operation.progress = true;
  removeRun(operation.moving, first, count);
  removeRun(operation.reserved, first, count);
  const residence = residenceOf(state, block, target.id);
  if (source >= 0 && source !== target.id) {
    target.counters.pagesIn += count;
    const from = state.nodes[source];
    if (from !== undefined) from.counters.pagesOut += count;
  } else if (source === SOURCE_ZERO) target.counters.pagesZeroed += count;
  else if (source === SOURCE_PROVIDER && block.range.derived === true) target.counters.pagesCloned += count;
  else if (source === SOURCE_PROVIDER) target.counters.pagesProvided += count;
  if (operation.kind === 'scratch') {
    addRun(rareMask(residence, 'scratch'), first, count);
    removeRun(residence.resident, first, count);
    addRun(rareMask(mappingOf(state, block, operation.processor), 'standIn'), first, count);
    target.scratchBlocks.add(block);
  } else {
    addRun(residence.resident, first, count);
    if (operation.kind === 'migrate' && operation.access === Access.Write) {
      addRun(block.dirty, first, count);
      removeRun(block.cleaning, first, count);
      for (let other = 0; other < block.residences.length; other++) {
        const stale = block.residences[other];
        if (stale !== undefined && other !== target.id) removeRun(stale.resident, first, count);
      }
    }
  }
  // A processor that died meanwhile keeps the content, if it keeps any, but has no tables to map it in.
  if (accessAt(operation, first) === Access.None || state.processors[operation.processor]?.state === 'dead') return;
  const mapping = mappingOf(state, block, operation.processor);
  addRun(mapping.mapped, first, count);
  if (operation.access === Access.Write) addRun(mapping.writable, first, count);
  const processor = state.processors[operation.processor];
  if (processor !== undefined && processor.waited !== REFUSED) processor.waited = 0;
  if (mapping.waiting) {
    removeRun(mapping.waitingRead, first, count);
    if (operation.access === Access.Write) removeRun(mapping.waitingWrite, first, count);
    noteWaiting(mapping);
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

/** Whether one of the operation's masks has a page. */
function hasAny({ firstWord, endWord }: Operation, mask: Mask): boolean {
  for (let word = firstWord; word < endWord; word++) if (mask[word] !== 0) return true;
  return false;
}

function finish(state: State, block: Block, operation: Operation): void {
  const target = targetOf(state, operation);
  if (target !== undefined && hasAny(operation, operation.reserved))
    releaseBacking(state, block, target, operation.reserved);
  RULES[operation.kind].finish(state, block, operation);
  if (operation.announcedCount > 0) {
    const { announcedPage, announcedCount } = operation;
    operation.announcedCount = 0;
    state.commands.invalidated(announcedPage, announcedCount, reasonOf(operation), operation.processor);
  }
  block.operation = null;
  state.activeOperations--;
  if (operation.dependent) {
    operation.dependent = false;
    state.dependentOperations--;
  }
  noteEnd(block, operation);
  classify(state, block);
  makeReady(state, block);
  // The block can be a victim again, which may be what others wait for.
  if (target !== undefined && target.waiters.size > 0) target.pump = true;
}

/** The record of the operation serves the next one: what the block has to know of this one is kept apart. */
function noteEnd({ ended }: Block, operation: Operation): void {
  ended.kind = operation.kind;
  ended.node = operation.target;
  ended.failure = operation.failure;
  ended.lostSource = operation.lostSource;
  ended.task = operation.task;
  ended.page = operation.urgentPage;
  const failed = operation.failure !== Status.Done;
  ended.only = failed && size(operation.mask) === 1 ? next(operation.mask, 0) : -1;
  ended.progress = operation.progress;
}
