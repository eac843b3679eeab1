/** Eviction policies side by side on one trace of blocks, beside the optimum. */
import type { EvictionPolicy } from '../core/basics/types.js';
import type { BlockTrace } from './block-trace.js';
import { minMisses } from './min.js';
import { missesOf } from './play-blocks.js';

export interface PolicyResult {
  readonly policy: string;
  readonly misses: number;
  /** Misses over those of the optimum. */
  readonly overOptimum: number;
}

export interface RoomResult {
  readonly roomBlocks: number;
  /** Misses of Belady's MIN. */
  readonly optimum: number;
  readonly policies: readonly PolicyResult[];
}

/** @param policies makers by name; each room gets a policy of its own */
export function comparePolicies(
  trace: BlockTrace,
  policies: Readonly<Record<string, () => EvictionPolicy>>,
  rooms: readonly number[],
): RoomResult[] {
  return rooms.map((roomBlocks) => {
    const optimum = minMisses(trace, roomBlocks);
    const results = Object.entries(policies).map(([policy, make]) => {
      const misses = missesOf(make(), trace, roomBlocks);
      return { policy, misses, overOptimum: misses / optimum };
    });
    return { roomBlocks, optimum, policies: results };
  });
}
