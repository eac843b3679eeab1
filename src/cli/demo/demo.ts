/** `onemem demo`: three million flights on a device with memory for a fifth, every bit checked. */

import { fileURLToPath } from 'node:url';
import { type Kind, plainKinds, rulesOf } from '../../api/options/described-devices.js';
import { enumerated } from '../../api/values/arguments.js';
import {
  type AddressSpace,
  type Device,
  type DeviceSpecification,
  type ManagedArray,
  openSpace,
} from '../../index.js';
import { loadKernelFile } from '../run/kernel-file.js';
import { launchInParts, partsOf } from '../run/launch.js';
import { faultsOf, type ProcessorReport, processorReports, processorTable } from '../run/report.js';
import { ARRAY_TYPES } from '../run/run-arrays.js';
import { defineCommand } from '../terminal/command.js';
import { CommandError, UsageError } from '../terminal/failure.js';
import { formatBytes, formatCount, formatDuration } from '../terminal/format.js';
import { endOnSignals } from '../terminal/interrupt.js';
import { sizeInBytes } from '../terminal/options.js';
import { print } from '../terminal/output.js';
import { createProgress } from '../terminal/progress.js';
import {
  DEMO_PACKAGES,
  type DemoColumn,
  type DemoData,
  demoColumns,
  demoFile,
  type FlightSummary,
  firstDifference,
  prepareDemoData,
  readColumnPlainly,
  summarizeFlights,
} from './demo-data.js';
import { deviationOf, type Flights, flightsOnGpu, mapForGpu } from './demo-gpu.js';

const DEFAULT_MEMORY = 32 * 2 ** 20;

const INPUTS = (Object.keys(demoColumns) as DemoColumn[]).filter((column) => column !== 'delay');
const RESULTS = ['difference', 'bearing', 'cell'] as const;

const PARTS = 64;

/** How the flights are computed by devices of a kind. */
interface Way {
  /** Of the results of a flight, with the room that the device needs for them. */
  readonly resultBytes: number;
  map(space: AddressSpace, data: DemoData, column: DemoColumn): ManagedArray;
  run(
    space: AddressSpace,
    device: Device,
    inputs: Readonly<Record<string, ManagedArray>>,
    rows: number,
    silent: boolean,
  ): Promise<Flights>;
  /** What the device did for want of room. */
  paging(used: ProcessorReport, parts: number): string;
  /** That the result is right, and by what measure; throws where it is not. */
  verdict(found: Flights, expected: Flights, data: DemoData): string;
}

const WAYS: Readonly<Record<string, Way>> = {
  process: {
    resultBytes: 10,
    map: mapColumn,
    run: flightsOnProcess,
    paging: ({ faults }) => `It touched pages that it did not have ${formatCount(faults)} times`,
    verdict(found, expected, { rows }) {
      refuseWrong(found, expected);
      return `every bit of ${formatCount(rows * RESULTS.length)} values is what a plain loop over plain arrays gives`;
    },
  },
  webgpu: {
    resultBytes: 12,
    map: mapForGpu,
    run: flightsOnGpu,
    paging: (_used, parts) => `The launch was cut into ${formatCount(parts)} parts`,
    verdict(found, expected, data) {
      const distance = readColumnPlainly(data, 'distance') as Int32Array;
      const most = deviationOf(found, expected, distance).toFixed(3);
      return `all ${formatCount(data.rows)} flights end within ${most} miles of where a plain loop over plain arrays, in 64 bits, has them end`;
    },
  },
};

