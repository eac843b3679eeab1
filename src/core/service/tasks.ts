/** What is asked of a block besides faults, each task as the next operation towards its end. */

import {
  add,
  and,
  andNot,
  clear,
  createMask,
  firstOfBoth,
  has,
  intersects,
  isEmpty,
  isSubset,
  type Mask,
  next,
  or,
  setAnd,
  size,
  WORDS,
} from '../basics/mask.js';
import {
  Access,
  type DenyReason,
  HOST_NODE,
  NO_NODE,
  NO_PROCESSOR,
  type NodeId,
  PAGES_PER_BLOCK,
  PAGES_PER_GROUP,
} from '../basics/types.js';
import {
  absentPages,
  breakCopyOnWrite,
  excludeScratch,
  FIRST_GROUP,
  immediate,
  isDone,
  keepUntilItGoesOn,
  migrate,
  type Outcome,
  openFor,
  sendHome,
  setPresent,
  standsIn,
  waitForMemory,
} from '../movement/moves.js';
import { mayBeWritten } from '../movement/reading-room.js';
import { bringToHost, switchMemory } from '../movement/remote-mapping.js';
import { lose, lossIn, lossOf, passes } from '../table/absence.js';
import { holderOf } from '../table/contents.js';
import { granulePagesOf, granulesAround, keepWhole, widen } from '../table/granules.js';
import { conflictsWithHold } from '../table/holds.js';
import type { Node } from '../table/nodes.js';
import {
  isRemote,
  nodeOf,
  processorOf,
  reachedBy,
  residenceOf,
  type State,
} from '../table/state.js';
import { type Block, changedPages, isInherited } from '../table/va-block.js';
import type { Operation, Task } from '../table/work.js';

/** Fewer forgotten pages give too little room to copy those kept for clones again. */
const WORTHWHILE = PAGES_PER_GROUP;

/** The node that a task's pages go to. */
function goalOf(state: State, block: Block, { node, processor }: Task): NodeId {
  return node === NO_NODE ? reachedBy(state, block, processor) : node;
}

/**
 * What the task is about: where pages are mapped in granules, all of these, in a mask of the stack.
 */
function askedOf(state: State, block: Block, task: Task): Mask {
  if (!task.map) return task.mask;
  const granulePages = granulePagesOf(state, goalOf(state, block, task));
  return granulePages === 1 ? task.mask : granulesAround(state, block, task.mask, granulePages);
}

export function doTask(state: State, block: Block, task: Task): Outcome {
  const { mark } = state.masks;
  const outcome = nextStep(state, block, task);
  state.masks.backTo(mark);
  return outcome;
}

function nextStep(state: State, block: Block, task: Task): Outcome {
  if (task.kind === 'home') {
    const left = sendHome(state, block, task, task.node);
    if (left !== 'stuck') return left;
    state.parked.append(block.index);
    return 'blocked';
  }
  if (task.kind === 'clean') return beginCleaning(state, block, task);
  if (task.kind === 'drop' || task.kind === 'revert') return forget(state, block, task);
  if (task.kind === 'mapRemote' || task.kind === 'mapLocal')
    return switchMemory(state, block, task);
  if (task.kind === 'unmap') return unmap(state, block, task, block.inside);
  if (task.kind === 'unmapGranules') {
    if (conflictsWithHold(state, block, NO_NODE, Access.Write, task.mask)) return 'blocked';
    return unmap(state, block, task, task.mask);
  }
  if (task.kind === 'protect' || task.kind === 'copyOnWrite') return restrict(state, block, task);
  if (task.kind !== 'present' && task.kind !== 'materialize') return empty(state, block, task);
  if (task.lastChance && block.range.derived === true) loseInherited(state, block, task.mask);
  const outcome = bringPages(state, block, task);
  const request = state.requests.get(task.request);
  if (outcome === 'done' && task.hold && request !== undefined) {
    const residence = residenceOf(state, block, goalOf(state, block, task));
    const { mask, access } = task;
    const granulePages = task.map ? granulePagesOf(state, goalOf(state, block, task)) : 1;
    const reach = granulePages === 1 ? mask : mask.slice();
    widen(reach, granulePages);
    residence.holds.push({ mask, reach, access });
    if (access === Access.Write) {
      // The holder of pages writes them without a fault.
      andNot(block.cleaning, reach);
    }
    request.held++;
  }
  return outcome;
}

