/** All that the manager knows, and the small functions that keep its parts in step. */

import { IntrusiveList } from '../basics/intrusive-list.js';
import {
  add,
  bitCount,
  createMask,
  isEmpty,
  type Mask,
  MaskStack,
  next,
  nextAbsent,
  size,
  WORDS,
} from '../basics/mask.js';
import {
  type Access,
  type Commands,
  type DenyReason,
  type EvictionPolicy,
  HOST,
  HOST_NODE,
  NO_NODE,
  type NodeId,
  PAGES_PER_BLOCK,
  PAGES_PER_GROUP,
  type PlacementPolicy,
  type PrefetchPolicy,
  type PrefetchRequest,
  type ProcessorDescription,
  type ProcessorId,
  type ReadAheadPolicy,
  type Source,
  Status,
  type Transfer,
} from '../basics/types.js';
import { addCompletion } from './completion.js';
import type { FrameAllocator } from './frames.js';
import type { Node } from './nodes.js';
import {
  type Block,
  createMapping,
  createResidence,
  type Mapping,
  NO_PAGES,
  type Residence,
} from './va-block.js';
import { VaSpace } from './va-space.js';
import type { Operation, TaskKind } from './work.js';

/** What is counted for each processor. */
export interface ProcessorCounters {
  readFaults: number;
  writeFaults: number;
  /** Messages about pages that were there already. */
  repeatedFaults: number;
  /** Times that access was taken from it. */
  revocations: number;
  denied: number;
}

/** Declared use of a range by a running launch. */
interface Intent {
  readonly launch: number;
  readonly first: number;
  readonly end: number;
  readonly write: boolean;
}

/**
 * Stands for how long a processor has waited for room that was refused it in the launch that runs.
 */
export const REFUSED = Number.POSITIVE_INFINITY;

export interface Processor {
  readonly id: ProcessorId;
  readonly description: ProcessorDescription;
  /**
   * The memory of its own, which its faults bring pages to; NO_NODE: it has none, and reaches host
   * memory in place.
   */
  readonly own: NodeId;
  state: 'alive' | 'draining' | 'dead';
  readonly prefetch: PrefetchPolicy;
  readonly readAhead: ReadAheadPolicy;
  readonly placement: PlacementPolicy;
  /** Blocks in which it was switched to host memory, and those that are being made so. */
  remoteBlocks: number;
  /**
   * How often it was said, while a thread of it waited for room that stores do not give, that there
   * is none still.
   */
  waited: number;
  /**
   * A thread of it has found no room since that was said last: others that wait in the same block
   * may wait for something else.
   */
  lacksRoom: boolean;
  /** Pages of its own that stand in for denied ones where it reaches host memory in place. */
  coveredPages: number;
  readonly intents: Intent[];
  readonly slotThread: Int32Array;
  readonly slotBlock: Int32Array;
  nextSlot: number;
  readonly counters: ProcessorCounters;
}

/** Something asked for over a range: it becomes one task a block, a few blocks at a time. */
export interface Request {
  readonly id: number;
  readonly kind: TaskKind;
  readonly node: NodeId;
  readonly processor: ProcessorId;
  readonly access: Access;
  readonly map: boolean;
  readonly hold: boolean;
  readonly exclusive: boolean;
  readonly ahead: boolean;
  readonly early: boolean;
  readonly lastChance: boolean;
  /** First page and the page after the last. */
  readonly first: number;
  readonly end: number;
  cursor: number;
  outstanding: number;
  pages: number;
  /** Blocks that it holds so far. */
  held: number;
  failure: DenyReason | null;
}

/** What a token stands for while a command is under way. */
export interface Token {
  id: number;
  kind: 'revoke' | 'transfer' | 'release';
  block: Block;
  node: NodeId;
  source: Source;
  first: number;
  count: number;
  /** The first frame that is in quarantine. */
  frame: number;
}

export interface Policies {
  eviction(): EvictionPolicy;
  prefetch(): PrefetchPolicy;
  readAhead(): ReadAheadPolicy;
  placement(): PlacementPolicy;
}

