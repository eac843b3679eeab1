/**
 * The uses of blocks that a recorded run showed its eviction policies, memory by memory: the
 * recording is played with the policies that it had, and what these are told is written down.
 * Touches of pages that were present are no part of it: no manager without access bits sees them.
 */

import type { EvictionPolicy, NodeDescription } from '../core/basics/types.js';
import type { Entry } from '../core/recording/recording.js';
import { replay } from '../core/recording/replay.js';
import type { Policies } from '../core/table/processors.js';
import { type BlockTrace, blockTrace } from './block-trace.js';

export interface MemoryUses {
  /** Of the memory: host, the device's name, or the store's. */
  readonly name: string;
  /** As it was recorded. */
  readonly budgetPages: number;
  readonly trace: BlockTrace;
  /** Blocks that it brought, in the recorded run. */
  readonly brought: number;
}

export function recordedUses(
  entries: readonly Entry[],
  policies: Policies,
  blockCount: number,
): MemoryUses[] {
  const spies: { uses: number[]; brought: number }[] = [];
  const spied = {
    ...policies,
    eviction: (): EvictionPolicy => {
      const spy = { uses: [] as number[], brought: 0 };
      spies.push(spy);
      return showing(policies.eviction(), spy);
    },
  };
  replay(entries, spied, blockCount);
  // Each memory that came asked for a policy of its own, in this order.
  const memories = entries.flatMap(([, event, description]) =>
    event === 'addNode' || event === 'addDevice' ? [description as NodeDescription] : [],
  );
  return spies.map(({ uses, brought }, at) => {
    const { name, budgetPages } = memories[at];
    return { name, budgetPages, trace: blockTrace(uses), brought };
  });
}

/** The same policy, which writes down what it is told. Uses in a row of one block are one. */
function showing(policy: EvictionPolicy, spy: { uses: number[]; brought: number }): EvictionPolicy {
  const here = new Set<number>();
  let last = -1;
  const use = (block: number): void => {
    if (block === last) return;
    last = block;
    spy.uses.push(block);
  };
  return {
    ...policy,
    activate(block, pages) {
      if (!here.has(block)) {
        here.add(block);
        spy.brought++;
        use(block);
      }
      policy.activate(block, pages);
    },
    used(block) {
      use(block);
      policy.used(block);
    },
    deactivate(block) {
      here.delete(block);
      policy.deactivate(block);
    },
  };
}