/**
 * Pages that have come are the clone's own from now on. It asks for the others again when it needs
 * them. At the last chance a single page that cannot be had for good is lost; of several it is not
 * known which one failed, and they are tried again.
 */
export function materialize(
  state: State,
  block: Block,
  { mask, lastChance }: Task,
  failure: DenyReason | null,
): void {
  const { mark } = state.masks;
  const come = state.masks.take();
  clear(come);
  for (let page = next(mask, 0); page < PAGES_PER_BLOCK; page = next(mask, page + 1)) {
    if (isInherited(block, page) && holderOf(state, block, page, NO_NODE) !== NO_NODE)
      add(come, page);
  }
  if (failure !== null) excludeBeyondBudget(state, block, come);
  or(block.dirty, come);
  state.masks.backTo(mark);
  if (failure === null || !lastChance || passes(failure) || size(mask) > 1) return;
  const page = next(mask, 0);
  if (isInherited(block, page)) lose(block, mask, failure);
}

/** Takes out what the host has beyond its budget: that must be able to go. */
function excludeBeyondBudget(state: State, block: Block, mask: Mask): void {
  const { resident } = residenceOf(state, block, HOST_NODE);
  const here = state.masks.take();
  setAnd(here, mask, resident);
  if (mayBeWritten(state, block, nodeOf(state, HOST_NODE), here)) return;
  andNot(mask, here);
}

/** What a clone's source has lost, the clone that would have it for its own has lost, too. */
function loseInherited(state: State, block: Block, mask: Mask): void {
  const lost = createMask();
  const base = block.index * PAGES_PER_BLOCK;
  for (let page = next(mask, 0); page < PAGES_PER_BLOCK; page = next(mask, page + 1)) {
    const reason = isInherited(block, page) ? lossOf(state, base + page) : null;
    if (reason === null) continue;
    clear(lost);
    add(lost, page);
    lose(block, lost, reason);
  }
}

/** Why pages are not there though the task is through: lost ones keep none from its end. */
export function loss(block: Block, { kind, mask }: Task): DenyReason | null {
  if (kind !== 'present') return null;
  const page = firstOfBoth(mask, block.lost);
  return page === PAGES_PER_BLOCK ? null : lossIn(block, page);
}

/** Pages that are as the task asked; lost and freed ones are not, and keep only holds waiting. */
export function pagesDone(state: State, block: Block, task: Task): number {
  const residence =
    task.kind === 'present' ? residenceOf(state, block, goalOf(state, block, task)) : undefined;
  const { mark } = state.masks;
  const pages = state.masks.take();
  setAnd(pages, task.mask, block.inside);
  if (residence !== undefined) and(pages, residence.resident);
  const count = size(pages);
  state.masks.backTo(mark);
  return count;
}

function bringPages(state: State, block: Block, task: Task): Outcome {
  if (task.entry && isEntered(state, block, task)) return 'done';
  const processor = task.node === NO_NODE ? processorOf(state, task.processor) : null;
  if (processor !== null && isRemote(block, processor))
    return bringToHost(state, block, processor, task);
  return bringTo(state, block, nodeOf(state, processor?.localNode ?? task.node), task);
}

/**
 * Whether all pages are there, and a thread of the processor waits at the entry: it gets all of the
 * block by its fault, and the blocks after it are asked for then.
 */
function isEntered(state: State, block: Block, task: Task): boolean {
  const mapping = block.mappings[task.processor];
  if (
    mapping?.waiting !== true ||
    ((mapping.waitingRead[0] | mapping.waitingWrite[0]) & FIRST_GROUP) === 0
  )
    return false;
  const { resident } = residenceOf(state, block, goalOf(state, block, task));
  const { mark } = state.masks;
  const asked = state.masks.take();
  setAnd(asked, task.mask, block.inside);
  const areThere = isSubset(asked, resident);
  state.masks.backTo(mark);
  return areThere;
}

