/** What a block does next: the tasks that were asked for, then the faults that wait, each as one operation at a time. */
import {
  add,
  addRun,
  bitCount,
  clear,
  createMask,
  has,
  isEmpty,
  type Mask,
  next,
  remove,
  size,
  WORDS,
} from './mask.js';
import { ATTEMPTS, begin, isProvided, type OperationPlan } from './operation.js';
import { evictBlock, failsToLeave, reclaim, relieve } from './reclaim.js';
import {
  classify,
  conflictsWithHold,
  endAhead,
  holderOf,
  isHeld,
  isHeldAgainst,
  isRemote,
  makeReady,
  mappingOf,
  nodeOf,
  onlyOn,
  type Processor,
  processorOf,
  releaseBacking,
  residenceOf,
  type State,
  somethingMoves,
} from './state.js';
import { Access, type DenyReason, HOST, PAGES_PER_BLOCK, PAGES_PER_GROUP, Status } from './types.js';
import { type Block, changedPages, type Mapping, type Operation, type Task } from './va-block.js';

/** One block in so many of a node's may be a guess, unless the policies say otherwise. */
const READ_AHEAD_SHARE = 8;
/** No processor has this number: everybody's holds count. */
const NOBODY_AT_ALL = -1;
/** The request number of tasks that nobody waits for. */
const NOBODY = 0;