export const command = defineCommand({
  name: 'demo',
  usage: '[options]',
  summary: 'run a kernel over three million flights, and check the result',
  text: `Three million flights within the United States, January to June 2001 (Bureau of Transportation
Statistics, from the npm package vega-datasets). The kernel computes distance, direction and hour of
each (examples/flights/kernel.js). Plain typed arrays compute the same, and every bit is compared.
It ends with 1 if a bit differs. A clone has all that it needs; otherwise:
${DEMO_PACKAGES}

  --device KIND          process (default), or webgpu: a GPU by examples/flights/kernel.wgsl, which
                         needs npm install webgpu wesl, and computes in 32 bits
  --device-memory SIZE   memory of the device (${formatBytes(DEFAULT_MEMORY)})
  --json                 one JSON object on standard output
  -h, --help

Examples
  onemem demo
  onemem demo --device-memory 8MiB
  onemem demo --device webgpu`,
  options: {
    device: { type: 'string' },
    'device-memory': { type: 'string' },
    json: { type: 'boolean' },
  },
  async main(values) {
    const kinds = plainKinds().filter((each) => Object.hasOwn(WAYS, each));
    const kind =
      values.device === undefined ? kinds[0] : kinds.find((each) => each === values.device);
    if (kind === undefined)
      throw new UsageError(
        `--device is '${values.device}'; there are ${enumerated(kinds)}; see: onemem demo --help`,
      );
    const least = rulesOf(kind).leastMemory(1);
    const memory = sizeInBytes('device-memory', values['device-memory'], least) ?? DEFAULT_MEMORY;
    const json = values.json ?? false;
    const say = (line: string): void => {
      if (!json) print(line);
    };
    using _signals = endOnSignals(() => 'nothing is left behind');
    const data = await prepare(json);
    try {
      return await show(data, { kind, memory }, json, say);
    } finally {
      data.cleanUp();
    }
  },
});

async function prepare(silent: boolean): Promise<DemoData> {
  using progress = createProgress({
    label: 'preparing the data, once',
    total: 3_000_000,
    silent,
  });
  return await prepareDemoData({ onProgress: (rows) => progress.update(rows) });
}

async function show(
  data: DemoData,
  wanted: { readonly kind: Kind; readonly memory: number },
  json: boolean,
  say: (line: string) => void,
): Promise<number> {
  const { rows } = data;
  await using space = await openSpace({ devices: [wanted as DeviceSpecification] });
  const [device] = space.devices;
  const way = WAYS[wanted.kind];
  const inputs = Object.fromEntries(INPUTS.map((column) => [column, way.map(space, data, column)]));
  const results = way.resultBytes * rows;
  const bytes = Object.values(inputs).reduce((sum, each) => sum + each.byteLength, results);
  say(
    `${formatCount(rows)} flights: ${formatBytes(bytes)} of arrays on a device that has ${formatBytes(device.memory)} of memory.`,
  );

  const started = performance.now();
  const found = await way.run(space, device, inputs, rows, json);
  const runMs = performance.now() - started;
  const processors = processorReports(space.stats());
  say(
    `It ran in ${formatDuration(runMs)}, and no line of the kernel or of this program moves a page. What happened:`,
  );
  for (const line of processorTable(processors)) say(`  ${line}`);
  const used = processors[1];
  say(explainFigures(used, bytes, way.paging(used, device.stats().launchParts)));

  const plainStarted = performance.now();
  const expected = await computePlainly(data);
  const plainMs = performance.now() - plainStarted;
  refuseOverBudget(used);
  const verdict = way.verdict(found, expected, data);
  say(`The result is right: ${verdict} (${formatDuration(plainMs)}).`);

  const findings = summarizeFlights(
    found.cell,
    found.difference,
    readColumnPlainly(data, 'delay') as Int32Array,
  );
  say(explainFindings(findings));
  if (json) {
    const figures = {
      flights: rows,
      bytes,
      deviceBytes: device.memory,
      runMs,
      plainMs,
      correct: true,
    };
    print(JSON.stringify({ ...figures, processors, findings }));
  } else if (!data.temporary) {
    say(
      `\nThe columns lie in ${data.folder} as .npy files; 'onemem run --help' tells how to run a kernel of your own over them.`,
    );
  }
  return 0;
}

