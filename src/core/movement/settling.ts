/**
 * Pages that have come: the table learns where their content is and who has them mapped, and their
 * threads wait no more.
 */

import {
  addRun,
  and,
  clear,
  has,
  type Mask,
  next,
  nextAbsent,
  removeRun,
  WORDS,
} from '../basics/mask.js';
import {
  Access,
  PAGES_PER_BLOCK,
  PAGES_PER_GROUP,
  type ProcessorId,
  SOURCE_PROVIDER,
  SOURCE_ZERO,
  type Source,
} from '../basics/types.js';
import { contentIn } from '../table/granules.js';
import type { Node } from '../table/nodes.js';
import { REFUSED } from '../table/processors.js';
import { mappingOf, nodeOf, residenceOf, type State } from '../table/state.js';
import type { Token } from '../table/tokens.js';
import { type Block, noteWaiting, rareMask } from '../table/va-block.js';
import type { Operation } from '../table/work.js';

/** A run is there and mapped: the table learns it, then its threads wait no more. */
export function settle(state: State, run: Token): void {
  const { block, source, first, count } = run;
  const operation = block.record;
  const target = nodeOf(state, run.node);
  operation.progress = true;
  removeRun(operation.moving, first, count);
  removeRun(operation.reserved, first, count);
  countArrival(state, block, target, source, count);
  if (operation.kind === 'scratch') {
    const residence = residenceOf(state, block, target.id);
    addRun(rareMask(residence, 'scratch'), first, count);
    removeRun(residence.resident, first, count);
    addRun(rareMask(mappingOf(state, block, operation.processor), 'standIn'), first, count);
    target.scratchBlocks.add(block);
  } else {
    const written = operation.kind === 'migrate' && operation.access === Access.Write;
    noteContent(state, block, target, first, count, written);
  }
  // A processor that died meanwhile keeps the content, if it keeps any, but has no tables to map it
  // in.
  if (
    accessAt(operation, first) === Access.None ||
    state.processors[operation.processor]?.state === 'dead'
  )
    return;
  if (target.granulePages > 1) {
    mapGranules(state, target, run);
    return;
  }
  const { processor, access } = operation;
  if (source !== target.id && isInPlace(operation, target)) {
    const page = block.index * PAGES_PER_BLOCK + first;
    state.commands.map(processor, page, count, access, Access.None, page);
  }
  noteMapped(state, block, processor, first, count, access);
}

/** Maps those granules around a run that are wholly there by now. */
function mapGranules(state: State, target: Node, { block, first, count }: Token): void {
  const { granulePages } = target;
  const { mark } = state.masks;
  const granule = state.masks.take();
  for (let at = first - (first % granulePages); at < first + count; at += granulePages) {
    clear(granule);
    addRun(granule, at, granulePages);
    if (isWhole(block, target, granule)) mapGranule(state, block, target, at, granule);
  }
  state.masks.backTo(mark);
}

/** Whether the operation is about all of the granule, and has brought it. */
function isWhole(block: Block, target: Node, granule: Mask): boolean {
  const { mask, moving } = block.record;
  const residence = block.residences[target.id];
  if (residence === undefined) return false;
  const { resident, scratch } = residence;
  for (let word = 0; word < WORDS; word++) {
    const wanted = mask[word] | contentIn(block, word);
    const there = mask[word] & ~moving[word] & (resident[word] | scratch[word]);
    if ((granule[word] & wanted & ~there) !== 0) return false;
  }
  return true;
}

/** What comes with a granule and has no content is mapped with it, and nobody is to believe so. */
function mapGranule(state: State, block: Block, target: Node, first: number, granule: Mask): void {
  const { processor, access, mask } = block.record;
  const { mapped, writable } = mappingOf(state, block, processor);
  and(granule, mask);
  const page = next(granule, 0);
  const previous = accessOf(mapped, writable, page);
  if (access > previous) {
    const base = block.index * PAGES_PER_BLOCK;
    const frame = frameAt(residenceOf(state, block, target.id).frames, base, first);
    state.commands.map(processor, base + first, target.granulePages, access, previous, frame);
  }
  for (let from = page; from < PAGES_PER_BLOCK; ) {
    const end = nextAbsent(granule, from);
    noteMapped(state, block, processor, from, end - from, access);
    from = next(granule, end);
  }
}

/** Pages have come to the target. */
export function countArrival(
  state: State,
  block: Block,
  target: Node,
  source: Source,
  count: number,
): void {
  if (source >= 0 && source !== target.id) {
    target.counters.pagesIn += count;
    const from = state.nodes[source];
    // The smallest place that has room for so many.
    const size = 32 - Math.clz32(count - 1);
    target.counters.copies[size]++;
    if (from !== undefined) {
      from.counters.pagesOut += count;
      from.counters.copies[size]++;
    }
  } else if (source === SOURCE_ZERO) target.counters.pagesZeroed += count;
  else if (source === SOURCE_PROVIDER && block.range.derived === true)
    target.counters.pagesCloned += count;
  else if (source === SOURCE_PROVIDER) target.counters.pagesProvided += count;
}

/** The target has the content. Pages `written` there make all other copies stale. */
export function noteContent(
  state: State,
  block: Block,
  target: Node,
  first: number,
  count: number,
  written: boolean,
): void {
  addRun(residenceOf(state, block, target.id).resident, first, count);
  if (!written) return;
  addRun(block.dirty, first, count);
  removeRun(block.cleaning, first, count);
  for (let other = 0; other < block.residences.length; other++) {
    const stale = block.residences[other];
    if (stale !== undefined && other !== target.id) removeRun(stale.resident, first, count);
  }
}

/** A processor has pages mapped, so that no thread of it waits for them any more. */
export function noteMapped(
  state: State,
  block: Block,
  id: ProcessorId,
  first: number,
  count: number,
  access: Access,
): void {
  const mapping = mappingOf(state, block, id);
  addRun(mapping.mapped, first, count);
  if (access === Access.Write) addRun(mapping.writable, first, count);
  const processor = state.processors[id];
  if (processor !== undefined && processor.waited !== REFUSED) processor.waited = 0;
  if (mapping.waiting) {
    removeRun(mapping.waitingRead, first, count);
    if (access === Access.Write) removeRun(mapping.waitingWrite, first, count);
    noteWaiting(mapping);
  }
}

/** Whether the operation's processor reaches the pages in a memory that is not its own. */
export function isInPlace({ processor }: Operation, { owner }: Node): boolean {
  return owner !== processor;
}

/** The right to a page that the operation's processor gets. */
export function accessAt({ map, entry, access }: Operation, page: number): Access {
  return map && !(entry && page < PAGES_PER_GROUP) ? access : Access.None;
}

export function frameAt(frames: Int32Array | null, base: number, page: number): number {
  return frames === null ? base + page : frames[page];
}

export function accessOf(mapped: Mask, writable: Mask, page: number): Access {
  if (!has(mapped, page)) return Access.None;
  return has(writable, page) ? Access.Write : Access.Read;
}
