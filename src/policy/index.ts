/** `onemem/policy`: the policies that decide what to bring along and what to evict, and their interfaces. */
export type { EvictionPolicy, PrefetchPolicy, PrefetchRequest } from '../core/types.js';
export { lru } from './eviction/lru.js';
export { none, type TreeOptions, tree } from './prefetch/tree.js';
