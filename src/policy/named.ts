/** Policies by name, as a space is opened with them and as a recording states them. */
import type { Policies } from '../core/state.js';
import { lru } from './eviction/lru.js';
import { none, tree } from './prefetch/tree.js';

/** What a fault brings along: 'tree' unless said otherwise, 'none' the touched page alone, or a tree of another density. */
export type PrefetchName = 'tree' | 'none' | { readonly thresholdPercent: number };

export function policiesOf(prefetch: PrefetchName = 'tree'): Policies {
  if (prefetch === 'none') {
    // Who asks for single pages does not want blocks ahead of them either.
    return { eviction: lru, prefetch: () => none, readAheadShare: Number.POSITIVE_INFINITY };
  }
  return { eviction: lru, prefetch: () => tree(prefetch === 'tree' ? {} : prefetch) };
}
