/**
 * `onemem/policy`: the policies that decide what to bring along and what to evict, and their
 * interfaces.
 */
export type {
  BlockSpan,
  EvictionPolicy,
  Place,
  PlacementPolicy,
  PlacementRequest,
  PrefetchPolicy,
  ReadAheadPolicy,
  ReadAheadRequest,
  Reason,
  Touch,
  Wish,
} from '../core/basics/types.js';
export type { PolicyChoices, PolicyModule, PolicySet } from './choices.js';
export { arc } from './eviction/arc.js';
export { clock } from './eviction/clock.js';
export { fifo } from './eviction/fifo.js';
export { lirs } from './eviction/lirs.js';
export { lru } from './eviction/lru.js';
export type { EvictionName } from './eviction/named.js';
export { evictionBy, type Replacement } from './eviction/replacement.js';
export { s3Fifo } from './eviction/s3-fifo.js';
export { type S4FifoOptions, s4Fifo } from './eviction/s4-fifo.js';
export { sieve } from './eviction/sieve.js';
export { tournament } from './eviction/tournament.js';
export { wTinyLfu } from './eviction/w-tiny-lfu.js';
export { type NextOptions, next, noReadAhead } from './pattern/next.js';
export { none, type PatternOptions, pattern } from './pattern/pattern.js';
export { advised, migrate } from './placement/advised.js';
export { plan } from './plan/plan.js';
export { uvmEviction, uvmPlacement, uvmPrefetch } from './uvm.js';
