/** What programs have said about their use of memory, block by block. */

import {
  type Advice,
  NO_NODE,
  type NodeId,
  PAGES_PER_BLOCK,
  type ProcessorId,
} from '../basics/types.js';
import type { Range } from '../table/range.js';
import type { State } from '../table/state.js';

/**
 * Changes the advice for whole blocks of a range, those around the pages: also behind the last
 * page, by which the range may grow. It moves nothing and takes nothing from anybody.
 */
export function changeAdvice(
  state: State,
  range: Range,
  first: number,
  end: number,
  change: (advice: Advice) => Advice,
): void {
  const runs: [number, number, Advice][] = [];
  const begin = first - (first % PAGES_PER_BLOCK);
  const limit = Math.ceil(end / PAGES_PER_BLOCK) * PAGES_PER_BLOCK;
  range.advice.each(begin, limit, (from, to, advice) => {
    const changed = change(advice);
    if (changed !== advice) runs.push([from, to, changed]);
  });
  for (const [from, to, advice] of runs) {
    range.advice.set(from, to, advice);
    if (advice.preferred !== -1) state.preferences = true;
    if (advice.accessedBy !== 0) state.inPlace = true;
    for (let page = from; page < to; page += PAGES_PER_BLOCK) {
      const block = state.va.blocks.get(Math.floor((range.first + page) / PAGES_PER_BLOCK));
      // Of a range that has gone another one may have some of the addresses by now.
      if (block?.range === range) block.advice = advice;
    }
  }
}

/** The same advice, without what it says of processors and nodes that have left meanwhile. */
export function aboutKnown({ nodes, processors }: State, change: Partial<Advice>): Partial<Advice> {
  const { preferred, accessedBy } = change;
  let known = accessedBy ?? 0;
  for (let id = 0; known >>> id !== 0; id++) if (processors[id] === undefined) known &= ~(1 << id);
  return {
    ...change,
    ...(preferred !== undefined && preferred !== NO_NODE && nodes[preferred] === undefined
      ? { preferred: NO_NODE }
      : {}),
    ...(accessedBy === undefined ? {} : { accessedBy: known }),
  };
}

/** Processor and node have gone: advice for them must not count for their numbers' next owners. */
export function forgetAdvised(state: State, processor: ProcessorId, node: NodeId): void {
  if (!state.preferences && !state.inPlace) return;
  // Blocks of a range that has gone are there until what is under way in them has ended.
  const ranges = new Set(state.va.allRanges());
  for (const block of state.va.blocks.values()) ranges.add(block.range);
  const bit = processor < 0 ? 0 : 1 << processor;
  for (const range of ranges) {
    changeAdvice(state, range, 0, range.reserved, (advice) => {
      const { preferred, accessedBy } = advice;
      const homeless = node !== NO_NODE && preferred === node;
      if (!homeless && (accessedBy & bit) === 0) return advice;
      return {
        ...advice,
        preferred: homeless ? NO_NODE : preferred,
        accessedBy: accessedBy & ~bit,
      };
    });
  }
}