export interface State {
  readonly commands: Commands;
  readonly policies: Policies;
  readonly va: VaSpace;
  readonly nodes: (Node | undefined)[];
  readonly processors: (Processor | undefined)[];
  readonly requests: Map<number, Request>;
  readonly tokens: (Token | undefined)[];
  readonly freeTokens: number[];
  /** Blocks whose next work can be looked at. */
  readonly ready: IntrusiveList;
  /** For what a function works out of masks. */
  readonly masks: MaskStack;
  /** What is handed to the prefetch policy, and to the command `transfer`. */
  readonly prefetchRequest: PrefetchRequest;
  readonly transfer: Transfer;
  /** Operations under way in all blocks. */
  activeOperations: number;
  /** Those of them that wait for pages from other ranges: they end only if others get on. */
  dependentOperations: number;
  /** Releases that have not been acknowledged. */
  quarantines: number;
  /**
   * Holds whose owners were told that they have them, and which therefore end by themselves. Those
   * of requests that still gather are not counted: if only they are left, nothing ends by itself
   * any more.
   */
  holds: number;
  /** Pages whose copy-on-write is being broken: clones are being given their content. */
  breaks: number;
  /** Ranges whose providers take no changed pages just now. */
  refusals: number;
  /** Some advice prefers a node: victims are looked for in more than one pass. */
  preferences: boolean;
  /** Some advice has processors reach host memory in place: launches look whether theirs do. */
  inPlace: boolean;
  /**
   * Counts what was asked for from outside: each time, blocks whose eviction kept failing are tried
   * again.
   */
  effort: number;
  /**
   * Blocks that a node should lose, while its home has no room for them: looked at again when it
   * has.
   */
  readonly parked: IntrusiveList;
  /** Blocks that are to be brought ahead of processors as soon as no thread waits. */
  readonly later: {
    readonly block: Block;
    readonly processor: ProcessorId;
    readonly access: Access;
  }[];
  /** Blocks on which a thread waits for room that a store, or a file, may have again soon. */
  readonly patient: IntrusiveList;
}

export function createState(commands: Commands, policies: Policies, blockCount: number): State {
  return {
    commands,
    policies,
    va: new VaSpace(blockCount),
    nodes: [],
    processors: [],
    requests: new Map(),
    tokens: [],
    freeTokens: [],
    ready: new IntrusiveList(),
    masks: new MaskStack(),
    prefetchRequest: {
      page: 0,
      write: false,
      occupied: NO_PAGES,
      allowed: NO_PAGES,
      streaming: false,
      pressed: false,
      walked: 0,
      most: PAGES_PER_BLOCK,
      distant: false,
      scattered: 0,
      close: false,
      result: createMask(),
    },
    transfer: {
      token: 0,
      source: NO_NODE,
      sourceFrame: 0,
      node: NO_NODE,
      processor: HOST,
      page: 0,
      count: 0,
      frame: 0,
      access: 0,
      backed: false,
      whole: false,
      urgent: false,
    },
    activeOperations: 0,
    dependentOperations: 0,
    quarantines: 0,
    holds: 0,
    breaks: 0,
    refusals: 0,
    preferences: false,
    inPlace: false,
    effort: 0,
    parked: new IntrusiveList(),
    later: [],
    patient: new IntrusiveList(),
  };
}

export function createProcessor(
  state: State,
  id: ProcessorId,
  description: ProcessorDescription,
  own: NodeId,
): Processor {
  return {
    id,
    description,
    own,
    state: 'alive',
    prefetch: state.policies.prefetch(),
    readAhead: state.policies.readAhead(),
    placement: state.policies.placement(),
    remoteBlocks: 0,
    waited: 0,
    lacksRoom: false,
    coveredPages: 0,
    intents: [],
    slotThread: new Int32Array(description.units).fill(-1),
    slotBlock: new Int32Array(description.units).fill(-1),
    nextSlot: 0,
    counters: { readFaults: 0, writeFaults: 0, repeatedFaults: 0, revocations: 0, denied: 0 },
  };
}

export function processorOf(state: State, id: ProcessorId): Processor {
  const processor = state.processors[id];
  if (processor === undefined) throw new Error(`there is no processor ${id}`);
  return processor;
}

export function nodeOf(state: State, id: NodeId): Node {
  const node = state.nodes[id];
  if (node === undefined) throw new Error(`there is no node ${id}`);
  return node;
}

export function mappingOf(state: State, block: Block, processor: ProcessorId): Mapping {
  const known = block.mappings[processor];
  if (known !== undefined) return known;
  const { own } = processorOf(state, processor);
  const made = createMapping(own === NO_NODE ? HOST_NODE : own);
  block.mappings[processor] = made;
  return made;
}

export function residenceOf(state: State, block: Block, node: NodeId): Residence {
  const known = block.residences[node];
  if (known !== undefined) return known;
  const made = createResidence(nodeOf(state, node).allocator !== null);
  block.residences[node] = made;
  return made;
}

