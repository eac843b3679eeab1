/** What a run did, by processor. */

import type { ProcessorStats, SpaceStats } from '../index.js';
import { formatBytes, formatCount } from './format.js';

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

/** Lines of a table. */
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
  return alignColumns([['', 'faults', 'moved in', 'moved out', 'from files', 'evictions', 'peak memory'], ...rows]);
}

/** Columns of text: the first stands to the left, the others to the right. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join('  ')
      .trimEnd(),
  );
}