const plan: OperationPlan = {
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
type Outcome = 'started' | 'done' | 'blocked' | 'stuck';

/** Called when a task of the block has been done for `pages` pages, or has failed. */
export type TaskDone = (task: Task, pages: number, failure: DenyReason | null) => void;

export function service(state: State, block: Block, taskDone: TaskDone): void {
  if (block.operation !== null) return;
  if (block.onDetour) {
    block.onDetour = false;
    residenceOf(state, block, HOST).protectedBy--;
  }
  for (let node = 0; node < block.residences.length; node++) {
    const processor = state.processors[node];
    if (processor?.gone === true) loseNode(state, block, processor);
  }
  const ended = block.spareOperation;
  let failure: Status = Status.Done;
  if (ended.failure !== Status.Done) {
    // A device that died is reported by an event of its own, which looks at every block again.
    if (ended.failure === Status.Lost && !isDeathKnown(state, ended)) return;
    // That pages could not leave a node is nothing that those who wait for this block should suffer for.
    if (ended.kind !== 'evict' || ended.task !== null) {
      failure = ended.failure as Status;
      block.attempts++;
    }
    ended.failure = Status.Done;
    if (failure === Status.NoMemory && block.attempts < ATTEMPTS) {
      const short = state.processors[ended.kind === 'evict' ? HOST : ended.processor];
      if (short !== undefined && relieve(state, short, block)) {
        short.waiters.append(block.index);
        return;
      }
    }
  } else if (ended.outstanding === 0 && !isEmpty(ended.settled)) {
    block.attempts = 0;
    clear(ended.settled);
  }
  let blocked = false;
  for (let at = 0; at < block.tasks.length; ) {
    const task = block.tasks[at];
    if (blocked && !task.ahead) {
      at++;
      continue;
    }
    let reason: DenyReason | null = null;
    if (failure !== Status.Done && ended.task === task && givesUp(block, failure)) {
      reason = reasonOf(failure);
      block.attempts = 0;
      failure = Status.Done;
    } else if (task.kind === 'present' && state.processors[task.processor]?.state !== 'alive') {
      reason = 'LOST';
    } else {
      // Whoever holds pages uses them without faulting, and would find nothing where there is none.
      if (task.hold) reason = absence(block, task) ?? remoteness(block, task);
      else if (task.kind === 'zero') reason = protection(block, task.mask, Access.Write);
      const outcome = reason === null ? doTask(state, block, task) : 'done';
      if (outcome === 'started') return;
      if (outcome === 'blocked') {
        // Tasks keep their order, but pages that cannot go home for want of room there must not hold up what may make that room.
        if (task.kind !== 'home' && !task.ahead) blocked = true;
        at++;
        continue;
      }
      if (outcome === 'stuck') reason = 'OUT_OF_MEMORY';
    }
    block.tasks.splice(at, 1);
    // Now, while nothing is under way in the block.
    if (task.kind === 'own') own(state, block, task.mask, reason);
    taskDone(task, reason === null ? pagesDone(state, block, task) : 0, reason);
  }
  serviceFaults(state, block, failure);
}

/** Whether the processor that a lost transfer went to, or the one it came from, is known to be dead. */
function isDeathKnown(state: State, { kind, processor, lostSource }: Operation): boolean {
  const target = state.processors[kind === 'evict' ? HOST : processor];
  if (target === undefined || target.state === 'dead') return true;
  const source = state.processors[lostSource];
  return lostSource >= 0 && (source === undefined || source.state === 'dead');
}

function absence(block: Block, { mask, access, processor }: Task): DenyReason | null {
  let lost = 0;
  let pinned = 0;
  for (let word = 0; word < WORDS; word++) {
    if ((mask[word] & block.freed[word]) !== 0) return 'FREED';
    lost |= mask[word] & block.lost[word];
    pinned |= mask[word] & block.pinned[word];
  }
  if (lost !== 0) return 'LOST';
  // To wait until the program unpins them could be for ever.
  if (pinned !== 0 && access === Access.Write && processor !== HOST) return 'PINNED';
  return protection(block, mask, access);
}

/** Whoever reaches host memory in place has no memory of its own to hold pages in. */
function remoteness(block: Block, { processor }: Task): DenyReason | null {
  return isRemote(block, processor) ? 'OUT_OF_MEMORY' : null;
}

/** Whether any of these pages is protected against the access. */
export function protection(block: Block, mask: Mask, access: Access): DenyReason | null {
  let unwritable = 0;
  for (let word = 0; word < WORDS; word++) {
    if ((mask[word] & block.unreadable[word]) !== 0) return 'NO_ACCESS';
    unwritable |= mask[word] & block.unwritable[word];
  }
  return unwritable !== 0 && access === Access.Write ? 'READ_ONLY' : null;
}

function givesUp(block: Block, failure: Status): boolean {
  return failure >= Status.SourceChanged || block.attempts >= ATTEMPTS;
}

function reasonOf(failure: number): DenyReason {
  if (failure === Status.SourceChanged) return 'SOURCE_CHANGED';
  if (failure === Status.ProviderFailed) return 'PROVIDER_FAILED';
  if (failure === Status.Refused) return 'ACCESS_REFUSED';
  if (failure === Status.SourceLost) return 'LOST';
  return failure === Status.NoMemory ? 'OUT_OF_MEMORY' : 'COPY_FAILED';
}

function doTask(state: State, block: Block, task: Task): Outcome {
  if (task.kind === 'home') return sendHome(state, block, task);
  if (task.kind === 'clean') return beginCleaning(state, block, task);
  if (task.kind === 'drop' || task.kind === 'revert') return forget(state, block, task);
  if (task.kind === 'attach' || task.kind === 'separate') return switchMemory(state, block, task);
  if (task.kind === 'protect' || task.kind === 'guard') return restrict(state, block, task);
  if (task.kind !== 'present' && task.kind !== 'own') return empty(state, block, task);
  const outcome = bringPages(state, block, task);
  const request = state.requests.get(task.request);
  if (outcome === 'done' && task.hold && request !== undefined) {
    const mapping = mappingOf(block, task.processor);
    mapping.holds.push({ mask: task.mask, access: task.access });
    if (task.access === Access.Write) {
      // Whoever holds pages writes them without a fault.
      for (let word = 0; word < WORDS; word++) block.cleaning[word] &= ~task.mask[word];
    }
    request.held++;
  }
  return outcome;
}

/** A single page that could not be filled is lost; of several nobody knows which one failed, and they are tried again. */
function own(state: State, block: Block, mask: Mask, failure: DenyReason | null): void {
  const alone = failure !== null && size(mask) === 1;
  for (let page = next(mask, 0); page < PAGES_PER_BLOCK; page = next(mask, page + 1)) {
    if (!isProvided(block, page) || has(block.dirty, page)) continue;
    if (holderOf(state, block, page, -1) !== -1) add(block.dirty, page);
    else if (alone) add(block.lost, page);
  }
}

/** Pages of the task that are as it asked; lost and freed ones are not, though they keep no task but a hold from its end. */
function pagesDone(state: State, block: Block, task: Task): number {
  const residence = task.kind === 'present' ? residenceOf(state, block, nodeOf(block, task.processor)) : undefined;
  const pages = state.maskA;
  for (let word = 0; word < WORDS; word++) {
    pages[word] = task.mask[word] & block.inside[word];
    if (residence !== undefined) pages[word] &= residence.resident[word];
  }
  return size(pages);
}

function bringPages(state: State, block: Block, task: Task): Outcome {
  const processor = processorOf(state, task.processor);
  const { allowed } = state;
  if (isRemote(block, task.processor)) return bringToShare(state, block, processor, task);
  if (task.access === Access.Write && !task.written) {
    const guarded = state.needed;
    for (let word = 0; word < WORDS; word++) {
      allowed[word] = task.mask[word] & present(block, word) & ~block.unwritable[word];
      if (processor.id !== HOST) allowed[word] &= ~block.pinned[word];
      guarded[word] = allowed[word] & block.guarded[word];
    }
    excludeScratch(block, processor.id, allowed);
    if (!isEmpty(guarded)) {
      save(state, block, guarded);
      return 'blocked';
    }
    if (!isDone(state, block, task.processor, task.map, Access.Write, allowed)) {
      return migrate(state, block, processor, Access.Write, task.map, allowed, -1, task);
    }
    // Not asked for again: while the rest comes, others may push this out, and two that want more than there is would do so for ever.
    task.written = !task.hold;
  }
  // What may not be written comes for reading at least. A clone's pages become its own whoever may read them.
  for (let word = 0; word < WORDS; word++) {
    allowed[word] = task.mask[word] & present(block, word);
    if (task.kind === 'own') allowed[word] |= task.mask[word] & block.unreadable[word] & ~block.lost[word];
    if (task.access === Access.Write) {
      allowed[word] &= processor.id === HOST ? block.unwritable[word] : block.unwritable[word] | block.pinned[word];
    }
  }
  excludeScratch(block, processor.id, allowed);
  if (isDone(state, block, task.processor, task.map, Access.Read, allowed)) return 'done';
  return migrate(state, block, processor, Access.Read, task.map, allowed, -1, task);
}

/** For a processor that reaches host memory in place: brings the pages there, then maps what the host has. */
function bringToShare(state: State, block: Block, processor: Processor, task: Task): Outcome {
  const { allowed } = state;
  for (let word = 0; word < WORDS; word++) {
    allowed[word] = task.mask[word] & present(block, word);
    if (task.access === Access.Write) allowed[word] &= ~(block.unwritable[word] | block.guarded[word]);
  }
  const host = processorOf(state, HOST);
  if (!task.written && !isDone(state, block, HOST, false, task.access, allowed)) {
    return migrate(state, block, host, task.access, false, allowed, -1, task);
  }
  task.written = true;
  if (task.map) shareHostPages(state, block, processor);
  return 'done';
}

/** Maps all that the host has of the block, with the right to write where it is the only copy of what was written. */
function shareHostPages(state: State, block: Block, processor: Processor): void {
  const { resident } = residenceOf(state, block, HOST);
  const mapping = mappingOf(block, processor.id);
  const { allowed } = state;
  for (let word = 0; word < WORDS; word++) {
    allowed[word] = resident[word] & present(block, word) & block.dirty[word];
    allowed[word] &= ~(block.unwritable[word] | block.guarded[word] | block.cleaning[word] | mapping.writable[word]);
  }
  onlyOn(state, block, HOST, allowed, allowed);
  mapRuns(state, block, processor, allowed, Access.Write);
  for (let word = 0; word < WORDS; word++) {
    allowed[word] = resident[word] & present(block, word) & ~mapping.mapped[word];
  }
  mapRuns(state, block, processor, allowed, Access.Read);
  for (let word = 0; word < WORDS; word++) {
    mapping.waitingRead[word] &= ~mapping.mapped[word];
    mapping.waitingWrite[word] &= ~mapping.writable[word];
  }
  mapping.waiting = !(isEmpty(mapping.waitingRead) && isEmpty(mapping.waitingWrite));
}

function mapRuns(state: State, block: Block, processor: Processor, mask: Mask, access: Access): void {
  const mapping = mappingOf(block, processor.id);
  const base = block.index * PAGES_PER_BLOCK;
  for (let first = next(mask, 0); first < PAGES_PER_BLOCK; ) {
    const before = has(mapping.mapped, first);
    let end = first + 1;
    while (end < PAGES_PER_BLOCK && has(mask, end) && has(mapping.mapped, end) === before) end++;
    const previous = before ? Access.Read : Access.None;
    state.commands.map(processor.id, base + first, end - first, access, previous, base + first);
    addRun(mapping.mapped, first, end - first);
    if (access === Access.Write) addRun(mapping.writable, first, end - first);
    first = next(mask, end);
  }
}

/** A fault of a processor that reaches host memory in place. */
function serviceSharing(state: State, block: Block, processor: Processor, page: number, write: boolean): Outcome {
  const { resident } = residenceOf(state, block, HOST);
  const alone = holderOf(state, block, page, HOST) === -1;
  if (!has(resident, page) || (write && !alone)) {
    const { allowed } = state;
    clear(allowed);
    addRun(allowed, page - (page % PAGES_PER_GROUP), PAGES_PER_GROUP);
    for (let word = 0; word < WORDS; word++) {
      allowed[word] &= present(block, word);
      if (write) allowed[word] &= ~(block.unwritable[word] | block.guarded[word]);
    }
    const access = write ? Access.Write : Access.Read;
    return migrate(state, block, processorOf(state, HOST), access, false, allowed, page, null);
  }
  if (write) {
    add(block.dirty, page);
    remove(block.cleaning, page);
  }
  shareHostPages(state, block, processor);
  return 'done';
}

function switchMemory(state: State, block: Block, task: Task): Outcome {
  const processor = state.processors[task.processor];
  const on = task.kind === 'attach';
  if (processor === undefined || processor.state !== 'alive' || isRemote(block, task.processor) === on) {
    if (on && processor !== undefined) processor.remoteBlocks--;
    return 'done';
  }
  if (on) {
    const left = sendHome(state, block, task);
    if (left !== 'done') return left;
  }
  const mask = state.needed;
  for (let word = 0; word < WORDS; word++) mask[word] = block.inside[word];
  plan.kind = on ? 'attach' : 'separate';
  plan.access = Access.None;
  return immediate(state, block, task, mask);
}

/** Pages of the block that have, or could have, content that somebody may see. */
function present(block: Block, word: number): number {
  return block.inside[word] & ~(block.freed[word] | block.lost[word] | block.unreadable[word]);
}

/** Asks for copies of cloned pages that somebody is about to write. The block goes on when they have been made. */
function save(state: State, block: Block, mask: Mask): void {
  const base = block.index * PAGES_PER_BLOCK;
  for (let first = next(mask, 0); first < PAGES_PER_BLOCK; ) {
    let end = first;
    while (end < PAGES_PER_BLOCK && has(mask, end) && !has(block.saving, end)) end++;
    if (end > first) {
      addRun(block.saving, first, end - first);
      state.saves++;
      state.commands.save(base + first, end - first);
    }
    first = next(mask, Math.max(end, first + 1));
  }
}

/** Whether all these pages are where the task wants them, with the access that it wants. */
function isDone(state: State, block: Block, processor: number, map: boolean, access: Access, pages: Mask): boolean {
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

function sendHome(state: State, block: Block, task: Task): Outcome {
  const processor = state.processors[task.processor];
  const residence = block.residences[task.processor];
  if (processor === undefined || residence === undefined) return 'done';
  if (processor.state !== 'dead' && isHeld(block, processor.id)) return 'blocked';
  // Its threads have ended, so that nobody needs what stood in for pages that they were denied.
  if (!isEmpty(residence.scratch)) releaseBacking(state, block, processor, residence.scratch.slice());
  if (residence.backedCount === 0) return 'done';
  if (!evictBlock(state, block, processor)) {
    if (waitForMemory(state, block, processorOf(state, HOST)) === 'stuck') state.parked.append(block.index);
    return 'blocked';
  }
  block.spareOperation.task = task;
  return 'started';
}

/** The device died and its memory with it: what only it held is lost, the rest is as it is elsewhere. */
export function loseNode(state: State, block: Block, processor: Processor): void {
  const residence = block.residences[processor.id];
  if (residence === undefined || residence.backedCount === 0) return;
  const only = state.maskA;
  onlyOn(state, block, processor.id, residence.resident, only);
  for (let word = 0; word < WORDS; word++) block.lost[word] |= only[word] & block.dirty[word] & ~block.freed[word];
  releaseBacking(state, block, processor, residence.backed.slice());
  classify(state, block);
}

function empty(state: State, block: Block, task: Task): Outcome {
  if (conflictsWithHold(block, NOBODY_AT_ALL, Access.Write, task.mask)) return 'blocked';
  const mask = state.needed;
  for (let word = 0; word < WORDS; word++) mask[word] = task.mask[word] & block.guarded[word];
  if (!isEmpty(mask)) {
    save(state, block, mask);
    return 'blocked';
  }
  for (let word = 0; word < WORDS; word++) mask[word] = task.mask[word] & block.inside[word];
  if (isEmptied(block, task, mask)) return 'done';
  plan.kind = task.kind === 'free' ? 'free' : 'zero';
  plan.access = Access.None;
  return immediate(state, block, task, mask);
}

/**
 * Takes the right to write from everybody, the host included, so that whoever writes meanwhile is noticed. Pages that are pinned, or
 * that somebody holds to write them, can be written all the same: they stay changed, since to wait could be to wait in a circle.
 */
function beginCleaning(state: State, block: Block, task: Task): Outcome {
  const mask = state.needed;
  changedPages(block, task.mask, mask);
  for (let word = 0; word < WORDS; word++) mask[word] &= ~(block.cleaning[word] | block.pinned[word]);
  for (const mapping of block.mappings) {
    for (const hold of mapping?.holds ?? []) {
      if (hold.access !== Access.Write) continue;
      for (let word = 0; word < WORDS; word++) mask[word] &= ~hold.mask[word];
    }
  }
  return isEmpty(mask) ? 'done' : beginOnAll(state, block, 'clean', task, mask);
}

function forget(state: State, block: Block, task: Task): Outcome {
  if (conflictsWithHold(block, NOBODY_AT_ALL, Access.Write, task.mask)) return 'blocked';
  const mask = state.needed;
  for (let word = 0; word < WORDS; word++) mask[word] = task.mask[word] & block.guarded[word];
  if (!isEmpty(mask)) {
    save(state, block, mask);
    return 'blocked';
  }
  for (let word = 0; word < WORDS; word++) {
    const changed = block.dirty[word] | block.blank[word] | block.lost[word];
    let there = task.kind === 'revert' ? changed : 0;
    for (let node = 0; node < block.residences.length; node++) {
      const resident = block.residences[node]?.resident[word] ?? 0;
      there |= task.kind === 'revert' ? resident : resident & ~changed;
    }
    mask[word] = there & task.mask[word] & block.inside[word] & ~block.freed[word];
  }
  return isEmpty(mask) ? 'done' : beginOnAll(state, block, 'drop', task, mask);
}

function beginOnAll(state: State, block: Block, kind: Operation['kind'], task: Task, mask: Mask): Outcome {
  plan.kind = kind;
  plan.access = Access.None;
  return immediate(state, block, task, mask);
}

/** Takes from everybody what is more than the task allows, and keeps it from them. */
function restrict(state: State, block: Block, task: Task): Outcome {
  const to = task.kind === 'guard' ? Access.Read : task.access;
  // Taking all is like writing to those who only read.
  const against = to === Access.None ? Access.Write : Access.Read;
  for (const mapping of block.mappings) {
    if (to < Access.Write && mapping !== undefined && isHeldAgainst(mapping, against, task.mask)) return 'blocked';
  }
  const mask = state.needed;
  let change = 0;
  for (let word = 0; word < WORDS; word++) {
    mask[word] = task.mask[word] & block.inside[word] & ~block.freed[word];
    if (task.kind === 'guard') change |= mask[word] & ~block.guarded[word];
    else {
      const unreadable = to === Access.None ? ~block.unreadable[word] : block.unreadable[word];
      const unwritable = to === Access.Write ? block.unwritable[word] : ~block.unwritable[word];
      change |= mask[word] & (unreadable | unwritable);
    }
  }
  if (change === 0) return 'done';
  if (to === Access.None) {
    // Nobody could read the pages for their clones any more.
    const guarded = state.maskA;
    for (let word = 0; word < WORDS; word++) guarded[word] = mask[word] & block.guarded[word];
    if (!isEmpty(guarded)) {
      save(state, block, guarded);
      return 'blocked';
    }
  }
  plan.kind = task.kind === 'guard' ? 'guard' : 'protect';
  plan.access = to;
  return immediate(state, block, task, mask);
}

/** Begins an operation that moves no page. */
function immediate(state: State, block: Block, task: Task, mask: Mask): Outcome {
  plan.processor = task.processor;
  plan.map = false;
  plan.urgentPage = -1;
  plan.exclusive = false;
  plan.task = task;
  begin(state, block, plan, mask);
  return block.operation === null ? 'done' : 'started';
}

function isEmptied(block: Block, task: Task, mask: Mask): boolean {
  for (let word = 0; word < WORDS; word++) {
    if (task.kind === 'free') {
      if ((mask[word] & ~block.freed[word]) !== 0) return false;
    } else if ((mask[word] & (block.lost[word] | block.dirty[word] | ~block.blank[word])) !== 0) return false;
    for (let node = 0; node < block.residences.length; node++) {
      const residence = block.residences[node];
      if (residence === undefined) continue;
      if ((residence.resident[word] & mask[word]) !== 0) return false;
      if (task.kind === 'free' && (residence.backed[word] & mask[word]) !== 0) return false;
    }
  }
  return true;
}

/** What stands in for denied pages on a node stays until the launch ends; the pages themselves cannot come there meanwhile. */
function excludeScratch(block: Block, node: number, mask: Mask): void {
  const residence = block.residences[node];
  if (residence === undefined) return;
  for (let word = 0; word < WORDS; word++) mask[word] &= ~residence.scratch[word];
}

/** Brings `mask` to the processor; the caller has taken out of it what must not move. */
function migrate(
  state: State,
  block: Block,
  processor: Processor,
  access: Access,
  map: boolean,
  mask: Mask,
  urgentPage: number,
  task: Task | null,
): Outcome {
  if (conflictsWithHold(block, processor.id, access, mask)) return 'blocked';
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
  if (block.operation !== null) return 'started';
  makeReady(state, block);
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
      detour[page >>> 5] |= 1 << (page & 31);
      any = true;
    }
  }
  return any;
}

