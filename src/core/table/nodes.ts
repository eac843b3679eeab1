/** Memories that hold pages: budgets, blocks that wait, and homes. */

import { IntrusiveList } from '../basics/intrusive-list.js';
import {
  type EvictionPolicy,
  HOST_NODE,
  NO_NODE,
  NO_PROCESSOR,
  type NodeDescription,
  type NodeId,
  PAGE_BYTES,
  PAGES_PER_BLOCK,
  type ProcessorId,
} from '../basics/types.js';
import { type Frames, framesOf } from './frames.js';
import { LargeGranules } from './large-granules.js';
import type { Block } from './va-block.js';

/** A page, two, four, ..., a block. */
const COPY_SIZES = Math.log2(PAGES_PER_BLOCK) + 1;

/** What is counted for each node; bytes are counted in pages. */
export interface NodeCounters {
  pagesIn: number;
  pagesOut: number;
  pagesZeroed: number;
  /** Pages filled by a provider such as a file. */
  pagesProvided: number;
  /** Filled from the range that theirs is a clone of. */
  pagesCloned: number;
  /** Blocks pushed out of it for want of memory. */
  evictions: number;
  /** Pieces that it found no memory for, though its budget allowed them. */
  refusals: number;
  /**
   * Copies from and to other nodes, by size: in each place those of up to twice as many pages as in
   * the one before, beginning with one page.
   */
  readonly copies: number[];
}

export function createNodeCounters(): NodeCounters {
  return {
    pagesIn: 0,
    pagesOut: 0,
    pagesZeroed: 0,
    pagesProvided: 0,
    pagesCloned: 0,
    evictions: 0,
    refusals: 0,
    copies: new Array<number>(COPY_SIZES).fill(0),
  };
}

export interface Node {
  readonly id: NodeId;
  readonly description: NodeDescription;
  /** Where its pages go for room; NO_NODE: only what can be had again goes. Homes form a tree. */
  home: NodeId;
  /** The processor whose own memory it is: others lose rights when pages come here. */
  owner: ProcessorId;
  state: 'alive' | 'draining' | 'dead';
  /** It died and its content with it: what it holds by the table can be read no more. */
  gone: boolean;
  /**
   * Pages of its granules (`NodeDescription.granularityBytes`), at most those of a block: by so
   * many it has memory for pages of a block, and its processor rights to them.
   */
  readonly granulePages: number;
  /**
   * Granules of several blocks, by which it gets its memory; null: they are not larger than a
   * block.
   */
  readonly large: LargeGranules | null;
  budgetPages: number;
  /** What its driver could take when it had no room within the budget; otherwise Infinity. */
  limitPages: number;
  /** What it is to have at most, and does not hold it to yet; otherwise Infinity. */
  goalPages: number;
  backedPages: number;
  peakPages: number;
  /** Pages that evictions under way, and frames in quarantine, will give back. */
  leavingPages: number;
  /** Hands out frames of a pooled node. */
  readonly allocator: Frames | null;
  /** Frames released whose driver has not said yet that nothing uses them. */
  quarantinedPages: number;
  readonly eviction: EvictionPolicy;
  /** Blocks with stale memory only: the first to go. */
  readonly unused: IntrusiveList;
  /** Blocks of which walks in strides have passed pages: these go next, the oldest first. */
  readonly passed: IntrusiveList;
  /** Blocks that wait for memory of this node, oldest first. */
  readonly waiters: IntrusiveList;
  /** It had to make room, and was not half empty since: room is made ahead. */
  pressed: boolean;
  /** Something was given back: the blocks that wait may try again. */
  pump: boolean;
  /**
   * Memory was given back that a block which needs some could have had before: an operation had
   * taken it and found nothing to put in, or what was in it has a copy elsewhere, or can be made
   * again. Threads that wait for room of a full store are not tried again for it: they gave it back
   * themselves, or others of them did, and would have each other do so for ever.
   */
  spare: boolean;
  /** Blocks that were brought before a thread touched them, and have not been touched yet. */
  aheadBlocks: number;
  /** Blocks that its policy may still want before they are used, until something happens. */
  wishes: number;
  /** The block that a processor faulted on last; -1: none yet. */
  lastUsed: number;
  /** Blocks of the launch that gathers what it needs here, the last to go; null: none does. */
  expected: ReadonlySet<number> | null;
  readonly scratchBlocks: Set<Block>;
  /** Blocks of which it has memory behind their range's end, too. */
  readonly completed: Set<Block>;
  readonly counters: NodeCounters;
}

export function createNode(
  id: NodeId,
  description: NodeDescription,
  home: NodeId,
  eviction: EvictionPolicy,
): Node {
  const { budgetPages, granularityBytes = PAGE_BYTES, frames } = description;
  const wholePages = granularityBytes / PAGE_BYTES;
  const granulePages = Math.min(wholePages, PAGES_PER_BLOCK);
  const large =
    wholePages > PAGES_PER_BLOCK ? new LargeGranules(wholePages / PAGES_PER_BLOCK) : null;
  return {
    id,
    description,
    home,
    owner: NO_PROCESSOR,
    state: 'alive',
    gone: false,
    granulePages,
    large,
    budgetPages,
    limitPages: Number.POSITIVE_INFINITY,
    goalPages: Number.POSITIVE_INFINITY,
    backedPages: 0,
    peakPages: 0,
    leavingPages: 0,
    allocator: frames === 'pooled' ? framesOf(budgetPages, wholePages) : null,
    quarantinedPages: 0,
    eviction,
    unused: new IntrusiveList(),
    passed: new IntrusiveList(),
    waiters: new IntrusiveList(),
    pressed: false,
    pump: false,
    spare: false,
    aheadBlocks: 0,
    wishes: 0,
    lastUsed: -1,
    expected: null,
    scratchBlocks: new Set(),
    completed: new Set(),
    counters: createNodeCounters(),
  };
}

/** The most written pages that there can be: what the host holds, and what it can send on. */
export function capacityOf(nodes: readonly (Node | undefined)[]): number {
  let pages = 0;
  for (let id = HOST_NODE; id !== NO_NODE; ) {
    const node = nodes[id];
    if (node === undefined) break;
    if (node.state === 'alive') pages += node.budgetPages;
    id = node.home;
  }
  return pages;
}

export function isWithinBudget({ backedPages, budgetPages }: Node): boolean {
  return backedPages <= budgetPages;
}
