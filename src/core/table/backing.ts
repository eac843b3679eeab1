/** Memory of nodes for pages of a block: taken, given back, filed for the search for victims. */

import {
  add,
  andNot,
  bitCount,
  isEmpty,
  type Mask,
  next,
  nextAbsent,
  setAnd,
  size,
  WORDS,
} from '../basics/mask.js';
import { type NodeId, PAGES_PER_BLOCK, PAGES_PER_GROUP, Status } from '../basics/types.js';
import { addCompletion } from './completion.js';
import type { Frames } from './frames.js';
import { leaveByGranules, widen } from './granules.js';
import { granuleReleased, joinGranule, leaveGranule } from './large-granule-memory.js';
import type { LargeGranules } from './large-granules.js';
import type { Node } from './nodes.js';
import { residenceOf, type State } from './state.js';
import { endToken, newToken, type Token } from './tokens.js';
import { type Block, NO_PAGES, type Residence } from './va-block.js';
import type { Operation } from './work.js';

/**
 * Takes memory for the pages that the operation moves and the node has none for; the caller has
 * made sure that the budget allows it. Returns how many those are.
 */
export function reserve(state: State, block: Block, node: Node, operation: Operation): number {
  const residence = residenceOf(state, block, node.id);
  const wanted = node.granulePages === 1 ? operation.moving : granulesMoving(node, operation);
  const { reserved, firstWord, endWord } = operation;
  let count = 0;
  for (let word = firstWord; word < endWord; word++) {
    const bits = wanted[word] & ~residence.backed[word];
    reserved[word] = bits;
    if (bits === 0) continue;
    residence.backed[word] |= bits;
    count += bitCount(bits);
  }
  if (count === 0) return 0;
  if (node.large !== null) {
    residence.backedCount += count;
    const frame = joinGranule(state, node, node.large, block.index);
    for (let page = 0; residence.frames !== null && page < PAGES_PER_BLOCK; page++)
      residence.frames[page] = frame + page;
    return count;
  }
  if (residence.frames !== null && node.allocator !== null)
    allocateFrames(node, node.allocator, reserved, residence.frames);
  residence.backedCount += count;
  node.backedPages += count;
  if (node.backedPages > node.peakPages) node.peakPages = node.backedPages;
  return count;
}

/** The granules that the operation moves pages of: its masks reach as far as these from now on. */
function granulesMoving({ granulePages }: Node, operation: Operation): Mask {
  const { moving, reserved } = operation;
  reserved.set(moving);
  widen(reserved, granulePages);
  const words = Math.max(1, granulePages / 32);
  operation.firstWord -= operation.firstWord % words;
  operation.endWord = Math.ceil(operation.endWord / words) * words;
  return reserved;
}

/** Memory for one page of a node whose frames are where its pages are; otherwise as `reserve`. */
export function takeMemory(node: Node, residence: Residence, page: number): void {
  add(residence.backed, page);
  residence.backedCount++;
  node.backedPages++;
  if (node.backedPages > node.peakPages) node.peakPages = node.backedPages;
}

/** Cuts the largest chunks that are to be had; a node that is fragmented gives small ones. */
function allocateFrames(
  { granulePages }: Node,
  allocator: Frames,
  mask: Mask,
  frames: Int32Array,
): void {
  if (granulePages > 1) {
    allocateGranules(granulePages, allocator, mask, frames);
    return;
  }
  if (size(mask) === PAGES_PER_BLOCK) {
    const root = allocator.allocate(PAGES_PER_BLOCK);
    if (root !== -1) {
      for (let page = 0; page < PAGES_PER_BLOCK; page++) frames[page] = root + page;
      return;
    }
  }
  for (let page = next(mask, 0); page < PAGES_PER_BLOCK; page = next(mask, page)) {
    let chunk: 16 | 1 = 1;
    if (page % PAGES_PER_GROUP === 0 && nextAbsent(mask, page) >= page + PAGES_PER_GROUP)
      chunk = PAGES_PER_GROUP;
    let frame = allocator.allocate(chunk);
    if (frame === -1 && chunk === PAGES_PER_GROUP) {
      chunk = 1;
      frame = allocator.allocate(1);
    }
    if (frame === -1) throw new Error('a pooled node has fewer free frames than its budget says');
    for (let each = 0; each < chunk; each++) frames[page + each] = frame + each;
    page += chunk;
  }
}

function allocateGranules(
  granulePages: number,
  allocator: Frames,
  mask: Mask,
  frames: Int32Array,
): void {
  for (let page = next(mask, 0); page < PAGES_PER_BLOCK; page = next(mask, page)) {
    const frame = allocator.allocate(granulePages);
    if (frame === -1) throw new Error('a pooled node has fewer free granules than its budget says');
    for (let each = 0; each < granulePages; each++) frames[page + each] = frame + each;
    page += granulePages;
  }
}

/**
 * Gives back the memory that the node has for these pages, with every mapping of them. The content
 * is gone from the node after this, so the caller has made sure that it is elsewhere, or not wanted
 * any more. Memory in granules stays where something else of the granule counts.
 */