function waitForMemory(state: State, block: Block, processor: Processor): Outcome {
  if (!somethingMoves(state) && !processor.pump) return 'stuck';
  if (!processor.waiters.has(block.index)) processor.waiters.append(block.index);
  return 'blocked';
}

function serviceFaults(state: State, block: Block, failure: Status): void {
  const count = block.mappings.length;
  for (let step = 0; step < count; step++) {
    const id = (block.turn + step) % count;
    const mapping = block.mappings[id];
    while (mapping?.waiting === true) {
      const processor = processorOf(state, id);
      let outcome = serviceFault(state, block, processor, mapping, failure, false);
      if (outcome === 'stuck') outcome = serviceFault(state, block, processor, mapping, failure, true);
      failure = Status.Done;
      if (outcome === 'started') {
        block.turn = (id + 1) % count;
        return;
      }
      if (outcome !== 'done') break;
    }
  }
}

function serviceFault(
  state: State,
  block: Block,
  processor: Processor,
  mapping: Mapping,
  failure: Status,
  stuck: boolean,
): Outcome {
  const page = nextWaiting(mapping);
  endAhead(block, processor);
  const write = has(mapping.waitingWrite, page);
  if (processor.state !== 'alive') return dismiss(mapping, page);
  const base = block.index * PAGES_PER_BLOCK;
  if (has(write ? mapping.writable : mapping.mapped, page)) {
    state.commands.wake(processor.id, base + page, 1);
    return dismiss(mapping, page);
  }
  // A page that came along may have been what failed: only a failure of this page alone is its own.
  const narrow = failure !== Status.Done || block.attempts > 0;
  const ended = block.spareOperation;
  const own = narrow && has(ended.mask, page) && size(ended.mask) === 1;
  const reason = stuck ? 'OUT_OF_MEMORY' : denial(block, processor.id, page, write, own ? failure : Status.Done);
  // A late read of freed memory on the host gives zeros, after a warning: it is a mistake, but harms nobody.
  const late = reason === 'FREED' && processor.id === HOST && !write;
  if (late) state.commands.deny(processor.id, base + page, write, mapping.urgentThread, reason);
  else if (reason !== null) return deny(state, block, processor, mapping, page, write, reason);
  if (write && has(block.guarded, page)) {
    saveAround(state, block, page);
    return 'blocked';
  }
  if (isRemote(block, processor.id)) return serviceSharing(state, block, processor, page, write);
  // Of what is mostly read others keep their copies until somebody really writes.
  const { readMostly, pattern } = block.advice;
  const intent = !readMostly && declaredWrite(processor, base + page) && mayWrite(block, processor.id, page);
  const owned = !readMostly && ownsAlone(state, block, processor.id, page);
  const access = write || intent || owned ? Access.Write : Access.Read;
  const request = state.prefetchRequest;
  request.page = page;
  request.write = access === Access.Write;
  request.streaming = pattern === 'sequential' || (pattern === 'normal' && streams(state, block, processor, page));
  request.pressed = processor.backedPages + PAGES_PER_BLOCK > processor.budgetPages;
  const { occupied, allowed } = request;
  const there = access === Access.Write ? mapping.writable : mapping.mapped;
  const { scratch } = residenceOf(state, block, processor.id);
  for (let word = 0; word < WORDS; word++) {
    occupied[word] = there[word];
    allowed[word] = present(block, word) & ~scratch[word];
    if (access === Access.Write) {
      allowed[word] &= ~(block.unwritable[word] | block.guarded[word]);
      if (processor.id !== HOST) allowed[word] &= ~block.pinned[word];
    }
  }
  if (late || narrow || pattern === 'random') {
    clear(allowed);
    allowed[page >>> 5] |= 1 << (page & 31);
  }
  if (access === Access.Write && !write && !intent) keepOwned(state, block, processor.id, allowed);
  processor.prefetch(request);
  const outcome = migrate(state, block, processor, access, true, request.result, page, null);
  if (request.streaming && outcome === 'started') readAhead(state, block, processor, access);
  return outcome;
}

