/**
 * Migration in three phases. Setup takes write access (or all access) from the other processors, so that the content stands
 * still; copy moves runs; finalize makes each run visible at its new place, and only then forgets the old one. A run that
 * fails is left where it was. Every step is an entry point of its own, since any of them may have to wait for a device.
 */
import { add, addRun, clear, has, isEmpty, type Mask, next, remove, removeRun, size, WORDS } from './mask.js';
import {
  classify,
  endToken,
  holderOf,
  makeReady,
  mappingOf,
  newToken,
  nodeOf,
  onlyOn,
  type Processor,
  processorOf,
  releaseBacking,
  reserve,
  residenceOf,
  type State,
  type Token,
} from './state.js';
import {
  Access,
  HOST,
  type InvalidationReason,
  PAGES_PER_BLOCK,
  PAGES_PER_GROUP,
  PAGES_PER_TRANSFER,
  SOURCE_PROVIDER,
  SOURCE_ZERO,
  Status,
} from './types.js';
import { type Block, isProvided, type Operation, type OperationKind, rareMask, type Task } from './va-block.js';

/** Failed copies in a row before an access is denied, or a block is no victim any more. */
export const ATTEMPTS = 8;

/** What an operation needs to know to begin. */
export interface OperationPlan {
  kind: OperationKind;
  /** The processor that gets the pages (migrate, scratch) or gives them up (evict). */
  processor: number;
  access: Access;
  map: boolean;
  urgentPage: number;
  /** The processor wants the pages for itself, for atomic operations. */
  exclusive: boolean;
  task: Task | null;
}

/** Starts the operation; memory that it needs has been found by the caller. It may have ended when this returns. */
export function begin(state: State, block: Block, plan: OperationPlan, mask: Mask): void {
  if (block.operation !== null) throw new Error(`block ${block.index} has an operation already`);
  const operation = block.spareOperation;
  operation.kind = plan.kind;
  operation.processor = plan.processor;
  operation.access = plan.access;
  operation.map = plan.map;
  for (let word = 0; word < WORDS; word++) {
    operation.mask[word] = mask[word];
    operation.settled[word] = 0;
    operation.reserved[word] = 0;
  }
  operation.phase = 'revoke';
  operation.outstanding = 0;
  operation.exclusive = plan.exclusive;
  operation.transferPages = PAGES_PER_TRANSFER;
  operation.urgentPage = plan.urgentPage;
  operation.failure = Status.Done;
  operation.task = plan.task;
  block.operation = operation;
  state.activeOperations++;
  const target = processorOf(state, operation.kind === 'evict' ? HOST : operation.processor);
  if (operation.kind === 'migrate' || operation.kind === 'scratch') {
    reserve(state, block, target, operation.mask, operation.reserved);
  } else if (operation.kind === 'evict') {
    const copied = state.maskA;
    evictedByCopy(state, block, operation.processor, operation.mask, copied);
    reserve(state, block, target, copied, operation.reserved);
    operation.evictingPages = backedIn(block, operation);
    processorOf(state, operation.processor).evictingPages += operation.evictingPages;
  }
  // The count is held up by one while revocations are handed out, so that none of them ends the phase early.
  operation.outstanding = 1;
  if (block.range.watchers > 0 && operation.kind !== 'cover') announce(state, block, operation);
  if (operation.kind === 'migrate') revokeOthers(state, block, operation);
  else if (operation.kind === 'evict') revokeWriters(state, block, operation);
  else if (operation.kind === 'zero' || operation.kind === 'drop') revokeAll(state, block, operation, Access.None);
  else if (operation.kind === 'clean') revokeAll(state, block, operation, Access.Read);
  else if (operation.kind === 'protect') revokeAll(state, block, operation, operation.access);
  else if (operation.kind === 'guard') revokeAll(state, block, operation, Access.Read);
  else if (operation.kind === 'attach' || operation.kind === 'separate') switchNode(state, block, operation);
  else if (operation.kind === 'cover') cover(state, block, operation);
  operation.outstanding--;
  if (operation.outstanding === 0) startTransfers(state, block, operation);
}

