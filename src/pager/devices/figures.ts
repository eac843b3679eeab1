/** What a processor has done, in bytes. */

import { PAGE_BYTES, type ProcessorId } from '../../core/basics/types.js';
import type { MemoryManager } from '../../core/memory-manager.js';
import type { ProcessorStats } from '../protocol/space.js';

/** What a device keeps count of itself, as its statistics have it. The host launches nothing. */
export const NO_LAUNCHES = {
  launches: 0,
  joinedLaunches: 0,
  launchParts: 0,
  windowedLaunches: 0,
  pagedLaunches: 0,
  launchRounds: 0,
  plannedRounds: 0,
  pagedBytes: 0,
  pagedHomeBytes: 0,
};

export type LaunchFigures = typeof NO_LAUNCHES & {
  /** Milliseconds for which kernels ran on a GPU; left out: its driver did not tell. */
  gpuMs?: number;
};

export function figuresOf(
  manager: MemoryManager,
  id: ProcessorId,
  what: Pick<ProcessorStats, 'name' | 'kind' | 'alive'>,
  launches: LaunchFigures,
  copying: Pick<ProcessorStats, 'copyMs' | 'transfersIn'>,
): ProcessorStats {
  const { budgetPages, backedPages, peakPages, counters, ...free } = manager.figures(id);
  const { pagesIn, pagesOut, pagesZeroed, pagesProvided, pagesCloned, copies, ...counts } =
    counters;
  return {
    ...what,
    budgetBytes: budgetPages * PAGE_BYTES,
    backedBytes: backedPages * PAGE_BYTES,
    peakBytes: peakPages * PAGE_BYTES,
    ...counts,
    bytesIn: pagesIn * PAGE_BYTES,
    bytesOut: pagesOut * PAGE_BYTES,
    bytesZeroed: pagesZeroed * PAGE_BYTES,
    bytesFromFiles: pagesProvided * PAGE_BYTES,
    bytesCloned: pagesCloned * PAGE_BYTES,
    freePieces: free.freePieces,
    largestFreeBytes: free.largestFreePages * PAGE_BYTES,
    copies: copies.map((count, size) => ({ upToBytes: PAGE_BYTES << size, count })),
    ...copying,
    ...launches,
  };
}