/**
 * A processor that walks upwards through a range will want the next block: it is brought while the processor works on this one.
 * Its first group stays unmapped, so that entering it faults, cheaply, and brings the one after it in time. Blocks that were
 * brought and not entered may take a share of the node only: a guess must not push out what is in use.
 */
function readAhead(state: State, block: Block, processor: Processor, access: Access): void {
  const share = state.policies.readAheadShare ?? READ_AHEAD_SHARE;
  if (processor.id === HOST || (processor.aheadBlocks + 1) * share * PAGES_PER_BLOCK > processor.budgetPages) return;
  if (block.advice.pattern !== 'sequential' && !isWhole(state, block, block.index - 1, processor.id)) return;
  const ahead = state.va.block(block.index + 1);
  if (ahead === undefined || ahead.range !== block.range) return;
  if (ahead.operation !== null || ahead.tasks.length > 0 || isRemote(ahead, processor.id)) return;
  const residence = residenceOf(state, ahead, processor.id);
  if (residence.ahead || residence.backedCount > 0) return;
  residence.ahead = true;
  processor.aheadBlocks++;
  const first = createMask();
  addRun(first, 0, PAGES_PER_GROUP);
  const rest = createMask();
  for (let word = 0; word < WORDS; word++) {
    first[word] &= ahead.inside[word];
    rest[word] = ahead.inside[word] & ~first[word];
  }
  const common = {
    kind: 'present',
    processor: processor.id,
    access,
    hold: false,
    exclusive: false,
    ahead: false,
    request: NOBODY,
    written: false,
  } as const;
  ahead.tasks.push({ ...common, mask: first, map: false }, { ...common, mask: rest, map: true });
  makeReady(state, ahead);
}