function bringTo(state: State, block: Block, node: Node, task: Task): Outcome {
  const allowed = state.masks.take();
  const granulePages = task.map ? node.granulePages : 1;
  const asked = askedOf(state, block, task);
  if (task.access === Access.Write && !task.written) {
    const copyOnWrite = state.masks.take();
    writable(state, block, node, task, allowed);
    setAnd(copyOnWrite, allowed, block.copyOnWrite);
    if (!isEmpty(copyOnWrite)) {
      absentPages(state, block, copyOnWrite, allowed);
      if (!isEmpty(allowed)) {
        const outcome = migrate(state, block, moveFor(block, task, node, Access.Read, allowed));
        if (outcome === 'started') keepUntilItGoesOn(state, block, node.id);
        return outcome;
      }
      breakCopyOnWrite(state, block, copyOnWrite, false);
      return 'blocked';
    }
    const writing = moveFor(block, task, node, Access.Write, allowed);
    if (!isDone(state, block, writing)) return migrate(state, block, writing);
    // Not asked for again: while the rest comes, others may push this out, and two that want more
    // than there is would do so for ever.
    task.written = !task.hold;
  }
  // What may not be written comes for reading at least. What a clone needs comes whatever the
  // rights to read it.
  setPresent(allowed, block, asked);
  if (task.overtakes) addUnreadable(allowed, block, asked);
  // What was written meanwhile is its own already: a launch that holds such pages may wait for the
  // very clones that are to have the others.
  if (task.kind === 'materialize') andNot(allowed, block.dirty);
  if (granulePages > 1) keepWhole(state, block, allowed, granulePages);
  if (task.access === Access.Write) {
    const written = state.masks.take();
    writable(state, block, node, task, written);
    andNot(allowed, written);
  }
  excludeScratch(state, block, node.id, allowed);
  const reading = moveFor(block, task, node, Access.Read, allowed);
  if (!isDone(state, block, reading)) return migrate(state, block, reading);
  // It may have come before, to be read.
  const mayBeMaterialized =
    task.kind !== 'materialize' || mayBeWritten(state, block, node, allowed);
  return mayBeMaterialized ? 'done' : waitForMemory(state, block, node, task);
}

/** What the task wants brought there, and mapped for its processor if that is to be. */
function moveFor(block: Block, task: Task, node: Node, access: Access, mask: Mask): Operation {
  const operation = openFor(block, task, node, access, mask);
  operation.map = task.map;
  if (task.map) operation.processor = task.processor;
  return operation;
}

function addUnreadable(to: Mask, { unreadable, lost }: Block, asked: Mask): void {
  for (let word = 0; word < WORDS; word++) to[word] |= asked[word] & unreadable[word] & ~lost[word];
}

/** Those of the asked pages that the node may have for writing, by whole granules. */
function writable(state: State, block: Block, node: Node, task: Task, result: Mask): void {
  const granulePages = task.map ? node.granulePages : 1;
  setPresent(result, block, askedOf(state, block, task));
  andNot(result, block.unwritable);
  if (node.id !== HOST_NODE) andNot(result, block.pinned);
  if (granulePages > 1) keepWhole(state, block, result, granulePages);
  excludeScratch(state, block, node.id, result);
}

export function absence(state: State, block: Block, task: Task): DenyReason | null {
  const { mark } = state.masks;
  const reason = absenceOf(state, block, task, askedOf(state, block, task));
  state.masks.backTo(mark);
  return reason;
}

function absenceOf(state: State, block: Block, task: Task, mask: Mask): DenyReason | null {
  const { access, overtakes } = task;
  if (intersects(task.mask, block.freed)) return 'FREED';
  const lost = firstOfBoth(mask, block.lost);
  if (lost !== PAGES_PER_BLOCK) return lossIn(block, lost);
  // To wait until the program unpins them could be for ever.
  if (access === Access.Write && goalOf(state, block, task) !== HOST_NODE) {
    if (intersects(mask, block.pinned)) return 'PINNED';
  }
  return overtakes ? null : protection(block, mask, access);
}

