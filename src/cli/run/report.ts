/** What a run did, by processor. */

import type { ProcessorStats, SpaceStats } from '../../index.js';
import { alignColumns } from '../../trace/recording/columns.js';
import { formatBytes, formatCount } from '../terminal/format.js';

/** For programs. Bytes are bytes, faults are those that the manager served. */
export interface ProcessorReport {
  readonly name: string;
  readonly kind: string;
  readonly faults: number;
  readonly readFaults: number;
  readonly writeFaults: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly bytesFromFiles: number;
  readonly evictions: number;
  readonly peakBytes: number;
  readonly budgetBytes: number;
}

export function processorReports(stats: SpaceStats): ProcessorReport[] {
  return stats.processors.map((each) => ({
    name: each.name,
    kind: each.kind,
    faults: faultsOf(each),
    readFaults: each.readFaults,
    writeFaults: each.writeFaults,
    bytesIn: each.bytesIn,
    bytesOut: each.bytesOut,
    bytesFromFiles: each.bytesFromFiles,
    evictions: each.evictions,
    peakBytes: each.peakBytes,
    budgetBytes: each.budgetBytes,
  }));
}

export function faultsOf(stats: ProcessorStats): number {
  return stats.readFaults + stats.writeFaults;
}

export function processorTable(reports: readonly ProcessorReport[]): string[] {
  const rows = reports.map((each) => [
    each.name,
    formatCount(each.faults),
    formatBytes(each.bytesIn),
    formatBytes(each.bytesOut),
    formatBytes(each.bytesFromFiles),
    formatCount(each.evictions),
    `${formatBytes(each.peakBytes)} of ${formatBytes(each.budgetBytes)}`,
  ]);
  return alignColumns([
    ['', 'faults', 'moved in', 'moved out', 'from files', 'evictions', 'peak memory'],
    ...rows,
  ]);
}
