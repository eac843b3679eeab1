/** Counters of spaces as metrics of the package `prom-client`, an optional peer. */
import type { OptionNames } from '../../messages/option-names.js';
import type { SpaceStats } from '../../pager/protocol/space.js';
import { checkOptions, isObject, show } from '../values/arguments.js';
import { typeError } from '../values/errors.js';
import { packageMissing } from '../values/packages.js';
import { LABELS, METRICS, readingsOf } from './metrics.js';

/** What onemem knows of a `Registry` of `prom-client`. */
export interface MetricsRegistry {
  metrics(): Promise<string>;
  registerMetric(metric: never): void;
}

/** Options of `space.collectMetrics`. */
export interface MetricsOptions {
  /** A `Registry` of `prom-client`; its own `register` by default. */
  readonly register?: MetricsRegistry;
}

interface Counted {
  readonly isClosed: boolean;
  stats(): SpaceStats;
}

interface Metric {
  reset(): void;
  inc(labels: Readonly<Record<string, string>>, value: number): void;
}

type MakeMetric = new (options: {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly registers: readonly MetricsRegistry[];
  readonly collect: () => void;
}) => Metric;

interface PromClient {
  readonly Counter: MakeMetric;
  readonly Gauge: MakeMetric;
  readonly register: MetricsRegistry;
}

const METRICS_OPTIONS: OptionNames<MetricsOptions> = { register: true };
/** A variable, so that programs without the package are compiled. */
const PACKAGE: string = 'prom-client';
/** All metrics of one scrape are read from the same counters. */
const SCRAPE_MS = 50;

const registered = new WeakMap<MetricsRegistry, Map<string, Counted>>();

export async function collectMetrics(
  space: Counted,
  name: string,
  options: MetricsOptions,
): Promise<void> {
  checkOptions('collectMetrics()', options, METRICS_OPTIONS);
  const { register: given } = options;
  if (given !== undefined && !isRegistry(given))
    throw typeError('OPTIONS', `register is a Registry of ${PACKAGE}, not ${show(given)}`);
  const client = await load();
  const registry = given ?? client.register;
  let spaces = registered.get(registry);
  if (spaces === undefined) {
    spaces = new Map();
    register(client, registry, spaces);
    registered.set(registry, spaces);
  }
  spaces.set(name, space);
}

function isRegistry(value: unknown): boolean {
  return (
    isObject(value) && typeof (value as Partial<MetricsRegistry>).registerMetric === 'function'
  );
}

async function load(): Promise<PromClient> {
  try {
    const module = (await import(PACKAGE)) as PromClient & { readonly default?: PromClient };
    return module.default ?? module;
  } catch (error) {
    throw packageMissing('metrics are collected by', PACKAGE, error);
  }
}

function register(
  { Counter, Gauge }: PromClient,
  registry: MetricsRegistry,
  spaces: Map<string, Counted>,
): void {
  const readings = new Readings(spaces);
  for (const { name, type, help } of METRICS) {
    const metric: Metric = new (type === 'counter' ? Counter : Gauge)({
      ...{ name: `onemem_${name}`, help, labelNames: LABELS, registers: [registry] },
      collect() {
        metric.reset();
        for (const [labels, value] of readings.of(name)) metric.inc(labels, value);
      },
    });
  }
}

type Samples = ReturnType<typeof readingsOf>[number]['samples'];

/** What all open spaces count now. */
class Readings {
  private readAt = Number.NEGATIVE_INFINITY;
  private byMetric = new Map<string, Samples[number][]>();

  constructor(private readonly spaces: Map<string, Counted>) {}

  of(metric: string): Samples {
    if (performance.now() - this.readAt > SCRAPE_MS) this.read();
    return this.byMetric.get(metric) ?? [];
  }

  private read(): void {
    this.byMetric = new Map();
    for (const [name, space] of this.spaces) {
      if (space.isClosed) {
        this.spaces.delete(name);
        continue;
      }
      for (const { metric, samples } of readingsOf(space.stats(), name)) {
        const known = this.byMetric.get(metric.name) ?? [];
        this.byMetric.set(metric.name, [...known, ...samples]);
      }
    }
    this.readAt = performance.now();
  }
}