async function flightsOnProcess(
  space: AddressSpace,
  device: Device,
  inputs: Readonly<Record<string, ManagedArray>>,
  rows: number,
  silent: boolean,
): Promise<Flights> {
  const difference = space.array(Float32Array, rows, { name: 'difference' });
  const bearing = space.array(Float32Array, rows, { name: 'bearing' });
  const cell = space.array(Uint16Array, rows, { name: 'cell' });
  const kernel = await loadKernelFile(fileURLToPath(demoFile('kernel.js')));
  using progress = createProgress({ label: 'flights', total: rows, silent });
  await launchInParts(
    device,
    kernel,
    { ...inputs, difference, bearing, cell },
    {
      size: rows,
      parts: partsOf(rows, PARTS),
      onProgress: (done) =>
        progress.update(done, () => `${formatCount(faultsOf(device.stats()))} faults`),
    },
  );
  return { difference: difference.data, bearing: bearing.data, cell: cell.data };
}

/** Nothing is read yet: the pages come when the device touches them. */
function mapColumn(space: AddressSpace, data: DemoData, column: DemoColumn): ManagedArray {
  const { path, layout } = data.files[column];
  return space.fileArray(ARRAY_TYPES[layout.dtype], path, {
    byteOffset: layout.dataOffset,
    length: layout.length,
    name: column,
  });
}

/** The same function, called once over ordinary arrays; nothing of onemem takes part. */
async function computePlainly(data: DemoData): Promise<Flights> {
  const module = (await import(demoFile('kernel.js').href)) as {
    default: { kernel(args: object, range: { begin: number; end: number }): void };
  };
  const results: Flights = {
    difference: new Float32Array(data.rows),
    bearing: new Float32Array(data.rows),
    cell: new Uint16Array(data.rows),
  };
  const inputs = Object.fromEntries(
    INPUTS.map((column) => [column, readColumnPlainly(data, column)]),
  );
  module.default.kernel({ ...inputs, ...results }, { begin: 0, end: data.rows });
  return results;
}

function refuseWrong(found: Flights, expected: Flights): void {
  for (const name of RESULTS) {
    const difference = firstDifference(found[name], expected[name]);
    if (difference === null) continue;
    const { index, count, a, b } = difference;
    throw new CommandError(
      'WRONG_RESULT',
      `the result is WRONG: ${name} differs from the plain computation in ${formatCount(count)} elements, first at ${index} ` +
        `(${a}, and should be ${b}); please report this with the output of 'onemem doctor'`,
    );
  }
}

function refuseOverBudget(used: ProcessorReport): void {
  if (used.peakBytes <= used.budgetBytes) return;
  throw new CommandError(
    'BUDGET',
    `the device took ${used.peakBytes} bytes, more than the ${used.budgetBytes} that it has`,
  );
}

function explainFigures(used: ProcessorReport, bytes: number, paging: string): string {
  const times = (bytes / used.budgetBytes).toFixed(1);
  return (
    `The arrays are ${times} times as large as the device. ` +
    `${paging}; ${formatBytes(used.bytesIn + used.bytesFromFiles)} came in, ${formatBytes(used.bytesOut)} of results went home to make room ` +
    `(${formatCount(used.evictions)} evictions), and it never held more than ${formatBytes(used.peakBytes)}.`
  );
}

function explainFindings({ directions, worstHour, meanDifferenceMiles }: FlightSummary): string {
  const byDelay = [...directions].sort((a, b) => a.meanDelayMinutes - b.meanDelayMinutes);
  const best = byDelay[0];
  const worst = byDelay[byDelay.length - 1];
  const { hour, meanDelayMinutes } = worstHour;
  return (
    `What the flights tell: those to the ${worst.direction} were ${worst.meanDelayMinutes.toFixed(1)} minutes late on average, those to ` +
    `the ${best.direction} ${best.meanDelayMinutes.toFixed(1)}; those that left after ${hour} h, ${meanDelayMinutes.toFixed(1)}. ` +
    `Reported distances are within ${meanDifferenceMiles.toFixed(2)} miles of the great circle on average.`
  );
}