/**
 * Whether pages are under way, so that memory of the node may be given back. What waits for pages
 * of another range waits for memory of the host: it ends only if there is some there.
 */
export function pagesMove(state: State, node: NodeId): boolean {
  const waiting = node === HOST_NODE ? state.dependentOperations : 0;
  return state.activeOperations > waiting || state.quarantines > 0;
}

/** Whether something is under way that ends by itself, and may give memory of the node back. */
export function somethingMoves(state: State, node: NodeId): boolean {
  if (pagesMove(state, node)) return true;
  // With a store that takes nothing more, the end of a hold gives no memory, and the request that
  // holds may itself wait for some.
  return state.holds > 0 && shortageOf(state) === 'OUT_OF_MEMORY';
}

/** Why there is no room for pages on the host, or on a node whose pages go there. */
export function shortageOf({ nodes, refusals }: State): 'OUT_OF_MEMORY' | 'OUT_OF_STORAGE' {
  for (
    let node = nodes[nodes[HOST_NODE]?.home ?? NO_NODE];
    node !== undefined;
    node = nodes[node.home]
  )
    if (node.limitPages < node.budgetPages) return 'OUT_OF_STORAGE';
  return refusals > 0 ? 'OUT_OF_STORAGE' : 'OUT_OF_MEMORY';
}

/** The node that the processor's mappings of the block point to. */
export function reachedBy(state: State, block: Block, processor: ProcessorId): NodeId {
  return mappingOf(state, block, processor).node;
}

/** Whether the processor reaches memory in place that is not its own, for all of the block. */
export function isRemote(block: Block, { id, own }: Processor): boolean {
  const mapping = block.mappings[id];
  return mapping === undefined ? own === NO_NODE : mapping.node !== own;
}

export function makeReady(state: State, block: Block): void {
  state.ready.append(block.index);
}

export function newToken(
  state: State,
  kind: Token['kind'],
  block: Block,
  node: NodeId,
  source: Source,
  first: number,
  count: number,
): Token {
  const spare = state.freeTokens.pop();
  if (spare === undefined) {
    const token = { id: state.tokens.length, kind, block, node, source, first, count, frame: 0 };
    state.tokens.push(token);
    return token;
  }
  const token = state.tokens[spare] as Token;
  token.kind = kind;
  token.block = block;
  token.node = node;
  token.source = source;
  token.first = first;
  token.count = count;
  return token;
}

export function endToken(state: State, token: Token): void {
  state.freeTokens.push(token.id);
}

/**
 * The operation goes on when the command is through, unless it is already. No command answers
 * before it has returned.
 */
export function countPending(
  state: State,
  operation: Operation,
  token: Token,
  status: Status,
): void {
  if (status === Status.Pending) operation.outstanding++;
  else endToken(state, token);
}

export function isHeld(block: Block, node: NodeId): boolean {
  const residence = block.residences[node];
  return residence !== undefined && residence.holds.length > 0;
}

/**
 * Whether another node's hold forbids giving processors that reach `node` this access to these
 * pages. A node whose processor has died keeps nothing: a holder of its pages looks whether it
 * lives before using them.
 */
export function conflictsWithHold(
  state: State,
  block: Block,
  node: NodeId,
  access: Access,
  pages: Mask,
): boolean {
  for (let other = 0; other < block.residences.length; other++) {
    const residence = block.residences[other];
    if (residence === undefined || other === node || residence.holds.length === 0) continue;
    if (state.nodes[other]?.state === 'dead') continue;
    if (isHeldAgainst(residence, access, pages)) return true;
  }
  return false;
}

/**
 * Whether the node holds some of these pages in a way that does not go with the access of another
 * one.
 */
export function isHeldAgainst(residence: Residence, access: Access, pages: Mask): boolean {
  for (const hold of residence.holds) {
    if (hold.access !== 2 && access !== 2) continue;
    for (let word = 0; word < WORDS; word++) if ((hold.mask[word] & pages[word]) !== 0) return true;
  }
  return false;
}

/**
 * Takes memory for the pages that the operation moves and the node has none for; the caller has
 * made sure that the budget allows it. Returns how many those are.
 */
