/**
 * S3-FIFO: a small queue filters blocks that are used once, a main queue keeps the others, and a
 * ghost queue brings back to the main one what left the small one too early (Yang et al., "FIFO
 * Queues are All You Need for Cache Eviction", SOSP 2023). S4-FIFO has the same queues with
 * parameters; these are the paper's.
 */
import type { EvictionPolicy } from '../../core/basics/types.js';
import { evictionBy } from './replacement.js';
import { fifoQueues } from './s4-fifo.js';

const PARAMETERS = {
  smallShare: 0.1,
  ghostShare: 0.9,
  skipShare: 0,
  smallToMain: 2,
  ghostToMain: 0,
};

/** S3-FIFO (Yang and others, SOSP 2023). */
export function s3Fifo(): EvictionPolicy {
  return evictionBy(fifoQueues(PARAMETERS));
}
