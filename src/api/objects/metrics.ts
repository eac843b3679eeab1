/** Counters of a space as text of Prometheus (version 0.0.4), for a program's /metrics. */
import type {
  ProcessorStats,
  ServerStats,
  SlowMemoryStats,
  SpaceStats,
  StorageStats,
} from '../../pager/protocol/space.js';

type Labels = Readonly<Record<string, string>>;

interface Metric<T> {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  /** What is counted, or samples, of which a metric with several labels has some. */
  readonly of: keyof T | ((from: T) => readonly (readonly [number, Labels?])[]);
}

const metric =
  (type: 'counter' | 'gauge') =>
  <T>(name: string, help: string, of: Metric<T>['of']): Metric<T> => ({ name, type, help, of });
const counter = metric('counter');
const gauge = metric('gauge');

const PROCESSOR: readonly Metric<ProcessorStats>[] = [
  gauge('processor_up', '1 while the processor lives.', 'alive'),
  counter('faults_total', 'Page faults that were served.', ({ readFaults, writeFaults }) => [
    [readFaults, { access: 'read' }],
    [writeFaults, { access: 'write' }],
  ]),
  counter('faults_denied_total', 'Accesses that were denied.', 'denied'),
  counter('bytes_in_total', 'Bytes that came to its memory, by their source.', (each) => [
    [each.bytesIn, { source: 'memory' }],
    [each.bytesFromFiles, { source: 'file' }],
    [each.bytesZeroed, { source: 'zero' }],
    [each.bytesCloned, { source: 'clone' }],
  ]),
  counter('bytes_out_total', 'Bytes copied from its memory to another one.', 'bytesOut'),
  counter('copies_total', 'Copies from and to its memory, by size.', ({ copies }) =>
    copies.map(({ upToBytes, count }) => [count, { up_to_bytes: String(upToBytes) }] as const),
  ),
  counter('copy_seconds_total', 'Time of these copies.', ({ copyMs }) => [[copyMs / 1000]]),
  counter('transfers_in_total', 'Transfers that brought copies.', 'transfersIn'),
  gauge('memory_free_pieces', 'Pieces that its free memory lies in.', 'freePieces'),
  gauge('memory_largest_free_bytes', 'The largest of these pieces.', 'largestFreeBytes'),
  counter('evictions_total', 'Blocks of 2 MiB pushed out of its memory.', 'evictions'),
  counter('revocations_total', 'Times that access was taken from it.', 'revocations'),
  counter('launches_total', 'Launches.', 'launches'),
  gauge('memory_budget_bytes', 'The most memory that it may have.', 'budgetBytes'),
  gauge('memory_bytes', 'Memory that it has.', 'backedBytes'),
  gauge('memory_peak_bytes', 'The most memory that it had.', 'peakBytes'),
];

type AnyStore = SlowMemoryStats | StorageStats | ServerStats;

const STORE: readonly Metric<AnyStore>[] = [
  gauge('store_budget_bytes', 'The most bytes that the store may hold.', 'budgetBytes'),
  gauge('store_bytes', 'Bytes of pages in the store.', 'heldBytes'),
  counter('store_written_bytes_total', 'Bytes written to the store.', 'bytesWritten'),
  counter('store_read_bytes_total', 'Bytes read from the store.', 'bytesRead'),
  gauge('store_full', '1 if the last write failed.', 'full'),
];

const SPACE: readonly Metric<SpaceStats>[] = [
  gauge('arrays', 'Arrays that have not been freed.', 'ranges'),
  gauge('allocated_bytes', 'Bytes of arrays.', 'allocatedBytes'),
  gauge('pinned_bytes', 'Bytes that stay in host memory.', 'pinnedBytes'),
  counter('manager_cpu_seconds_total', "Time that the manager's thread ran.", ({ managerMs }) => [
    [managerMs / 1000],
  ]),
  gauge('notifiers', 'Subscriptions that have not ended.', 'notifiers'),
];

/** All metrics, whatever their samples are read from. */
export const METRICS: readonly Pick<Metric<never>, 'name' | 'type' | 'help'>[] = [
  ...PROCESSOR,
  ...STORE,
  ...SPACE,
];
/** Of these each metric has some. */
export const LABELS = ['space', 'processor', 'kind', 'store', 'access', 'source', 'up_to_bytes'];

/** What a metric says now. */
interface Reading {
  readonly metric: Pick<Metric<never>, 'name' | 'type' | 'help'>;
  readonly samples: readonly (readonly [Labels, number])[];
}

/** @param space its name, which tells it from others of the program */
export function readingsOf(stats: SpaceStats, space: string): Reading[] {
  const processors = stats.processors.map(
    (each) => [each, { processor: each.name, kind: each.kind }] as const,
  );
  const stores: (readonly [AnyStore, Labels])[] = [];
  if (stats.slowMemory !== null) stores.push([stats.slowMemory, { store: 'memory' }]);
  if (stats.storage !== null) stores.push([stats.storage, { store: 'storage' }]);
  if (stats.behind !== null) stores.push([stats.behind, { store: stats.behind.kind }]);
  return [
    ...readings(PROCESSOR, processors, space),
    ...readings(STORE, stores, space),
    ...readings(SPACE, [[stats, {}]], space),
  ];
}

export function metricsText(stats: SpaceStats, space: string): string {
  return readingsOf(stats, space)
    .flatMap(({ metric: { name, type, help }, samples }) => [
      `# HELP onemem_${name} ${help}`,
      `# TYPE onemem_${name} ${type}`,
      ...samples.map(([labels, value]) => `onemem_${name}{${labelText(labels)}} ${value}`),
    ])
    .map((line) => `${line}\n`)
    .join('');
}

function readings<T>(
  metrics: readonly Metric<T>[],
  all: readonly (readonly [T, Labels])[],
  space: string,
): Reading[] {
  if (all.length === 0) return [];
  return metrics.map((metric) => ({
    metric,
    samples: all.flatMap(([from, own]) =>
      samplesOf(from, metric.of).map(
        ([value, more]) => [{ space, ...own, ...more }, value] as const,
      ),
    ),
  }));
}

function samplesOf<T>(from: T, of: Metric<T>['of']): readonly (readonly [number, Labels?])[] {
  return typeof of === 'function' ? of(from) : [[Number(from[of])]];
}

function labelText(labels: Labels): string {
  const escaped = (value: string): string =>
    value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join();
}
