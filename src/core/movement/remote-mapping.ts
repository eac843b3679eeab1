/**
 * Processors that reach host memory in place (accessedBy): their mappings point to the host's node,
 * and nothing moves to their own.
 */

import { addRun, and, andNot, has, isSubset, type Mask, next, setAnd } from '../basics/mask.js';
import { Access, HOST_NODE, PAGES_PER_BLOCK } from '../basics/types.js';
import { onlyOn } from '../table/contents.js';
import type { Fault } from '../table/fault.js';
import type { Processor } from '../table/processors.js';
import { isAsked, isRemote, mappingOf, nodeOf, residenceOf, type State } from '../table/state.js';
import { type Block, noteWaiting } from '../table/va-block.js';
import type { Task } from '../table/work.js';
import {
  bring,
  immediate,
  isDone,
  migrate,
  type Outcome,
  openFor,
  sendHome,
  setPresent,
} from './moves.js';

/** For a processor that reaches host memory in place: brings pages there, then maps them. */
export function bringToHost(state: State, block: Block, processor: Processor, task: Task): Outcome {
  const allowed = state.masks.take();
  setPresent(allowed, block, task.mask);
  if (task.access === Access.Write) {
    andNot(allowed, block.unwritable);
    andNot(allowed, block.copyOnWrite);
  }
  if (!task.written) {
    const operation = openFor(block, task, nodeOf(state, HOST_NODE), task.access, allowed);
    if (!isDone(state, block, operation)) return migrate(state, block, operation);
  }
  task.written = true;
  if (task.map && !isAsked(block, processor)) mapHostPages(state, block, processor, null, true);
  return 'done';
}

/**
 * Maps what the host has of the block.
 *
 * @param part only these pages; null: all
 * @param writable with the right to write where it is the only copy of what was written
 */
function mapHostPages(
  state: State,
  block: Block,
  processor: Processor,
  part: Mask | null,
  writable: boolean,
): void {
  const { resident } = residenceOf(state, block, HOST_NODE);
  const mapping = mappingOf(state, block, processor.id);
  const { mark } = state.masks;
  const allowed = state.masks.take();
  if (writable) {
    setPresent(allowed, block, resident);
    and(allowed, block.dirty);
    andNot(allowed, block.unwritable);
    andNot(allowed, block.copyOnWrite);
    andNot(allowed, block.cleaning);
    andNot(allowed, mapping.writable);
    onlyOn(state, block, HOST_NODE, allowed, allowed);
    if (part !== null) and(allowed, part);
    mapRuns(state, block, processor, allowed, Access.Write);
  }
  setPresent(allowed, block, resident);
  andNot(allowed, mapping.mapped);
  if (part !== null) and(allowed, part);
  mapRuns(state, block, processor, allowed, Access.Read);
  state.masks.backTo(mark);
  andNot(mapping.waitingRead, mapping.mapped);
  andNot(mapping.waitingWrite, mapping.writable);
  noteWaiting(mapping);
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

/**
 * Brings pages to host memory for a thread that waits for one of them there, and maps them. Where
 * all of them are there, it maps all that the host has of the block, unless they come `alone`.
 *
 * @param guarded a guard is asked before each page is written
 */
export function bringInPlace(
  state: State,
  fault: Fault,
  mask: Mask,
  alone: boolean,
  guarded: boolean,
): Outcome {
  const { block, processor, mapping } = fault;
  const write = fault.access === Access.Write;
  andNot(mask, mapping.standIn);
  if (!isThere(state, block, write, mask)) return bring(state, fault, mask);
  mapHostPages(state, block, processor, alone || guarded ? mask : null, write || !guarded);
  return 'done';
}

/** Whether the pages need only be mapped: to be written, where host memory has the only copy. */
function isThere(state: State, block: Block, write: boolean, mask: Mask): boolean {
  const { resident } = residenceOf(state, block, HOST_NODE);
  if (!write) return isSubset(mask, resident);
  const { mark } = state.masks;
  const owned = state.masks.take();
  setAnd(owned, resident, block.dirty);
  andNot(owned, block.cleaning);
  onlyOn(state, block, HOST_NODE, owned, owned);
  const isOwned = isSubset(mask, owned);
  state.masks.backTo(mark);
  return isOwned;
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
  return immediate(state, block, task, remote ? 'mapRemote' : 'mapLocal', block.inside);
}
