/** Eviction policies by the names that programs and commands know them by. */
import type { EvictionPolicy } from '../../core/basics/types.js';
import { plan } from '../plan/plan.js';
import { uvmEviction } from '../uvm.js';
import { arc } from './arc.js';
import { clock } from './clock.js';
import { fifo } from './fifo.js';
import { lirs } from './lirs.js';
import { lru } from './lru.js';
import { s3Fifo } from './s3-fifo.js';
import { s4Fifo } from './s4-fifo.js';
import { sieve } from './sieve.js';
import { tournament } from './tournament.js';
import { wTinyLfu } from './w-tiny-lfu.js';

export const EVICTION_POLICIES = {
  plan: () => plan(),
  tournament,
  lru,
  fifo,
  clock,
  sieve,
  's3-fifo': s3Fifo,
  's4-fifo': () => s4Fifo(),
  arc,
  lirs,
  'w-tinylfu': wTinyLfu,
  uvm: uvmEviction,
} as const satisfies Record<string, () => EvictionPolicy>;

export type EvictionName = keyof typeof EVICTION_POLICIES;