function nextWaiting(mapping: Mapping): number {
  const { urgentPage } = mapping;
  if (urgentPage !== -1 && (has(mapping.waitingWrite, urgentPage) || has(mapping.waitingRead, urgentPage))) {
    return urgentPage;
  }
  const page = next(mapping.waitingWrite, 0);
  return page < PAGES_PER_BLOCK ? page : next(mapping.waitingRead, 0);
}

function dismiss(mapping: Mapping, page: number): Outcome {
  remove(mapping.waitingRead, page);
  remove(mapping.waitingWrite, page);
  mapping.waiting = !(isEmpty(mapping.waitingRead) && isEmpty(mapping.waitingWrite));
  return 'done';
}

/** Copies for clones are made by 64 KiB: who writes one page mostly writes its neighbours, too. */
function saveAround(state: State, block: Block, page: number): void {
  const group = state.needed;
  clear(group);
  const first = page - (page % PAGES_PER_GROUP);
  addRun(group, first, PAGES_PER_GROUP);
  for (let word = 0; word < WORDS; word++) group[word] &= block.guarded[word];
  save(state, block, group);
}

function mayWrite(block: Block, processor: number, page: number): boolean {
  if (has(block.unwritable, page) || has(block.guarded, page)) return false;
  return processor === HOST || !has(block.pinned, page);
}

