/**
 * Reads one block ahead, so that a processor that walks finds the next block there, and several
 * where they come from a store or a GPU, which is fast only when it is asked for many at once.
 * Blocks that were brought and not entered may take a share of the node only: a guess must not push
 * out what is in use.
 */

import type { ReadAheadPolicy } from '../../core/basics/types.js';
import { type OptionNames, refuseUnknown } from '../../messages/option-names.js';
import { checkOption } from '../option-range.js';

/** Options of `next`. */
export interface NextOptions {
  /**
   * One block in so many of the node's, 1 or more, may be a guess. Unless said otherwise 4 where
   * they are only copied, since a processor that goes through several arrays at a time wants the
   * next block of each, and 8 where they come from a store or a GPU.
   */
  readonly share?: number;
  /** Blocks that are brought ahead from a store or a GPU; 6 unless said otherwise. */
  readonly stored?: number;
}

const COPIED_SHARE = 4;
const STORED_SHARE = 8;

const NEXT_OPTIONS: OptionNames<NextOptions> = { share: true, stored: true };

/**
 * The next block of a walk; from storage or a GPU up to `stored` (6) blocks. Together they take at
 * most one in `share` of the node.
 * @example
 * import { next } from 'onemem/policy';
 *
 * const request = { advised: false, nodeBlocks: 64, aheadBlocks: 0, reached: 0, stored: false };
 * console.log(next()(request), next({ stored: 3 })({ ...request, stored: true })); // 1 3
 */
export function next(options: NextOptions = {}): ReadAheadPolicy {
  refuseUnknown('OPTIONS', 'next() has no option', Object.keys(options), Object.keys(NEXT_OPTIONS));
  const { share, stored: depth = 6 } = options;
  checkOption('share of next()', share, 1, Number.POSITIVE_INFINITY, false);
  checkOption('stored of next()', depth, 0, Number.POSITIVE_INFINITY, true);
  return ({ nodeBlocks, aheadBlocks, reached, stored }) => {
    const part = share ?? (stored ? STORED_SHARE : COPIED_SHARE);
    const room = Math.max(0, Math.floor(nodeBlocks / part) - aheadBlocks);
    return Math.min(stored ? depth : 1, reached + room);
  };
}

/** Nothing comes before it is touched. */
export const noReadAhead: ReadAheadPolicy = () => 0;
