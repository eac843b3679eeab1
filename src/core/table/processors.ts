/** Processors: what is known of each, and what is counted. */

import type {
  EvictionPolicy,
  NodeId,
  PlacementPolicy,
  PrefetchPolicy,
  ProcessorDescription,
  ProcessorId,
  Reason,
} from '../basics/types.js';

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

/** A processor whose wait for room was refused in the launch that runs. */
export const REFUSED = Number.POSITIVE_INFINITY;

export interface Processor {
  readonly id: ProcessorId;
  readonly description: ProcessorDescription;
  /** Its own memory, where its faults bring pages; NO_NODE: it reaches host memory in place. */
  readonly localNode: NodeId;
  state: 'alive' | 'draining' | 'dead';
  readonly prefetch: PrefetchPolicy;
  readonly placement: PlacementPolicy;
  /** Blocks in which it was switched to host memory, and those that are being made so. */
  remoteBlocks: number;
  /** How often stores had no room while a thread of it waited for some. */
  waited: number;
  /** A thread of it has found no room since: others in the block may wait for something else. */
  lacksRoom: boolean;
  /** The page of its last fault that found no room; -1: the last one did. */
  stalled: number;
  /** Why so much came with its last fault. */
  reason: Reason;
  /** Pages of its own that stand in for denied ones where it reaches host memory in place. */
  coveredPages: number;
  readonly intents: Intent[];
  readonly slotThread: Int32Array;
  readonly slotBlock: Int32Array;
  nextSlot: number;
  readonly counters: ProcessorCounters;
}

export interface Policies {
  eviction(): EvictionPolicy;
  prefetch(): PrefetchPolicy;
  placement(): PlacementPolicy;
  /** Whether those look at turns, which nobody counts otherwise. */
  readonly looksAtTurns: boolean;
}

export function createProcessor(
  policies: Policies,
  id: ProcessorId,
  description: ProcessorDescription,
  localNode: NodeId,
): Processor {
  return {
    id,
    description,
    localNode,
    state: 'alive',
    prefetch: policies.prefetch(),
    placement: policies.placement(),
    remoteBlocks: 0,
    waited: 0,
    lacksRoom: false,
    stalled: -1,
    reason: 'lone',
    coveredPages: 0,
    intents: [],
    slotThread: new Int32Array(description.units).fill(-1),
    slotBlock: new Int32Array(description.units).fill(-1),
    nextSlot: 0,
    counters: { readFaults: 0, writeFaults: 0, repeatedFaults: 0, revocations: 0, denied: 0 },
  };
}
