/** Processors that reach host memory in place (accessedBy): their mappings point to the host's node, and nothing moves to their own. */
import { add, addRun, clear, has, isEmpty, type Mask, next, remove, WORDS } from './mask.js';
import { immediate, isDone, migrate, type Outcome, plan, present, sendHome } from './moves.js';
import {
  holderOf,
  isRemote,
  mappingOf,
  onlyOn,
  type Processor,
  processorOf,
  residenceOf,
  type State,
} from './state.js';
import { Access, HOST, PAGES_PER_BLOCK, PAGES_PER_GROUP } from './types.js';
import type { Block, Task } from './va-block.js';

/** For a processor that reaches host memory in place: brings the pages there, then maps what the host has. */
export function bringToShare(state: State, block: Block, processor: Processor, task: Task): Outcome {
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
export function serviceSharing(
  state: State,
  block: Block,
  processor: Processor,
  page: number,
  write: boolean,
  narrow: boolean,
): Outcome {
  const { resident } = residenceOf(state, block, HOST);
  const alone = holderOf(state, block, page, HOST) === -1;
  if (!has(resident, page) || (write && !alone)) {
    const { allowed } = state;
    clear(allowed);
    // A page that came along may have been what failed.
    if (narrow) add(allowed, page);
    else addRun(allowed, page - (page % PAGES_PER_GROUP), PAGES_PER_GROUP);
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

export function switchMemory(state: State, block: Block, task: Task): Outcome {
  const processor = state.processors[task.processor];
  const on = task.kind === 'attach';
  if (processor === undefined || processor.state !== 'alive' || isRemote(block, task.processor) === on) {
    if (on && processor !== undefined) processor.remoteBlocks--;
    return 'done';
  }
  if (on) {
    const left = sendHome(state, block, task);
    if (left === 'stuck') {
      // The host has no room for what would have to come home: then the block goes on migrating.
      processor.remoteBlocks--;
      return 'done';
    }
    if (left !== 'done') return left;
  }
  const mask = state.needed;
  for (let word = 0; word < WORDS; word++) mask[word] = block.inside[word];
  plan.kind = on ? 'attach' : 'separate';
  plan.access = Access.None;
  return immediate(state, block, task, mask);
}