export function releaseBacking(state: State, block: Block, node: Node, mask: Mask): void {
  const residence = block.residences[node.id];
  if (residence === undefined) return;
  const { mark } = state.masks;
  const going = state.masks.take();
  let left = 0;
  setAnd(going, mask, residence.backed);
  if (node.granulePages > 1) leaveByGranules(state, node, residence, going);
  for (let word = 0; word < WORDS; word++) {
    left |= residence.backed[word] & ~going[word] & block.inside[word];
  }
  // What lies behind the range's end is there for what lies before it.
  if (left === 0 && node.completed.delete(block)) addCompletion(block, residence, going);
  if (node.large !== null && !isEmpty(going))
    releaseBlock(state, block, node, node.large, residence, going);
  else if (!isEmpty(going)) {
    releaseRuns(state, block, node, residence, going);
    forgetBacking(state, block, node.id, residence, going);
    if (isEmpty(residence.passed)) node.passed.remove(block.index);
    const count = size(going);
    residence.backedCount -= count;
    node.backedPages -= count;
    node.pump = true;
  }
  state.masks.backTo(mark);
}

/** All that the block has of a granule; its last block gives back all of it. */
function releaseBlock(
  state: State,
  block: Block,
  node: Node,
  large: LargeGranules,
  residence: Residence,
  going: Mask,
): void {
  const { index } = block;
  const granule = large.taken(index);
  const last = granule.members === 1;
  const page = last ? large.pageOf(index) : index * PAGES_PER_BLOCK;
  const count = last ? large.pages : PAGES_PER_BLOCK;
  const frame = last ? granule.frame : (residence.frames?.[0] ?? page);
  const token = newToken(state, 'release', block, node.id, 0, PAGES_PER_BLOCK);
  const status = state.commands.release(token.id, node.id, page, count, frame);
  if (status !== Status.Pending) endToken(state, token);
  residence.frames?.fill(-1);
  forgetBacking(state, block, node.id, residence, going);
  residence.backedCount = 0;
  leaveGranule(state, node, large, index, status);
}

/** The same for memory that was as good as free (`Node.spare`). */
export function releaseSpare(state: State, block: Block, node: Node, mask: Mask): void {
  const { pump } = node;
  releaseBacking(state, block, node, mask);
  node.pump = pump;
  node.spare = true;
}

function releaseRuns(
  state: State,
  block: Block,
  node: Node,
  { frames }: Residence,
  going: Mask,
): void {
  const base = block.index * PAGES_PER_BLOCK;
  for (let first = next(going, 0); first < PAGES_PER_BLOCK; ) {
    let end = nextAbsent(going, first);
    if (frames !== null) {
      let each = first + 1;
      while (each < end && frames[each] === frames[each - 1] + 1) each++;
      end = each;
    }
    const frame = frames === null ? base + first : frames[first];
    const token = newToken(state, 'release', block, node.id, first, end - first);
    token.frame = frame;
    const status = state.commands.release(token.id, node.id, base + first, end - first, frame);
    frames?.fill(-1, first, end);
    if (status === Status.Pending) quarantine(state, node, end - first);
    else {
      endToken(state, token);
      node.allocator?.release(frame, end - first);
    }
    first = next(going, end);
  }
}

/** Frames that are still read or written count as the node's until its driver says otherwise. */
function quarantine(state: State, node: Node, pages: number): void {
  if (node.allocator === null)
    throw new Error(`${node.description.name}: only pooled frames can be in quarantine`);
  state.quarantines++;
  node.quarantinedPages += pages;
  node.leavingPages += pages;
  node.backedPages += pages;
}

/** Nothing reads or writes the frames any more: they may be used again. */
export function releaseDone(state: State, token: Token): void {
  const { count, frame } = token;
  const node = state.nodes[token.node];
  endToken(state, token);
  state.quarantines--;
  if (node === undefined) return;
  if (node.large !== null) {
    granuleReleased(state, node, node.large, token.block.index);
    return;
  }
  node.quarantinedPages -= count;
  node.leavingPages -= count;
  node.backedPages -= count;
  node.allocator?.release(frame, count);
  node.pump = true;
}

/** With the memory goes every mapping of it, whichever processor had it. */
function forgetBacking(
  state: State,
  block: Block,
  node: NodeId,
  residence: Residence,
  going: Mask,
): void {
  andNot(residence.backed, going);
  andNot(residence.resident, going);
  andNot(residence.scratch, going);
  andNot(residence.passed, going);
  for (let id = 0; id < block.mappings.length; id++) {
    const mapping = block.mappings[id];
    if (mapping === undefined || mapping.node !== node) continue;
    // What stands in for a page that is reached in place is not of this memory.
    const own = mapping.standIn !== NO_PAGES && state.processors[id]?.localNode === node;
    for (let word = 0; word < WORDS; word++) {
      if (own) mapping.standIn[word] &= ~going[word];
      const kept = ~going[word] | mapping.standIn[word];
      mapping.mapped[word] &= kept;
      mapping.writable[word] &= kept;
    }
  }
}

/** The block was touched, or has gone: it is no guess any more. */
export function endAhead(block: Block, node: Node): void {
  const residence = block.residences[node.id];
  if (residence === undefined || !residence.ahead) return;
  residence.ahead = false;
  node.aheadBlocks--;
}

/** Files the block under what each node has of it: nothing, stale memory only, or content. */
export function classify(state: State, block: Block): void {
  for (let id = 0; id < block.residences.length; id++) {
    const residence = block.residences[id];
    const node = state.nodes[id];
    if (residence === undefined || node === undefined) continue;
    if (residence.backedCount > 0 && isEmpty(residence.resident)) {
      node.eviction.deactivate(block.index);
      if (!node.unused.has(block.index)) node.unused.append(block.index);
      endAhead(block, node);
    } else if (residence.backedCount > 0) {
      node.unused.remove(block.index);
      node.eviction.activate(block.index, residence.backedCount);
    } else {
      node.unused.remove(block.index);
      node.eviction.deactivate(block.index);
      endAhead(block, node);
    }
  }
}