/** Why pages that the task would write could not be copied for their clones. */
export function refusal(state: State, block: Block, task: Task): DenyReason | null {
  const { kind, node, processor, access, written } = task;
  if (block.unbroken === null || kind !== 'present' || access !== Access.Write || written)
    return null;
  if (node === NO_NODE && isRemote(block, processorOf(state, processor))) return null;
  const { mark } = state.masks;
  // What `bringTo` would write, with all of its granules.
  const shared = state.masks.take();
  writable(state, block, nodeOf(state, goalOf(state, block, task)), task, shared);
  and(shared, block.copyOnWrite);
  let found: DenyReason | null = null;
  for (const [page, reason] of block.unbroken) if (has(shared, page)) found ??= reason;
  state.masks.backTo(mark);
  return found;
}

/**
 * A processor that reaches host memory in place finds nothing of its own memory there, in which
 * pages could be held; nor is there a place in a node where something stands in for them.
 */
export function remoteness(state: State, block: Block, task: Task): DenyReason | null {
  const { node, mask } = task;
  const processor =
    state.processors[
      node === NO_NODE ? task.processor : (state.nodes[node]?.owner ?? NO_PROCESSOR)
    ];
  if (processor !== undefined && isRemote(block, processor)) return 'IN_PLACE';
  return standsIn(state, block, goalOf(state, block, task), mask) ? 'OUT_OF_MEMORY' : null;
}

/** Whether any of these pages is protected against the access. */
export function protection(block: Block, mask: Mask, access: Access): DenyReason | null {
  if (intersects(mask, block.unreadable)) return 'NO_ACCESS';
  return access === Access.Write && intersects(mask, block.unwritable) ? 'READ_ONLY' : null;
}

/**
 * Before these pages are forgotten their clones get what they need of them. True when that is under
 * way. Otherwise pages leave the mask whose content a clone could not be given just now: they are
 * kept, and the task fails.
 */
function breaksFirst(state: State, block: Block, task: Task, pages: Mask): boolean {
  noteKept(block, task);
  const copyOnWrite = state.masks.take();
  setAnd(copyOnWrite, pages, block.copyOnWrite);
  if (task.kept !== null) andNot(copyOnWrite, task.kept);
  if (isEmpty(copyOnWrite)) {
    andNot(pages, block.copyOnWrite);
    return false;
  }
  breakCopyOnWrite(state, block, copyOnWrite, true);
  return true;
}

/** Notes pages of the task that clones could not be given. */
function noteKept({ unbroken, copyOnWrite }: Block, task: Task): void {
  if (unbroken === null) return;
  for (const [page, reason] of unbroken) {
    if (!has(task.mask, page) || !has(copyOnWrite, page) || !passes(reason)) continue;
    task.kept ??= createMask();
    add(task.kept, page);
    task.keptFor ??= reason;
  }
}

/**
 * Whether pages that were kept are to be tried again: what has been forgotten meanwhile may have
 * made room for copies of them.
 */
function triesAgain({ unbroken }: Block, task: Task): boolean {
  if (task.kept === null || task.forgot < WORTHWHILE) return false;
  for (let page = next(task.kept, 0); page < PAGES_PER_BLOCK; page = next(task.kept, page + 1))
    unbroken?.delete(page);
  task.kept = null;
  task.keptFor = null;
  task.forgot = 0;
  return true;
}

function empty(state: State, block: Block, task: Task): Outcome {
  if (conflictsWithHold(state, block, NO_NODE, Access.Write, task.mask)) return 'blocked';
  const mask = state.masks.take();
  do {
    setAnd(mask, task.mask, block.inside);
    if (breaksFirst(state, block, task, mask)) return 'blocked';
    if (!isEmptied(state, block, task, mask)) {
      task.forgot += size(mask);
      const kind = task.kind === 'free' ? 'free' : 'zero';
      if (immediate(state, block, task, kind, mask) === 'started') return 'started';
    }
  } while (triesAgain(block, task));
  return 'done';
}

