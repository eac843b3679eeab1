/** All that the manager knows, and the small functions that keep its parts in step. */
import { FrameAllocator } from './frames.js';
import { IntrusiveList } from './intrusive-list.js';
import { bitCount, createMask, has, isEmpty, type Mask, next, nextAbsent, size, WORDS } from './mask.js';
import {
  type Access,
  type Commands,
  type DenyReason,
  type EvictionPolicy,
  HOST,
  type NodeId,
  PAGES_PER_BLOCK,
  PAGES_PER_GROUP,
  type PrefetchPolicy,
  type PrefetchRequest,
  type ProcessorDescription,
  type ProcessorId,
} from './types.js';
import { type Block, createMapping, createResidence, type Mapping, type Residence, type TaskKind } from './va-block.js';
import { VaSpace } from './va-space.js';

/** What is counted for each processor; bytes are counted in pages. */
export interface ProcessorCounters {
  readFaults: number;
  writeFaults: number;
  /** Messages about pages that were there already. */
  repeatedFaults: number;
  /** Pages copied to its node from another one. */
  pagesIn: number;
  /** Pages copied from its node to another one. */
  pagesOut: number;
  pagesZeroed: number;
  /** Pages filled by a provider such as a file. */
  pagesProvided: number;
  /** Filled from the range that theirs is a clone of. */
  pagesCloned: number;
  /** Blocks pushed out of its node for want of memory. */
  evictions: number;
  /** Pieces that its node found no memory for, though its budget allowed them. */
  refusals: number;
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

export interface Processor {
  readonly id: ProcessorId;
  readonly description: ProcessorDescription;
  state: 'alive' | 'draining' | 'dead';
  /** It died and its memory with it: what it holds by the table can be read no more. */
  gone: boolean;
  budgetPages: number;
  backedPages: number;
  peakPages: number;
  /** Pages that evictions under way will give back. */
  evictingPages: number;
  /** Hands out frames of a pooled node. */
  readonly allocator: FrameAllocator | null;
  readonly eviction: EvictionPolicy;
  readonly prefetch: PrefetchPolicy;
  /** Blocks with stale memory only: the first to go. */
  readonly unused: IntrusiveList;
  /** Blocks that wait for memory of this node, oldest first. */
  readonly waiters: IntrusiveList;
  pump: boolean;
  /** Blocks that were brought before anybody touched them, and have not been touched yet. */
  aheadBlocks: number;
  /** Blocks in which it reaches host memory in place, and those that are being made so. */
  remoteBlocks: number;
  /** Pages that stand in for denied ones in such blocks. */
  coveredPages: number;
  readonly intents: Intent[];
  readonly scratchBlocks: Set<Block>;
  readonly slotThread: Int32Array;
  readonly slotBlock: Int32Array;
  nextSlot: number;
  readonly counters: ProcessorCounters;
}

/** Something asked for over a range: it becomes one task a block, a few blocks at a time. */
export interface Request {
  readonly id: number;
  readonly kind: TaskKind;
  readonly processor: ProcessorId;
  readonly access: Access;
  readonly map: boolean;
  readonly hold: boolean;
  readonly exclusive: boolean;
  readonly ahead: boolean;
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
  kind: 'revoke' | 'transfer';
  block: Block;
  processor: ProcessorId;
  source: number;
  first: number;
  count: number;
}

export interface Policies {
  eviction(): EvictionPolicy;
  prefetch(): PrefetchPolicy;
  /** One block in so many of a device's may be brought ahead of a walk; 8 unless said otherwise, Infinity for none. */
  readonly readAheadShare?: number;
}

export interface State {
  readonly commands: Commands;
  readonly policies: Policies;
  readonly va: VaSpace;
  readonly processors: (Processor | undefined)[];
  readonly requests: Map<number, Request>;
  readonly tokens: (Token | undefined)[];
  readonly freeTokens: number[];
  /** Blocks whose next work can be looked at. */
  readonly ready: IntrusiveList;
  readonly prefetchRequest: PrefetchRequest;
  readonly allowed: Mask;
  readonly needed: Mask;
  readonly maskA: Mask;
  readonly maskB: Mask;
  readonly evictMask: Mask;
  /** Operations under way in all blocks. */
  activeOperations: number;
  /** Those of them that wait for pages from other ranges: they end only if others get on. */
  dependentOperations: number;
  /**
   * Holds whose owners were told that they have them, and which therefore end by themselves. Those of requests that still
   * gather are not counted: if only they are left, nothing ends by itself any more.
   */
  holds: number;
  /** The block that room is being made for: to drop a copy of it meanwhile would undo what was decided about its pages. */
  keep: Block | null;
  /** Runs of pages that are being copied for those who cloned them. */
  saves: number;
  /** Some advice prefers a node: victims are looked for in more than one pass. */
  preferences: boolean;
  /** Some advice has processors reach host memory in place: launches look whether theirs do. */
  inPlace: boolean;
  /** Counts what was asked for from outside: each time, blocks whose eviction kept failing are tried again. */
  effort: number;
  /** Blocks that a processor should leave, while the host has no room for them: looked at again when it has. */
  readonly parked: IntrusiveList;
}

export function createState(commands: Commands, policies: Policies, blockCount: number): State {
  return {
    commands,
    policies,
    va: new VaSpace(blockCount),
    processors: [],
    requests: new Map(),
    tokens: [],
    freeTokens: [],
    ready: new IntrusiveList(),
    prefetchRequest: {
      page: 0,
      write: false,
      occupied: createMask(),
      allowed: createMask(),
      streaming: false,
      pressed: false,
      result: createMask(),
    },
    allowed: createMask(),
    needed: createMask(),
    maskA: createMask(),
    maskB: createMask(),
    evictMask: createMask(),
    activeOperations: 0,
    dependentOperations: 0,
    holds: 0,
    keep: null,
    saves: 0,
    preferences: false,
    inPlace: false,
    effort: 0,
    parked: new IntrusiveList(),
  };
}

export function createProcessor(state: State, id: ProcessorId, description: ProcessorDescription): Processor {
  return {
    id,
    description,
    state: 'alive',
    gone: false,
    budgetPages: description.budgetPages,
    backedPages: 0,
    peakPages: 0,
    evictingPages: 0,
    allocator: description.frames === 'pooled' ? new FrameAllocator(description.budgetPages) : null,
    eviction: state.policies.eviction(),
    prefetch: state.policies.prefetch(),
    unused: new IntrusiveList(),
    waiters: new IntrusiveList(),
    pump: false,
    aheadBlocks: 0,
    remoteBlocks: 0,
    coveredPages: 0,
    intents: [],
    scratchBlocks: new Set(),
    slotThread: new Int32Array(description.units).fill(-1),
    slotBlock: new Int32Array(description.units).fill(-1),
    nextSlot: 0,
    counters: {
      readFaults: 0,
      writeFaults: 0,
      repeatedFaults: 0,
      pagesIn: 0,
      pagesOut: 0,
      pagesZeroed: 0,
      pagesProvided: 0,
      pagesCloned: 0,
      evictions: 0,
      refusals: 0,
      revocations: 0,
      denied: 0,
    },
  };
}

export function processorOf(state: State, id: ProcessorId): Processor {
  const processor = state.processors[id];
  if (processor === undefined) throw new Error(`there is no processor ${id}`);
  return processor;
}

export function mappingOf(block: Block, processor: ProcessorId): Mapping {
  return (block.mappings[processor] ??= createMapping());
}

export function residenceOf(state: State, block: Block, node: NodeId): Residence {
  const known = block.residences[node];
  if (known !== undefined) return known;
  const made = createResidence(processorOf(state, node).allocator !== null);
  block.residences[node] = made;
  return made;
}

/**
 * Whether something is under way that ends by itself, and may give memory of the node back. What waits for pages of another range
 * waits for memory of the host: it ends only if there is some there.
 */
export function somethingMoves(state: State, node: NodeId): boolean {
  const waiting = node === HOST ? state.dependentOperations : 0;
  return state.activeOperations > waiting || state.holds > 0;
}

/** Whether the processor reaches host memory in place, for all of the block. */
export function isRemote(block: Block, processor: ProcessorId): boolean {
  return ((block.remote >>> processor) & 1) !== 0;
}

/** The node that the processor's mappings of the block point to. */
export function nodeOf(block: Block, processor: ProcessorId): NodeId {
  return isRemote(block, processor) ? HOST : processor;
}

export function makeReady(state: State, block: Block): void {
  state.ready.append(block.index);
}

export function newToken(
  state: State,
  kind: Token['kind'],
  block: Block,
  processor: ProcessorId,
  source: number,
  first: number,
  count: number,
): Token {
  const spare = state.freeTokens.pop();
  if (spare === undefined) {
    const token = { id: state.tokens.length, kind, block, processor, source, first, count };
    state.tokens.push(token);
    return token;
  }
  const token = state.tokens[spare] as Token;
  token.kind = kind;
  token.block = block;
  token.processor = processor;
  token.source = source;
  token.first = first;
  token.count = count;
  return token;
}

export function endToken(state: State, token: Token): void {
  state.freeTokens.push(token.id);
}

/** Writes into `result` the pages of `mask` whose content is on no other node than `node`. */
export function onlyOn(state: State, block: Block, node: NodeId, mask: Mask, result: Mask): void {
  if (result !== mask) result.set(mask);
  for (let other = 0; other < block.residences.length; other++) {
    const residence = block.residences[other];
    // A copy in memory that is gone saves nothing.
    if (residence === undefined || other === node || state.processors[other]?.gone === true) continue;
    for (let word = 0; word < WORDS; word++) result[word] &= ~residence.resident[word];
  }
}

/**
 * The node to copy a page from, or -1 when none holds it. The host comes first: its copies cost the devices nothing. Memory
 * that is gone comes last: a caller that gets it as an answer knows that the page is lost.
 */
export function holderOf(state: State, block: Block, page: number, except: NodeId): NodeId {
  let gone = -1;
  for (let node = 0; node < block.residences.length; node++) {
    const residence = block.residences[node];
    if (residence === undefined || node === except || !has(residence.resident, page)) continue;
    if (state.processors[node]?.gone !== true) return node;
    gone = node;
  }
  return gone;
}

export function isHeld(block: Block, processor: ProcessorId): boolean {
  const mapping = block.mappings[processor];
  return mapping !== undefined && mapping.holds.length > 0;
}

/**
 * Whether another processor's hold forbids giving `processor` this access to these pages. A processor that has died keeps nothing:
 * a holder of its pages looks whether it lives before using them.
 */
export function conflictsWithHold(
  state: State,
  block: Block,
  processor: ProcessorId,
  access: Access,
  pages: Mask,
): boolean {
  for (let other = 0; other < block.mappings.length; other++) {
    const mapping = block.mappings[other];
    if (mapping === undefined || other === processor || mapping.holds.length === 0) continue;
    if (state.processors[other]?.state === 'dead') continue;
    if (isHeldAgainst(mapping, access, pages)) return true;
  }
  return false;
}

/** Whether the processor holds some of these pages in a way that does not go with the access of another one. */
export function isHeldAgainst(mapping: Mapping, access: Access, pages: Mask): boolean {
  for (const hold of mapping.holds) {
    if (hold.access !== 2 && access !== 2) continue;
    for (let word = 0; word < WORDS; word++) if ((hold.mask[word] & pages[word]) !== 0) return true;
  }
  return false;
}

/** Takes memory for the pages of `mask` that the node has none for; the caller has made sure that the budget allows it. */
export function reserve(state: State, block: Block, processor: Processor, mask: Mask, reserved: Mask): void {
  const residence = residenceOf(state, block, processor.id);
  let count = 0;
  for (let word = 0; word < WORDS; word++) {
    const bits = mask[word] & ~residence.backed[word];
    reserved[word] = bits;
    if (bits === 0) continue;
    residence.backed[word] |= bits;
    count += bitCount(bits);
  }
  if (count === 0) return;
  if (residence.frames !== null && processor.allocator !== null) {
    allocateFrames(processor.allocator, reserved, residence.frames);
  }
  residence.backedCount += count;
  processor.backedPages += count;
  if (processor.backedPages > processor.peakPages) processor.peakPages = processor.backedPages;
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
    if (page % PAGES_PER_GROUP === 0 && nextAbsent(mask, page) >= page + PAGES_PER_GROUP) chunk = PAGES_PER_GROUP;
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
 * Gives back the memory that the node has for these pages, with every mapping of them. The content is gone from the node
 * after this, so the caller has made sure that it is elsewhere, or that nobody wants it.
 */
export function releaseBacking(state: State, block: Block, processor: Processor, mask: Mask): void {
  const residence = block.residences[processor.id];
  if (residence === undefined) return;
  const going = state.maskB;
  for (let word = 0; word < WORDS; word++) going[word] = mask[word] & residence.backed[word];
  if (isEmpty(going)) return;
  const base = block.index * PAGES_PER_BLOCK;
  const { frames } = residence;
  for (let first = next(going, 0); first < PAGES_PER_BLOCK; ) {
    let end = nextAbsent(going, first);
    if (frames !== null) {
      let each = first + 1;
      while (each < end && frames[each] === frames[each - 1] + 1) each++;
      end = each;
    }
    const frame = frames === null ? base + first : frames[first];
    state.commands.release(processor.id, base + first, end - first, frame);
    if (frames !== null && processor.allocator !== null) {
      processor.allocator.release(frame, end - first);
      frames.fill(-1, first, end);
    }
    first = next(going, end);
  }
  const count = size(going);
  for (let word = 0; word < WORDS; word++) {
    const bits = ~going[word];
    residence.backed[word] &= bits;
    residence.resident[word] &= bits;
    residence.scratch[word] &= bits;
  }
  // With the memory goes every mapping of it, whichever processor had it.
  for (let id = 0; id < block.mappings.length; id++) {
    const mapping = block.mappings[id];
    if (mapping === undefined || nodeOf(block, id) !== processor.id) continue;
    // What stands in for a page that is reached in place is not of this memory.
    const covered = id === processor.id ? undefined : block.residences[id]?.scratch;
    for (let word = 0; word < WORDS; word++) {
      const kept = ~going[word] | (covered?.[word] ?? 0);
      mapping.mapped[word] &= kept;
      mapping.writable[word] &= kept;
    }
  }
  residence.backedCount -= count;
  processor.backedPages -= count;
  processor.pump = true;
}

/** The block was touched, or has gone: it is no guess any more. */
export function endAhead(block: Block, processor: Processor): void {
  const residence = block.residences[processor.id];
  if (residence === undefined || !residence.ahead) return;
  residence.ahead = false;
  processor.aheadBlocks--;
}

/** Files the block under what each node has of it: nothing, stale memory only, or content. */
export function classify(state: State, block: Block): void {
  for (let node = 0; node < block.residences.length; node++) {
    const residence = block.residences[node];
    const processor = state.processors[node];
    if (residence === undefined || processor === undefined) continue;
    if (residence.backedCount > 0 && isEmpty(residence.resident)) {
      processor.eviction.deactivate(block.index);
      if (!processor.unused.has(block.index)) processor.unused.append(block.index);
    } else if (residence.backedCount > 0) {
      processor.unused.remove(block.index);
      processor.eviction.activate(block.index);
    } else {
      processor.unused.remove(block.index);
      processor.eviction.deactivate(block.index);
      endAhead(block, processor);
    }
  }
}

/**
 * Keeps the block that a thread faults on until the thread faults elsewhere, which proves that it has run. Without this two
 * threads on a small device could take each other's pages for ever.
 */
export function protect(state: State, processor: Processor, thread: number, block: Block): void {
  const { slotThread, slotBlock } = processor;
  let slot = slotThread.indexOf(thread);
  if (slot === -1) {
    slot = processor.nextSlot;
    processor.nextSlot = (slot + 1) % slotThread.length;
    slotThread[slot] = thread;
  }
  if (slotBlock[slot] === block.index) return;
  unprotect(state, processor, slot);
  slotBlock[slot] = block.index;
  residenceOf(state, block, nodeOf(block, processor.id)).protectedBy++;
}

function unprotect(state: State, processor: Processor, slot: number): void {
  const index = processor.slotBlock[slot];
  if (index === -1) return;
  processor.slotBlock[slot] = -1;
  const block = state.va.blocks.get(index);
  const residence = block?.residences[nodeOf(block, processor.id)];
  if (residence !== undefined && residence.protectedBy > 0) residence.protectedBy--;
}

/** No thread of the processor runs any more. */
export function unprotectAll(state: State, processor: Processor): void {
  for (let slot = 0; slot < processor.slotBlock.length; slot++) {
    unprotect(state, processor, slot);
    processor.slotThread[slot] = -1;
  }
  processor.pump = true;
}
