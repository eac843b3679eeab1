/** What a run did, by processor. */

import type { ProcessorStats, SpaceStats } from '../../index.js';
import { alignColumns } from '../../trace/recording/columns.js';
import { formatBytes, formatCount } from '../terminal/format.js';

/** For programs. Bytes are bytes, faults are those that the manager served. */
export interface ProcessorReport extends Pick<ProcessorStats, 'name' | 'kind' | Figure> {
  readonly faults: number;
}

const FIGURES = [
  ...(['readFaults', 'writeFaults', 'bytesIn', 'bytesOut', 'bytesFromFiles'] as const),
  ...(['evictions', 'peakBytes', 'budgetBytes'] as const),
];
type Figure = (typeof FIGURES)[number];

export function processorReports(stats: SpaceStats): ProcessorReport[] {
  return stats.processors.map((each) => {
    const { name, kind } = each;
    const figures = Object.fromEntries(FIGURES.map((figure) => [figure, each[figure]]));
    return { name, kind, faults: faultsOf(each), ...(figures as Pick<ProcessorStats, Figure>) };
  });
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