/**
 * Takes the right to write from all processors, the host included, so that a write meanwhile is
 * noticed. Pages that are pinned, or that are held to be written, can be written all the same: they
 * stay changed, since to wait could be to wait in a circle.
 */
function beginCleaning(state: State, block: Block, task: Task): Outcome {
  const mask = state.masks.take();
  changedPages(block, task.mask, mask);
  andNot(mask, block.cleaning);
  andNot(mask, block.pinned);
  for (const residence of block.residences) {
    for (const hold of residence?.holds ?? []) {
      if (hold.access !== Access.Write) continue;
      andNot(mask, hold.reach);
    }
  }
  return isEmpty(mask) ? 'done' : immediate(state, block, task, 'clean', mask);
}

function forget(state: State, block: Block, task: Task): Outcome {
  if (conflictsWithHold(state, block, NO_NODE, Access.Write, task.mask)) return 'blocked';
  const mask = state.masks.take();
  do {
    for (let word = 0; word < WORDS; word++) {
      const changed = block.dirty[word] | block.blank[word] | block.lost[word];
      // Clones may be given for the last time what a device had alone that died meanwhile.
      let there = block.breaking[word];
      for (let node = 0; node < block.residences.length; node++)
        there |= block.residences[node]?.resident[word] ?? 0;
      there = task.kind === 'revert' ? there | changed : there & ~changed;
      mask[word] = there & task.mask[word] & block.inside[word] & ~block.freed[word];
    }
    // Clones have all other pages from here as before: what is kept, and what no node has.
    if (breaksFirst(state, block, task, mask)) return 'blocked';
    if (!isEmpty(mask)) {
      task.forgot += size(mask);
      if (immediate(state, block, task, 'drop', mask) === 'started') return 'started';
    }
  } while (triesAgain(block, task));
  return 'done';
}

/** Takes from all processors what is more than the task allows, and does not give it again. */
function restrict(state: State, block: Block, task: Task): Outcome {
  const to = task.kind === 'copyOnWrite' ? Access.Read : task.access;
  // To take all rights conflicts with the same holds as a write: also with those that only read.
  const against = to === Access.None ? Access.Write : Access.Read;
  if (to < Access.Write && conflictsWithHold(state, block, NO_NODE, against, task.mask))
    return 'blocked';
  const mask = state.masks.take();
  let change = 0;
  for (let word = 0; word < WORDS; word++) {
    mask[word] = task.mask[word] & block.inside[word] & ~block.freed[word];
    if (task.kind === 'copyOnWrite') change |= mask[word] & ~block.copyOnWrite[word];
    else {
      const unreadable = to === Access.None ? ~block.unreadable[word] : block.unreadable[word];
      const unwritable = to === Access.Write ? block.unwritable[word] : ~block.unwritable[word];
      change |= mask[word] & (unreadable | unwritable);
    }
  }
  if (change === 0) return 'done';
  const kind = task.kind === 'copyOnWrite' ? 'copyOnWrite' : 'protect';
  return immediate(state, block, task, kind, mask, to);
}

/** Once: what threads get again meanwhile they have faulted for. */
function unmap(state: State, block: Block, task: Task, mask: Mask): Outcome {
  if (task.written) return 'done';
  task.written = true;
  const kind = task.kind === 'unmap' ? 'unmap' : 'unmapGranules';
  return immediate(state, block, task, kind, mask);
}

function isEmptied(state: State, block: Block, task: Task, mask: Mask): boolean {
  for (let word = 0; word < WORDS; word++) {
    if (task.kind === 'free') {
      if ((mask[word] & ~block.freed[word]) !== 0) return false;
    } else if ((mask[word] & (block.lost[word] | block.dirty[word] | ~block.blank[word])) !== 0)
      return false;
    for (let node = 0; node < block.residences.length; node++) {
      const residence = block.residences[node];
      if (residence === undefined) continue;
      if ((residence.resident[word] & mask[word]) !== 0) return false;
      const isGranules = granulePagesOf(state, node) > 1;
      // Of a granule memory stays with what else it has.
      if (task.kind === 'free' && !isGranules && (residence.backed[word] & mask[word]) !== 0)
        return false;
    }
  }
  return true;
}