/** Pages whose only good copy is on this node, and that nothing could make again. */
export function evictedByCopy(state: State, block: Block, node: number, mask: Mask, result: Mask): void {
  const residence = block.residences[node];
  if (residence === undefined) {
    clear(result);
    return;
  }
  onlyOn(state, block, node, mask, result);
  for (let word = 0; word < WORDS; word++) {
    // What is being saved for clones should not have to be had again: perhaps it cannot be.
    result[word] &= residence.resident[word] & (block.dirty[word] | block.saving[word]) & ~block.lost[word];
  }
}

function backedIn(block: Block, operation: Operation): number {
  const residence = block.residences[operation.processor];
  if (residence === undefined) return 0;
  let total = 0;
  for (let page = next(operation.mask, 0); page < PAGES_PER_BLOCK; page = next(operation.mask, page + 1)) {
    if (has(residence.backed, page)) total++;
  }
  return total;
}

function revokeOthers(state: State, block: Block, operation: Operation): void {
  for (let other = 0; other < block.mappings.length; other++) {
    // Who maps the very memory that the pages go to sees what happens there.
    if (nodeOf(block, other) === operation.processor) continue;
    revokeFrom(state, block, operation, other, operation.access === Access.Write ? Access.None : Access.Read);
  }
}

/** Before pages are copied out for good, their processor must no longer write them; releasing them unmaps them anyway. */
function revokeWriters(state: State, block: Block, operation: Operation): void {
  revokeFrom(state, block, operation, operation.processor, Access.Read);
}

function revokeAll(state: State, block: Block, operation: Operation, to: Access): void {
  if (to === Access.Write) return;
  for (let other = 0; other < block.mappings.length; other++) {
    revokeFrom(state, block, operation, other, to);
  }
}

/** The processor gets other memory at all addresses of the block. Its threads have ended, and what it had mapped goes with the old one. */
function switchNode(state: State, block: Block, operation: Operation): void {
  const { kind, processor } = operation;
  const mapping = mappingOf(block, processor);
  clear(mapping.mapped);
  clear(mapping.writable);
  if (state.processors[processor]?.state === 'dead') return;
  const token = newToken(state, 'revoke', block, processor, 0, 0, PAGES_PER_BLOCK);
  operation.outstanding++;
  const status = state.commands.remap(token.id, processor, block.index * PAGES_PER_BLOCK, kind === 'attach');
  if (status === Status.Pending) return;
  endToken(state, token);
  operation.outstanding--;
}

function finishSwitch(state: State, block: Block, { kind, processor }: Operation): void {
  const owner = state.processors[processor];
  if (kind === 'separate') {
    block.remote &= ~(1 << processor);
    if (owner !== undefined) owner.remoteBlocks--;
    const covered = block.residences[processor]?.scratch;
    if (covered !== undefined) {
      if (owner !== undefined) owner.coveredPages -= size(covered);
      clear(covered);
    }
  } else if (owner?.state !== 'dead') block.remote |= 1 << processor;
}

/** A page of the processor's own appears where it reaches host memory in place. */
function cover(state: State, block: Block, operation: Operation): void {
  const { processor, urgentPage } = operation;
  if (state.processors[processor]?.state === 'dead') return;
  const token = newToken(state, 'revoke', block, processor, 0, urgentPage, 1);
  operation.outstanding++;
  const status = state.commands.cover(token.id, processor, block.index * PAGES_PER_BLOCK + urgentPage);
  if (status === Status.Pending) return;
  endToken(state, token);
  operation.outstanding--;
  if (status !== Status.Done) operation.failure = status;
}

function finishCover(state: State, block: Block, operation: Operation): void {
  const { processor, urgentPage, failure } = operation;
  const owner = state.processors[processor];
  if (owner === undefined || owner.state === 'dead') return;
  const page = block.index * PAGES_PER_BLOCK + urgentPage;
  const mapping = mappingOf(block, processor);
  remove(mapping.waitingRead, urgentPage);
  remove(mapping.waitingWrite, urgentPage);
  mapping.waiting = !(isEmpty(mapping.waitingRead) && isEmpty(mapping.waitingWrite));
  if (failure !== Status.Done) {
    operation.failure = Status.Done;
    state.commands.deny(processor, page, true, mapping.urgentThread, 'COPY_FAILED', true);
    return;
  }
  owner.coveredPages++;
  add(residenceOf(state, block, processor).scratch, urgentPage);
  add(mapping.mapped, urgentPage);
  add(mapping.writable, urgentPage);
  state.commands.wake(processor, page, 1);
}

