/** `onemem/policy`: the policies that decide what to bring along and what to evict, and their interfaces. */
export type {
  EvictionPolicy,
  PlacementPolicy,
  PlacementRequest,
  PrefetchPolicy,
  PrefetchRequest,
  ReadAheadPolicy,
  ReadAheadRequest,
} from '../core/types.js';
export type { PolicyChoices, PolicyModule } from './choices.js';
export { adaptive } from './eviction/adaptive.js';
export { fifo } from './eviction/fifo.js';
export { lru } from './eviction/lru.js';
export { advised, migrate } from './placement/advised.js';
export { none, type TreeOptions, tree } from './prefetch/tree.js';
export { type NextOptions, next, noReadAhead } from './read-ahead/next.js';
