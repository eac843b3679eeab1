/** Plays a trace of blocks against an eviction policy, one block brought at a time. */
import { type EvictionPolicy, PAGES_PER_BLOCK } from '../core/basics/types.js';
import type { BlockTrace } from './block-trace.js';

/**
 * How many accesses miss with room for `room` blocks. Every access is shown to the policy, as
 * samples of a processor would show it: `used` on a hit, `activate` and `used` on a miss.
 */
export function missesOf(
  policy: EvictionPolicy,
  { blocks, distinct }: BlockTrace,
  room: number,
): number {
  const here = new Uint8Array(distinct);
  const may = (block: number): boolean => here[block] === 1;
  let misses = 0;
  let count = 0;
  for (const block of blocks) {
    if (here[block] === 0) {
      misses++;
      if (count === room) {
        const victim = policy.evict(may);
        if (here[victim] !== 1)
          throw new Error(`the policy evicts block ${victim}, which is not here`);
        here[victim] = 0;
        policy.deactivate(victim);
      } else count++;
      here[block] = 1;
      policy.activate(block, PAGES_PER_BLOCK);
    }
    policy.used(block);
  }
  return misses;
}