/**
 * Tells the subscribers of a watched range what is about to be taken from anybody. What takes nothing is no news: setting the
 * protection that pages have, or reading what others read, too.
 */
function announce(state: State, block: Block, operation: Operation): void {
  const { kind, processor, access } = operation;
  const taken = state.maskB;
  clear(taken);
  for (let other = 0; other < block.mappings.length; other++) {
    const mapping = block.mappings[other];
    const node = nodeOf(block, other);
    if (mapping === undefined || (kind === 'migrate' && node === processor)) continue;
    const onlyWriting =
      kind === 'guard' || kind === 'clean' || (kind === 'migrate' && access !== Access.Write) || access === Access.Read;
    const takesAll = kind === 'zero' || kind === 'free' || kind === 'drop' || (kind === 'evict' && node === processor);
    if (kind === 'evict' && node !== processor) continue;
    if (kind === 'protect' && access === Access.Write) continue;
    const rights = onlyWriting && !takesAll ? mapping.writable : mapping.mapped;
    for (let word = 0; word < WORDS; word++) taken[word] |= rights[word] & operation.mask[word];
  }
  const first = next(taken, 0);
  // Discarding and freeing change what is read, also where nobody has it mapped.
  const always = kind === 'zero' || kind === 'free' || kind === 'drop';
  if (first === PAGES_PER_BLOCK && !always) return;
  const mask = always ? operation.mask : taken;
  const start = next(mask, 0);
  if (start === PAGES_PER_BLOCK) return;
  let end = PAGES_PER_BLOCK;
  while (!has(mask, end - 1)) end--;
  const base = block.index * PAGES_PER_BLOCK;
  operation.announcedPage = base + start;
  operation.announcedCount = end - start;
  state.commands.invalidate(base + start, end - start, reasonOf(operation), processor);
}

function reasonOf({ kind, exclusive }: Operation): InvalidationReason {
  if (kind === 'zero' || kind === 'drop') return 'discard';
  if (kind === 'free') return 'unmap';
  if (kind === 'protect' || kind === 'guard' || kind === 'clean') return 'protect';
  return exclusive ? 'exclusive' : 'migrate';
}

function revokeFrom(state: State, block: Block, operation: Operation, from: number, to: Access): void {
  const mapping = block.mappings[from];
  const processor = state.processors[from];
  if (mapping === undefined || processor === undefined) return;
  const rights = to === Access.None ? mapping.mapped : mapping.writable;
  const base = block.index * PAGES_PER_BLOCK;
  const scratch = block.residences[from]?.scratch;
  for (let first = next(operation.mask, 0); first < PAGES_PER_BLOCK; first = next(operation.mask, first)) {
    if (!has(rights, first) || (scratch !== undefined && has(scratch, first))) {
      first++;
      continue;
    }
    let end = first + 1;
    while (
      end < PAGES_PER_BLOCK &&
      has(operation.mask, end) &&
      has(rights, end) &&
      !(scratch !== undefined && has(scratch, end))
    ) {
      end++;
    }
    removeRun(mapping.writable, first, end - first);
    if (to === Access.None) removeRun(mapping.mapped, first, end - first);
    processor.counters.revocations++;
    if (processor.state !== 'dead') {
      const token = newToken(state, 'revoke', block, from, 0, first, end - first);
      operation.outstanding++;
      if (state.commands.revoke(token.id, from, base + first, end - first, to) !== Status.Pending) {
        endToken(state, token);
        operation.outstanding--;
      }
    }
    first = end;
  }
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
  if (isImmediate(operation.kind)) {
    finish(state, block, operation);
    return;
  }
  const processor = processorOf(state, operation.processor);
  if (operation.kind === 'evict' ? processor.gone : processor.state === 'dead') {
    // It died while others gave their rights up. Nothing has moved yet, and nothing should move there any more.
    operation.failure = Status.Lost;
    operation.lostSource = operation.processor;
    finish(state, block, operation);
    return;
  }
  issueTransfers(state, block, operation);
}

