/** All that the manager knows, and how its parts are found. */

import { IntrusiveList } from '../basics/intrusive-list.js';
import { MaskStack } from '../basics/mask.js';
import {
  type Access,
  type Commands,
  HOST,
  HOST_NODE,
  NO_NODE,
  type NodeId,
  type ProcessorId,
  type Reason,
  type Transfer,
} from '../basics/types.js';
import type { Node } from './nodes.js';
import type { Policies, Processor } from './processors.js';
import type { TokenTable } from './tokens.js';
import {
  type Block,
  createMapping,
  createResidence,
  type Mapping,
  type Residence,
} from './va-block.js';
import { VaSpace } from './va-space.js';
import type { Request } from './work.js';

/** Numbers that are not given again yet. */
export interface Departed {
  readonly processor: ProcessorId;
  readonly node: NodeId;
}

/** A block that is to be brought ahead of a processor, with which right, and why. */
export interface BlockAhead {
  readonly block: Block;
  readonly processor: ProcessorId;
  readonly access: Access;
  readonly reason: Reason;
}

export interface State extends TokenTable {
  readonly commands: Commands;
  readonly policies: Policies;
  readonly va: VaSpace;
  readonly nodes: (Node | undefined)[];
  readonly processors: (Processor | undefined)[];
  /** Processors that have gone, and their nodes, while not all have heard of it. */
  readonly unheard: Departed[];
  readonly requests: Map<number, Request>;
  /** Blocks whose next work can be looked at. */
  readonly ready: IntrusiveList;
  /** For what a function works out of masks. */
  readonly masks: MaskStack;
  /** What is handed to the command `transfer`. */
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
  /** Advice, or a policy, has processors reach host memory in place: launches look whether theirs do. */
  inPlace: boolean;
  /** Counts requests from outside: at each, blocks whose eviction failed are tried again. */
  effort: number;
  /** Blocks that a node should lose, but its home has no room; looked at when it has. */
  readonly parked: IntrusiveList;
  /** Blocks that are to be brought ahead of processors as soon as no thread waits. */
  readonly later: BlockAhead[];
  /** Blocks on which a thread waits for room that a store, or a file, may have again soon. */
  readonly waitsForRoom: IntrusiveList;
}

export function createState(commands: Commands, policies: Policies, blockCount: number): State {
  return {
    commands,
    policies,
    va: new VaSpace(blockCount),
    nodes: [],
    processors: [],
    unheard: [],
    requests: new Map(),
    tokens: [],
    freeTokens: [],
    ready: new IntrusiveList(),
    masks: new MaskStack(),
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
      reason: null,
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
    waitsForRoom: new IntrusiveList(),
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
  const { localNode } = processorOf(state, processor);
  const made = createMapping(localNode === NO_NODE ? HOST_NODE : localNode);
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

/** Whether the processor's threads read and write host memory, and it has none of its own. */
export function usesHostMemory({ localNode }: Pick<Processor, 'localNode'>): boolean {
  return localNode === HOST_NODE || localNode === NO_NODE;
}

/**
 * Whether each page of the block is asked about before a thread of the processor gets a right to
 * it: that thread gets what it asks for, and nothing else.
 */
export function isAsked({ range }: Block, processor: Processor): boolean {
  return range.guarded && usesHostMemory(processor);
}

/** Whether the processor reaches memory in place that is not its own, for all of the block. */
export function isRemote(block: Block, { id, localNode }: Processor): boolean {
  const mapping = block.mappings[id];
  return mapping === undefined ? localNode === NO_NODE : mapping.node !== localNode;
}

export function makeReady(state: State, block: Block): void {
  state.ready.append(block.index);
}