function denial(block: Block, processor: number, page: number, write: boolean, failure: Status): DenyReason | null {
  if (!has(block.inside, page)) return 'OUTSIDE';
  if (has(block.lost, page)) return 'LOST';
  if (has(block.freed, page)) return 'FREED';
  if (has(block.unreadable, page)) return 'NO_ACCESS';
  if (write && has(block.unwritable, page)) return 'READ_ONLY';
  if (write && nodeOf(block, processor) !== HOST && has(block.pinned, page)) return 'PINNED';
  if (failure !== Status.Done && givesUp(block, failure)) return reasonOf(failure);
  return null;
}

/**
 * The host's thread cannot be sent on, so that its denial is for the pager to carry out. A device's thread goes on with a
 * scratch page of zeros that nobody else ever sees, and its launch fails.
 */
function deny(
  state: State,
  block: Block,
  processor: Processor,
  mapping: Mapping,
  page: number,
  write: boolean,
  reason: DenyReason,
): Outcome {
  const base = block.index * PAGES_PER_BLOCK;
  processor.counters.denied++;
  if (processor.id === HOST) {
    block.attempts = 0;
    state.commands.deny(processor.id, base + page, write, mapping.urgentThread, reason);
    // Others may still wait to read what this one may not write.
    if (reason !== 'READ_ONLY') return dismiss(mapping, page);
    remove(mapping.waitingWrite, page);
    mapping.waiting = !(isEmpty(mapping.waitingRead) && isEmpty(mapping.waitingWrite));
    return 'done';
  }
  if (isRemote(block, processor.id)) {
    // There is no memory of its own at this address that could stand in: the pager takes the device for dead, as below.
    block.attempts = 0;
    state.commands.deny(processor.id, base + page, write, mapping.urgentThread, reason);
    return dismiss(mapping, page);
  }
  if (block.attempts >= ATTEMPTS || failsToLeave(state, block)) reason = 'COPY_FAILED';
  if (reason === 'OUT_OF_MEMORY' || reason === 'COPY_FAILED') {
    // Nothing can be moved for this device any more, not even a scratch page in: the pager takes it for dead.
    block.attempts = 0;
    state.commands.deny(processor.id, base + page, write, mapping.urgentThread, reason);
    return dismiss(mapping, page);
  }
  const residence = residenceOf(state, block, processor.id);
  const alone = holderOf(state, block, page, processor.id) === -1;
  if (has(residence.resident, page) && alone && has(block.dirty, page)) {
    if (!evictBlock(state, block, processor)) return waitForMemory(state, block, processorOf(state, HOST));
    if (block.operation === null) makeReady(state, block);
    return 'started';
  }
  if (!has(residence.backed, page) && !reclaim(state, processor, 1, block)) {
    return waitForMemory(state, block, processor);
  }
  state.commands.deny(processor.id, base + page, write, mapping.urgentThread, reason);
  const mask = state.needed;
  clear(mask);
  mask[page >>> 5] |= 1 << (page & 31);
  plan.kind = 'scratch';
  plan.processor = processor.id;
  plan.access = Access.Write;
  plan.map = true;
  plan.urgentPage = page;
  plan.exclusive = false;
  plan.task = null;
  begin(state, block, plan, mask);
  return 'started';
}