/** Once nobody has more than he may keep, nothing else has to happen: no page moves. */
function isImmediate(kind: OperationKind): boolean {
  return kind !== 'migrate' && kind !== 'evict' && kind !== 'scratch';
}

function issueTransfers(state: State, block: Block, operation: Operation): void {
  const wanted = state.maskA;
  if (operation.kind === 'evict') evictedByCopy(state, block, operation.processor, operation.mask, wanted);
  else for (let word = 0; word < WORDS; word++) wanted[word] = operation.mask[word];
  for (let word = 0; word < WORDS; word++) wanted[word] &= ~operation.settled[word];
  const target = processorOf(state, operation.kind === 'evict' ? HOST : operation.processor);
  operation.outstanding++;
  // The chunk that a thread waits for goes first, then the ones after it, since most programs walk upwards.
  const chunks = PAGES_PER_BLOCK / PAGES_PER_TRANSFER;
  const start = operation.urgentPage === -1 ? 0 : Math.floor(operation.urgentPage / PAGES_PER_TRANSFER);
  for (let step = 0; step < chunks; step++) {
    if (operation.failure !== Status.Done) break;
    const chunk = ((start + step) % chunks) * PAGES_PER_TRANSFER;
    if ((wanted[chunk >>> 5] | wanted[(chunk >>> 5) + 1]) !== 0)
      issueChunk(state, block, operation, target, wanted, chunk);
  }
  operation.outstanding--;
  if (operation.outstanding === 0) endTransfers(state, block, operation);
}

