/** What a processor has done, in bytes. */

import { PAGE_BYTES, type ProcessorId } from '../../core/basics/types.js';
import type { MemoryManager } from '../../core/memory-manager.js';
import type { ProcessorStats } from '../protocol/space.js';
import type { Device } from './device.js';

/** What a device keeps count of itself. */
export type LaunchFigures = Pick<
  Device,
  | 'launched'
  | 'joinedLaunches'
  | 'launchParts'
  | 'windowedLaunches'
  | 'pagedLaunches'
  | 'launchRounds'
  | 'plannedRounds'
  | 'pagedBytes'
  | 'pagedHomeBytes'
  | 'gpuMs'
  | 'alive'
>;

/** The host launches nothing. */
export const NO_LAUNCHES: LaunchFigures = {
  launched: 0,
  joinedLaunches: 0,
  launchParts: 0,
  windowedLaunches: 0,
  pagedLaunches: 0,
  launchRounds: 0,
  plannedRounds: 0,
  pagedBytes: 0,
  pagedHomeBytes: 0,
  gpuMs: undefined,
  alive: true,
};

export function figuresOf(
  manager: MemoryManager,
  id: ProcessorId,
  name: string,
  kind: string,
  figures: LaunchFigures,
  copying: Pick<ProcessorStats, 'copyMs' | 'transfersIn'>,
): ProcessorStats {
  const { budgetPages, backedPages, peakPages, counters, ...free } = manager.figures(id);
  return {
    name,
    kind,
    budgetBytes: budgetPages * PAGE_BYTES,
    backedBytes: backedPages * PAGE_BYTES,
    peakBytes: peakPages * PAGE_BYTES,
    readFaults: counters.readFaults,
    writeFaults: counters.writeFaults,
    repeatedFaults: counters.repeatedFaults,
    bytesIn: counters.pagesIn * PAGE_BYTES,
    bytesOut: counters.pagesOut * PAGE_BYTES,
    bytesZeroed: counters.pagesZeroed * PAGE_BYTES,
    bytesFromFiles: counters.pagesProvided * PAGE_BYTES,
    bytesCloned: counters.pagesCloned * PAGE_BYTES,
    freePieces: free.freePieces,
    largestFreeBytes: free.largestFreePages * PAGE_BYTES,
    copies: counters.copies.map((count, size) => ({ upToBytes: PAGE_BYTES << size, count })),
    ...copying,
    evictions: counters.evictions,
    refusals: counters.refusals,
    revocations: counters.revocations,
    denied: counters.denied,
    launches: figures.launched,
    joinedLaunches: figures.joinedLaunches,
    launchParts: figures.launchParts,
    windowedLaunches: figures.windowedLaunches,
    pagedLaunches: figures.pagedLaunches,
    launchRounds: figures.launchRounds,
    plannedRounds: figures.plannedRounds,
    pagedBytes: figures.pagedBytes,
    pagedHomeBytes: figures.pagedHomeBytes,
    ...(figures.gpuMs === undefined ? {} : { gpuMs: figures.gpuMs }),
    alive: figures.alive,
  };
}
