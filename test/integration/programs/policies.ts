/** Policies that a test hands in. */
import type { EvictionPolicy, PrefetchPolicy, ReadAheadPolicy } from '../../../src/policy/index.js';

/** The touched page alone. */
export function single(): PrefetchPolicy {
  return ({ page, result }) => {
    result.fill(0);
    result[page >>> 5] |= 1 << (page & 31);
  };
}

/** Works until it is needed. */
export function throwing(): EvictionPolicy {
  return {
    activate: () => undefined,
    used: () => undefined,
    deactivate: () => undefined,
    evict: () => {
      throw new Error('there is no victim');
    },
  };
}

/** Needs its options. */
export function several({ blocks }: { blocks: number }): ReadAheadPolicy {
  return () => blocks;
}