function issueChunk(
  state: State,
  block: Block,
  operation: Operation,
  target: Processor,
  wanted: Mask,
  chunk: number,
): void {
  const residence = residenceOf(state, block, target.id);
  const mapping = mappingOf(block, target.id);
  const base = block.index * PAGES_PER_BLOCK;
  const access = operation.kind === 'evict' || !operation.map ? Access.None : operation.access;
  const limit = chunk + PAGES_PER_TRANSFER;
  for (let first = next(wanted, chunk); first < limit; first = next(wanted, first)) {
    const source = sourceOf(state, block, operation, target.id, first);
    if (source >= 0 && state.processors[source]?.gone === true) {
      operation.failure = Status.Lost;
      operation.lostSource = source;
      return;
    }
    const backed = !has(operation.reserved, first);
    const previous = accessOf(mapping.mapped, mapping.writable, first);
    let end = first + 1;
    const longest = Math.min(limit, first + operation.transferPages);
    while (
      end < longest &&
      has(wanted, end) &&
      sourceOf(state, block, operation, target.id, end) === source &&
      !has(operation.reserved, end) === backed &&
      accessOf(mapping.mapped, mapping.writable, end) === previous &&
      follows(residence.frames, end) &&
      (source < 0 || source === target.id || follows(block.residences[source]?.frames ?? null, end))
    ) {
      end++;
    }
    const count = end - first;
    if (source === target.id) {
      if (access > previous) {
        state.commands.map(target.id, base + first, count, access, previous, frameAt(residence.frames, base, first));
      }
      settle(state, block, operation, target, source, first, count);
    } else {
      const frames = source < 0 ? null : (block.residences[source]?.frames ?? null);
      const token = newToken(state, 'transfer', block, target.id, source, first, count);
      operation.outstanding++;
      if (source === SOURCE_PROVIDER && block.range.derived === true && !operation.dependent) {
        operation.dependent = true;
        state.dependentOperations++;
      }
      const urgent = operation.urgentPage >= chunk && operation.urgentPage < limit;
      const status = state.commands.transfer(
        token.id,
        source,
        frameAt(frames, base, first),
        target.id,
        base + first,
        count,
        frameAt(residence.frames, base, first),
        access,
        backed,
        urgent,
      );
      if (status !== Status.Pending) {
        endToken(state, token);
        operation.outstanding--;
        transferred(state, block, operation, target, source, first, count, status);
        if (operation.failure !== Status.Done) return;
      }
    }
    first = end;
  }
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

function sourceOf(state: State, block: Block, operation: Operation, target: number, page: number): number {
  if (operation.kind === 'evict') return operation.processor;
  if (operation.kind === 'scratch') return has(operation.reserved, page) ? SOURCE_ZERO : target;
  const own = block.residences[target];
  if (own !== undefined && has(own.resident, page)) return target;
  const provided = isProvided(block, page);
  // Nobody has written it: zeros are made faster than they are copied, and even where the copy has died with its device.
  if (!provided && !has(block.dirty, page)) return SOURCE_ZERO;
  const holder = holderOf(state, block, page, target);
  if (holder !== -1) return holder;
  return provided ? SOURCE_PROVIDER : SOURCE_ZERO;
}

/** A transfer that was pending is through, well or not. */
export function transferDone(state: State, token: Token, status: Status): void {
  const { block, source, first, count, processor } = token;
  endToken(state, token);
  const operation = block.operation;
  if (operation === null) return;
  operation.outstanding--;
  transferred(state, block, operation, processorOf(state, processor), source, first, count, status);
  if (operation.outstanding === 0) endTransfers(state, block, operation);
}

function transferred(
  state: State,
  block: Block,
  operation: Operation,
  target: Processor,
  source: number,
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
  target: Processor,
  source: number,
  first: number,
  count: number,
): void {
  addRun(operation.settled, first, count);
  const residence = residenceOf(state, block, target.id);
  if (source >= 0 && source !== target.id) {
    target.counters.pagesIn += count;
    const from = state.processors[source];
    if (from !== undefined) from.counters.pagesOut += count;
  } else if (source === SOURCE_ZERO) target.counters.pagesZeroed += count;
  else if (source === SOURCE_PROVIDER && block.range.derived === true) target.counters.pagesCloned += count;
  else if (source === SOURCE_PROVIDER) target.counters.pagesProvided += count;
  if (operation.kind === 'scratch') {
    addRun(residence.scratch, first, count);
    removeRun(residence.resident, first, count);
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
  if (operation.kind === 'evict' || !operation.map || target.state === 'dead') return;
  const mapping = mappingOf(block, target.id);
  addRun(mapping.mapped, first, count);
  if (operation.access === Access.Write) addRun(mapping.writable, first, count);
  if (mapping.waiting) {
    removeRun(mapping.waitingRead, first, count);
    if (operation.access === Access.Write) removeRun(mapping.waitingWrite, first, count);
    mapping.waiting = !(isEmpty(mapping.waitingRead) && isEmpty(mapping.waitingWrite));
  }
}

function endTransfers(state: State, block: Block, operation: Operation): void {
  if (operation.failure === Status.Done && !isComplete(state, block, operation)) {
    // Something was refused as too large: go on with smaller pieces.
    issueTransfers(state, block, operation);
    return;
  }
  finish(state, block, operation);
}

function isComplete(state: State, block: Block, operation: Operation): boolean {
  if (operation.kind === 'evict') {
    const residence = block.residences[operation.processor];
    if (residence === undefined) return true;
    const hostResidence = block.residences[HOST];
    for (let page = next(operation.mask, 0); page < PAGES_PER_BLOCK; page = next(operation.mask, page + 1)) {
      if (!has(residence.resident, page) || !has(block.dirty, page) || has(operation.settled, page)) continue;
      if (hostResidence !== undefined && has(hostResidence.resident, page)) continue;
      if (holderOf(state, block, page, operation.processor) === -1) return false;
    }
    return true;
  }
  for (let word = 0; word < WORDS; word++) {
    if ((operation.mask[word] & ~operation.settled[word]) !== 0) return false;
  }
  return true;
}

function finish(state: State, block: Block, operation: Operation): void {
  const target = state.processors[operation.kind === 'evict' ? HOST : operation.processor];
  const unfilled = state.maskA;
  for (let word = 0; word < WORDS; word++) unfilled[word] = operation.reserved[word] & ~operation.settled[word];
  if (target !== undefined && !isEmpty(unfilled)) releaseBacking(state, block, target, unfilled);
  if (operation.kind === 'evict') finishEviction(state, block, operation);
  else if (operation.kind === 'zero') finishZero(block, operation);
  else if (operation.kind === 'free') finishFree(state, block, operation);
  else if (operation.kind === 'drop') finishDrop(block, operation);
  else if (operation.kind === 'clean') {
    const cleaning = rareMask(block, 'cleaning');
    for (let word = 0; word < WORDS; word++) cleaning[word] |= operation.mask[word];
  } else if (operation.kind === 'protect') finishProtect(block, operation);
  else if (operation.kind === 'guard') finishGuard(block, operation);
  else if (operation.kind === 'attach' || operation.kind === 'separate') finishSwitch(state, block, operation);
  else if (operation.kind === 'cover') finishCover(state, block, operation);
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
  classify(state, block);
  makeReady(state, block);
  // The block can be a victim again, which may be what others wait for.
  if (target !== undefined && target.waiters.size > 0) target.pump = true;
}

function finishEviction(state: State, block: Block, operation: Operation): void {
  const processor = state.processors[operation.processor];
  if (processor === undefined) return;
  processor.evictingPages -= operation.evictingPages;
  processor.pump = true;
  const residence = residenceOf(state, block, operation.processor);
  // Only what is safe elsewhere, or can be made again, may go: a page whose copy failed stays.
  const stuck = state.maskA;
  evictedByCopy(state, block, operation.processor, operation.mask, stuck);
  const going = operation.reserved;
  for (let word = 0; word < WORDS; word++) {
    going[word] = operation.mask[word] & residence.backed[word] & ~stuck[word] & ~residence.scratch[word];
  }
  const before = block.evictEffort === state.effort ? block.evictFailures : 0;
  block.evictFailures = isEmpty(stuck) ? 0 : before + 1;
  block.evictEffort = state.effort;
  if (!isEmpty(going)) {
    releaseBacking(state, block, processor, going);
    processor.counters.evictions++;
  }
}

function finishZero(block: Block, operation: Operation): void {
  finishDrop(block, operation);
  for (let word = 0; word < WORDS; word++) block.blank[word] |= operation.mask[word];
}

/** No node holds the pages any more, and nothing is known of them but where they come from. */
function finishDrop(block: Block, operation: Operation): void {
  for (let word = 0; word < WORDS; word++) {
    const bits = ~operation.mask[word];
    block.dirty[word] &= bits;
    block.lost[word] &= bits;
    block.blank[word] &= bits;
    block.cleaning[word] &= bits;
    for (let node = 0; node < block.residences.length; node++) {
      const residence = block.residences[node];
      if (residence !== undefined) residence.resident[word] &= bits;
    }
  }
}

function finishProtect(block: Block, operation: Operation): void {
  const { access, mask } = operation;
  const unreadable = access === Access.None ? rareMask(block, 'unreadable') : block.unreadable;
  const unwritable = access === Access.Write ? block.unwritable : rareMask(block, 'unwritable');
  for (let word = 0; word < WORDS; word++) {
    if (access === Access.None) unreadable[word] |= mask[word];
    else unreadable[word] &= ~mask[word];
    if (access === Access.Write) unwritable[word] &= ~mask[word];
    else unwritable[word] |= mask[word];
  }
}

function finishGuard(block: Block, { mask }: Operation): void {
  const guarded = rareMask(block, 'guarded');
  for (let word = 0; word < WORDS; word++) guarded[word] |= mask[word];
}

function finishFree(state: State, block: Block, operation: Operation): void {
  for (let node = 0; node < block.residences.length; node++) {
    const processor = state.processors[node];
    if (processor !== undefined) releaseBacking(state, block, processor, operation.mask);
  }
  let fresh = 0;
  for (let page = next(operation.mask, 0); page < PAGES_PER_BLOCK; page = next(operation.mask, page + 1)) {
    if (!has(block.freed, page)) fresh++;
    add(block.freed, page);
  }
  block.range.freedPages += fresh;
  // What was said about the pages goes with them.
  for (let word = 0; word < WORDS; word++) {
    for (const said of [block.unreadable, block.unwritable, block.guarded, block.pinned])
      said[word] &= ~operation.mask[word];
  }
  finishZero(block, operation);
}