/** The only copy is here and has been written before: giving write access at once costs nobody anything. */
function ownsAlone(state: State, block: Block, node: number, page: number): boolean {
  const residence = block.residences[node];
  if (residence === undefined || !has(residence.resident, page) || !has(block.dirty, page)) return false;
  return mayWrite(block, node, page) && holderOf(state, block, page, node) === -1;
}

function keepOwned(state: State, block: Block, node: number, mask: Mask): void {
  const { resident } = residenceOf(state, block, node);
  for (let word = 0; word < WORDS; word++) mask[word] &= resident[word] & block.dirty[word];
  onlyOn(state, block, node, mask, mask);
}

function declaredWrite(processor: Processor, page: number): boolean {
  for (const intent of processor.intents) {
    if (intent.write && page >= intent.first && page < intent.end) return true;
  }
  return false;
}

/** The processor comes in at the border to a block of the same range that is wholly mapped: it walks. */
function streams(state: State, block: Block, processor: Processor, page: number): boolean {
  if (page < PAGES_PER_GROUP) return isWhole(state, block, block.index - 1, processor.id);
  return page >= PAGES_PER_BLOCK - PAGES_PER_GROUP && isWhole(state, block, block.index + 1, processor.id);
}

function isWhole(state: State, block: Block, index: number, processor: number): boolean {
  const neighbour = state.va.blocks.get(index);
  if (neighbour === undefined || neighbour.range !== block.range) return false;
  const mapping = neighbour.mappings[processor];
  if (mapping === undefined) return false;
  for (let word = 0; word < WORDS; word++) if ((neighbour.inside[word] & ~mapping.mapped[word]) !== 0) return false;
  return true;
}
