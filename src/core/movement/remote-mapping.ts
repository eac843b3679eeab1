/**
 * Processors that reach host memory in place (accessedBy): their mappings point to the host's node,
 * and nothing moves to their own.
 */

import {
  add,
  addRun,
  andNot,
  clear,
  has,
  isSubset,
  type Mask,
  next,
  remove,
  WORDS,
} from '../basics/mask.js';
import { Access, HOST_NODE, NO_NODE, PAGES_PER_BLOCK, PAGES_PER_GROUP } from '../basics/types.js';
import { holderOf, onlyOn } from '../table/contents.js';
import type { Processor } from '../table/processors.js';
import { isAsked, isRemote, mappingOf, nodeOf, residenceOf, type State } from '../table/state.js';
import { type Block, noteWaiting } from '../table/va-block.js';
import type { Task } from '../table/work.js';
import { immediate, isDone, migrate, type Outcome, present, sendHome } from './moves.js';

/** For a processor that reaches host memory in place: brings pages there, then maps them. */
export function bringToHost(state: State, block: Block, processor: Processor, task: Task): Outcome {
  const allowed = state.masks.take();
  for (let word = 0; word < WORDS; word++) {
    allowed[word] = task.mask[word] & present(block, word);
    if (task.access === Access.Write)
      allowed[word] &= ~(block.unwritable[word] | block.copyOnWrite[word]);
  }
  const host = nodeOf(state, HOST_NODE);
  if (!task.written && !isDone(state, block, HOST_NODE, null, task.access, allowed, false)) {
    return migrate(state, block, host, null, task.access, allowed, -1, task);
  }
  task.written = true;
  if (task.map && !isAsked(block, processor)) mapHostPages(state, block, processor, -1, false);
  return 'done';
}

/**
 * Maps all that the host has of the block, with the right to write where it is the only copy of
 * what was written; or one `page` alone, with that right if it is asked to `write`.
 */
function mapHostPages(
  state: State,
  block: Block,
  processor: Processor,
  page: number,
  write: boolean,
): void {
  const { resident } = residenceOf(state, block, HOST_NODE);
  const mapping = mappingOf(state, block, processor.id);
  const { mark } = state.masks;
  const allowed = state.masks.take();
  for (let word = 0; word < WORDS; word++) {
    allowed[word] = resident[word] & present(block, word) & block.dirty[word];
    allowed[word] &= ~(
      block.unwritable[word] |
      block.copyOnWrite[word] |
      block.cleaning[word] |
      mapping.writable[word]
    );
  }
  onlyOn(state, block, HOST_NODE, allowed, allowed);
  if (page !== -1) keepAlone(allowed, write ? page : -1);
  mapRuns(state, block, processor, allowed, Access.Write);
  for (let word = 0; word < WORDS; word++) {
    allowed[word] = resident[word] & present(block, word) & ~mapping.mapped[word];
  }
  if (page !== -1) keepAlone(allowed, page);
  mapRuns(state, block, processor, allowed, Access.Read);
  state.masks.backTo(mark);
  andNot(mapping.waitingRead, mapping.mapped);
  andNot(mapping.waitingWrite, mapping.writable);
  noteWaiting(mapping);
}

/** Takes all pages but one from a mask; -1: all. */
function keepAlone(mask: Mask, page: number): void {
  const isThere = page !== -1 && has(mask, page);
  clear(mask);
  if (isThere) add(mask, page);
}

function mapRuns(
  state: State,
  block: Block,
  processor: Processor,
  mask: Mask,
  access: Access,
): void {
  const mapping = mappingOf(state, block, processor.id);
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
export function serviceRemote(
  state: State,
  block: Block,
  processor: Processor,
  page: number,
  write: boolean,
  narrow: boolean,
): Outcome {
  const { resident } = residenceOf(state, block, HOST_NODE);
  const alone = holderOf(state, block, page, HOST_NODE) === NO_NODE;
  const asked = isAsked(block, processor);
  if (!has(resident, page) || (write && !alone)) {
    const allowed = state.masks.take();
    clear(allowed);
    // A page that came along may have been what failed.
    if (narrow || asked) add(allowed, page);
    else addWindow(state, block, processor, page, allowed);
    for (let word = 0; word < WORDS; word++) {
      allowed[word] &= present(block, word);
      if (write) allowed[word] &= ~(block.unwritable[word] | block.copyOnWrite[word]);
    }
    const access = write ? Access.Write : Access.Read;
    return migrate(state, block, nodeOf(state, HOST_NODE), null, access, allowed, page, null);
  }
  if (write) {
    add(block.dirty, page);
    remove(block.cleaning, page);
  }
  mapHostPages(state, block, processor, asked ? page : -1, write);
  return 'done';
}

/**
 * The pages that come to host memory with a fault there: as many more as the processor has mapped
 * before them, so that a walk through what lies in a store takes a fault a block.
 */
function addWindow(
  state: State,
  block: Block,
  processor: Processor,
  page: number,
  window: Mask,
): void {
  const first = page - (page % PAGES_PER_GROUP);
  let count: number = PAGES_PER_GROUP;
  if (block.advice.pattern !== 'random') {
    if (first === 0) {
      if (hasWhole(state.va.blocks.get(block.index - 1), block, processor)) count = PAGES_PER_BLOCK;
    } else {
      const { mapped } = mappingOf(state, block, processor.id);
      for (let at = first - 1; at >= 0 && has(mapped, at); at--) count++;
      count = Math.min(count - (count % PAGES_PER_GROUP), PAGES_PER_BLOCK - first);
    }
  }
  addRun(window, first, count);
}

/** Whether the processor has all of the block before this one mapped. */
function hasWhole(before: Block | undefined, { range }: Block, { id }: Processor): boolean {
  const mapping = before?.mappings[id];
  if (before?.range !== range || mapping === undefined) return false;
  return isSubset(before.inside, mapping.mapped);
}

/** Has a processor reach host memory in place, or its own again. */
export function switchMemory(state: State, block: Block, task: Task): Outcome {
  const processor = state.processors[task.processor];
  const remote = task.kind === 'mapRemote';
  if (
    processor === undefined ||
    processor.state !== 'alive' ||
    isRemote(block, processor) === remote
  ) {
    if (remote && processor !== undefined) processor.remoteBlocks--;
    return 'done';
  }
  if (remote) {
    const left = sendHome(state, block, task, processor.localNode);
    if (left === 'stuck') {
      // The host has no room for what would have to come home: then the block goes on migrating.
      processor.remoteBlocks--;
      return 'done';
    }
    if (left !== 'done') return left;
  }
  return immediate(
    state,
    block,
    remote ? 'mapRemote' : 'mapLocal',
    task,
    Access.None,
    block.inside,
  );
}
