/** Where all pages are: what a record of moves begins with that began after the space. */
import { next, nextAbsent } from '../basics/mask.js';
import {
  type MemorySpeed,
  type NodeId,
  PAGES_PER_BLOCK,
  type ProcessorId,
  type Source,
} from '../basics/types.js';
import type { State } from '../table/state.js';

export interface Whereabouts {
  readonly memories: readonly {
    readonly id: NodeId;
    readonly name: string;
    readonly budgetPages: number;
    /** Where they were described. */
    readonly granularityBytes?: number;
    readonly speed?: MemorySpeed;
  }[];
  /** `memory`: its own, or -1. */
  readonly processors: readonly {
    readonly id: ProcessorId;
    readonly name: string;
    readonly memory: NodeId;
  }[];
  readonly arrays: readonly {
    readonly id: number;
    readonly name: string;
    readonly first: number;
    readonly pages: number;
    readonly reserved: number;
    readonly elementBytes: number;
  }[];
  /** Runs of pages that a memory has: memory, first page, pages. */
  readonly held: readonly (readonly [NodeId, number, number])[];
  /** Those under way to one: token, memory, source, first page, pages. */
  readonly coming: readonly (readonly [number, NodeId, Source, number, number])[];
}

export function whereaboutsOf(state: State): Whereabouts {
  const memories = state.nodes.flatMap((node) =>
    node === undefined
      ? []
      : [
          {
            id: node.id,
            name: node.description.name,
            budgetPages: node.budgetPages,
            granularityBytes: node.description.granularityBytes,
            speed: node.description.speed,
          },
        ],
  );
  const processors = state.processors.flatMap((processor) =>
    processor === undefined
      ? []
      : [{ id: processor.id, name: processor.description.name, memory: processor.localNode }],
  );
  const arrays = Array.from(
    state.va.allRanges(),
    ({ id, name, first, pages, reserved, elementBytes = 1 }) => ({
      id,
      name,
      first,
      pages,
      reserved,
      elementBytes,
    }),
  );
  const coming: [number, NodeId, Source, number, number][] = [];
  const spare = new Set(state.freeTokens);
  for (const token of state.tokens) {
    if (token?.kind !== 'transfer' || spare.has(token.id)) continue;
    const { id, node, source, block, first, count } = token;
    coming.push([id, node, source, block.index * PAGES_PER_BLOCK + first, count]);
  }
  return { memories, processors, arrays, held: heldRuns(state), coming };
}

/** Runs that go on in the next block are one. */
function heldRuns(state: State): [NodeId, number, number][] {
  const runs: [NodeId, number, number][] = [];
  const last: ([NodeId, number, number] | undefined)[] = [];
  for (const block of state.va.blocks.values()) {
    for (const [node, residence] of block.residences.entries()) {
      if (residence === undefined) continue;
      const { resident } = residence;
      for (let from = next(resident, 0); from < PAGES_PER_BLOCK; ) {
        const end = nextAbsent(resident, from);
        const page = block.index * PAGES_PER_BLOCK + from;
        const before = last[node];
        if (before !== undefined && before[1] + before[2] === page) before[2] += end - from;
        else runs.push((last[node] = [node, page, end - from]));
        from = next(resident, end);
      }
    }
  }
  return runs;
}
