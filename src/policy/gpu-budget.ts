/** The memory of a GPU whose program does not say it: a function of what there is. */
import { BLOCK_BYTES } from '../core/basics/types.js';

export interface GpuMemoryLeft {
  /** What this process can still take of the GPU's memory. */
  readonly leftBytes: number;
  /** That memory is the host's. */
  readonly isHosts: boolean;
}

/** What is the host's, in bytes: of all that it has, what arrays may take of it. */
export interface HostShare {
  readonly limit: number;
  readonly budget: number;
}

/**
 * Of what is left: buffers that are put together exist twice for a moment, WebGPU takes some for
 * copies, and other programs may want more.
 */
const SHARE = 3 / 4;
/** Of what the host has beside its arrays, where the GPU's memory is the host's. */
const SHARE_OF_HOST = 1 / 2;

/** What each of some devices on the GPU has, in whole blocks. */
export function gpuBudget(
  { leftBytes, isHosts }: GpuMemoryLeft,
  { limit, budget }: HostShare,
  devices = 1,
): number {
  const most = isHosts ? Math.max(0, limit - budget) * SHARE_OF_HOST : Number.POSITIVE_INFINITY;
  return Math.floor(Math.min(leftBytes * SHARE, most) / devices / BLOCK_BYTES) * BLOCK_BYTES;
}