export function reserve(state: State, block: Block, node: Node, operation: Operation): number {
  const { moving, reserved, firstWord, endWord } = operation;
  const residence = residenceOf(state, block, node.id);
  let count = 0;
  for (let word = firstWord; word < endWord; word++) {
    const bits = moving[word] & ~residence.backed[word];
    reserved[word] = bits;
    if (bits === 0) continue;
    residence.backed[word] |= bits;
    count += bitCount(bits);
  }
  if (count === 0) return 0;
  if (residence.frames !== null && node.allocator !== null)
    allocateFrames(node.allocator, reserved, residence.frames);
  residence.backedCount += count;
  node.backedPages += count;
  if (node.backedPages > node.peakPages) node.peakPages = node.backedPages;
  return count;
}

/** Memory for one page of a node whose frames are where its pages are; otherwise as `reserve`. */
export function takeMemory(node: Node, residence: Residence, page: number): void {
  add(residence.backed, page);
  residence.backedCount++;
  node.backedPages++;
  if (node.backedPages > node.peakPages) node.peakPages = node.backedPages;
}

/** Cuts the largest chunks that are to be had; a node that is fragmented gives small ones. */
function allocateFrames(allocator: FrameAllocator, mask: Mask, frames: Int32Array): void {
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

/**
 * Gives back the memory that the node has for these pages, with every mapping of them. The content
 * is gone from the node after this, so the caller has made sure that it is elsewhere, or not wanted
 * any more.
 */
export function releaseBacking(state: State, block: Block, node: Node, mask: Mask): void {
  const residence = block.residences[node.id];
  if (residence === undefined) return;
  const { mark } = state.masks;
  const going = state.masks.take();
  let left = 0;
  for (let word = 0; word < WORDS; word++) {
    going[word] = mask[word] & residence.backed[word];
    left |= residence.backed[word] & ~going[word] & block.inside[word];
  }
  // What lies behind the range's end is there for what lies before it.
  if (left === 0 && node.completed.delete(block)) addCompletion(block, residence, going);
  if (!isEmpty(going)) {
    releaseRuns(state, block, node, residence, going);
    forgetBacking(state, block, node.id, residence, going);
    const count = size(going);
    residence.backedCount -= count;
    node.backedPages -= count;
    node.pump = true;
  }
  state.masks.backTo(mark);
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
    const token = newToken(state, 'release', block, node.id, NO_NODE, first, end - first);
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

/**
 * Frames that something may still read or write count as the node's memory until the driver says
 * that nothing does.
 */
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
  for (let word = 0; word < WORDS; word++) {
    const bits = ~going[word];
    residence.backed[word] &= bits;
    residence.resident[word] &= bits;
    residence.scratch[word] &= bits;
  }
  for (let id = 0; id < block.mappings.length; id++) {
    const mapping = block.mappings[id];
    if (mapping === undefined || mapping.node !== node) continue;
    // What stands in for a page that is reached in place is not of this memory.
    const own = mapping.standIn !== NO_PAGES && state.processors[id]?.own === node;
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

/**
 * Keeps the block that a thread faults on from being evicted until the thread faults elsewhere,
 * which proves that it has run. Without this two threads on a small device could take each other's
 * pages for ever.
 */
export function shield(state: State, processor: Processor, thread: number, block: Block): void {
  const { slotThread, slotBlock } = processor;
  let slot = 0;
  while (slot < slotThread.length && slotThread[slot] !== thread) slot++;
  if (slot === slotThread.length) {
    slot = processor.nextSlot;
    processor.nextSlot = (slot + 1) % slotThread.length;
    slotThread[slot] = thread;
  }
  if (slotBlock[slot] === block.index) return;
  unshield(state, processor, slot);
  slotBlock[slot] = block.index;
  residenceOf(state, block, reachedBy(state, block, processor.id)).shields++;
}

function unshield(state: State, processor: Processor, slot: number): void {
  const index = processor.slotBlock[slot];
  if (index === -1) return;
  processor.slotBlock[slot] = -1;
  const block = state.va.blocks.get(index);
  const mapping = block?.mappings[processor.id];
  const residence = mapping === undefined ? undefined : block?.residences[mapping.node];
  if (residence !== undefined && residence.shields > 0) residence.shields--;
}

/** No thread of the processor runs any more. */
export function unshieldAll(state: State, processor: Processor): void {
  processor.waited = 0;
  processor.lacksRoom = false;
  for (let slot = 0; slot < processor.slotBlock.length; slot++) {
    unshield(state, processor, slot);
    processor.slotThread[slot] = -1;
  }
  const node = state.nodes[processor.own];
  if (node !== undefined) node.pump = true;
}
