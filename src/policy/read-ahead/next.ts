/**
 * Reads one block ahead, so that a processor that walks finds the next block there. Blocks that were brought and not entered may take a
 * share of the node only: a guess must not push out what is in use.
 */
import { type OptionNames, refuseUnknown } from '../../core/option-names.js';
import type { ReadAheadPolicy } from '../../core/types.js';

export interface NextOptions {
  /** One block in so many of the node's may be a guess; 8 unless said otherwise. */
  readonly share?: number;
}

const NEXT_OPTIONS: OptionNames<NextOptions> = { share: true };

export function next(options: NextOptions = {}): ReadAheadPolicy {
  refuseUnknown('OPTIONS', 'next() has no option', Object.keys(options), Object.keys(NEXT_OPTIONS));
  const { share = 8 } = options;
  return ({ nodeBlocks, aheadBlocks }) => ((aheadBlocks + 1) * share <= nodeBlocks ? 1 : 0);
}

/** Nothing comes before it is touched. */
export const noReadAhead: ReadAheadPolicy = () => 0;
