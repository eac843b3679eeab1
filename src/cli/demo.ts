/** `onemem demo`: three million flights on a device that has memory for a fifth of them, checked bit by bit. */

import { fileURLToPath } from 'node:url';
import { type AddressSpace, type ManagedArray, openSpace } from '../index.js';
import { ARRAY_TYPES } from './array-types.js';
import {
  type DemoColumn,
  type DemoData,
  demoColumns,
  demoKernel,
  type FlightSummary,
  firstDifference,
  prepareDemoData,
  readColumnPlainly,
  summarizeFlights,
} from './demo-data.js';
import { CommandError, UsageError } from './failure.js';
import { formatBytes, formatCount, formatDuration } from './format.js';
import { endOnSignals } from './interrupt.js';
import { loadKernelFile } from './kernel-file.js';
import { launchInParts, partsOf } from './launch.js';
import { parseOptions, sizeInBytes } from './options.js';
import { print } from './output.js';
import { createProgress } from './progress.js';
import { faultsOf, type ProcessorReport, processorReports, processorTable } from './report.js';

export const DEMO_SUMMARY = 'run a kernel over three million flights on a small device, and check the result';

const DEFAULT_MEMORY = 32 * 2 ** 20;

export const DEMO_HELP = `onemem demo [--device-memory SIZE] [--json]: ${DEMO_SUMMARY}

Flights within the United States, January to June 2001 (Bureau of Transportation Statistics), as the npm package vega-datasets
carries them, joined with the airports' places. The kernel, examples/flights/kernel.js, computes for each flight the great-circle
distance, how far the reported distance is from it, the compass direction and the hour. The same computation on plain typed arrays
then tells whether every bit of the result is right; it ends with 1 if one is not.

  --device-memory SIZE   the device's memory (${formatBytes(DEFAULT_MEMORY)})
  --json                 one JSON object on standard output, for programs
  -h, --help

Examples
  onemem demo
  onemem demo --device-memory 8MiB`;

const INPUTS = (Object.keys(demoColumns) as DemoColumn[]).filter((column) => column !== 'delay');
const RESULTS = ['difference', 'bearing', 'cell'] as const;

interface Results {
  readonly difference: Float32Array;
  readonly bearing: Float32Array;
  readonly cell: Uint16Array;
}

const PARTS = 64;

export async function demo(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseOptions('demo', args, {
    'device-memory': { type: 'string' },
    json: { type: 'boolean' },
  });
  if (positionals.length > 0) {
    throw new UsageError(`onemem demo takes no arguments (${positionals.join(' ')}); see: onemem demo --help`);
  }
  const memory = sizeInBytes('device-memory', values['device-memory']) ?? DEFAULT_MEMORY;
  const json = values.json ?? false;
  const say = (line: string): void => {
    if (!json) print(line);
  };
  using _signals = endOnSignals(() => 'nothing is left behind');
  const data = await prepare(json);
  try {
    return await show(data, memory, json, say);
  } finally {
    data.cleanUp();
  }
}

async function prepare(silent: boolean): Promise<DemoData> {
  using progress = createProgress({ label: 'preparing the data, once', total: 3_000_000, unit: 'count', silent });
  return await prepareDemoData({ onProgress: (rows) => progress.update(rows) });
}

async function show(data: DemoData, memory: number, json: boolean, say: (line: string) => void): Promise<number> {
  const { rows } = data;
  await using space = await openSpace({ devices: [{ kind: 'process', memory }] });
  const [device] = space.devices;
  const inputs = Object.fromEntries(INPUTS.map((column) => [column, mapColumn(space, data, column)]));
  const results = {
    difference: space.array(Float32Array, rows, { name: 'difference' }),
    bearing: space.array(Float32Array, rows, { name: 'bearing' }),
    cell: space.array(Uint16Array, rows, { name: 'cell' }),
  };
  const bytes = [...Object.values(inputs), ...Object.values(results)].reduce((sum, each) => sum + each.byteLength, 0);
  say(
    `${formatCount(rows)} flights: ${formatBytes(bytes)} of arrays on a device that has ${formatBytes(device.memory)} of memory.`,
  );

  const kernel = await loadKernelFile(fileURLToPath(demoKernel()));
  const started = performance.now();
  {
    using progress = createProgress({ label: 'flights', total: rows, unit: 'count', silent: json });
    await launchInParts(
      device,
      kernel,
      { ...inputs, ...results },
      {
        size: rows,
        parts: partsOf(rows, PARTS),
        onProgress: (done) => progress.update(done, `${formatCount(faultsOf(device.stats()))} faults`),
      },
    );
  }
  const runMs = performance.now() - started;
  const processors = processorReports(space.stats());
  say(`It ran in ${formatDuration(runMs)}, and no line of the kernel or of this program moves a page. What happened:`);
  for (const line of processorTable(processors)) say(`  ${line}`);
  const used = processors[1];
  say(explainFigures(used, bytes));

  const plainStarted = performance.now();
  const expected = await computePlainly(data);
  const plainMs = performance.now() - plainStarted;
  const found: Results = {
    difference: results.difference.data,
    bearing: results.bearing.data,
    cell: results.cell.data,
  };
  refuseWrong(used, found, expected);
  say(
    `The result is right: every bit of ${formatCount(rows * RESULTS.length)} values is what a plain loop over plain arrays gives ` +
      `(${formatDuration(plainMs)}).`,
  );

  const findings = summarizeFlights(found.cell, found.difference, readColumnPlainly(data, 'delay') as Int32Array);
  say(explainFindings(findings));
  if (json) {
    const figures = { flights: rows, bytes, deviceBytes: device.memory, runMs, plainMs, correct: true };
    print(JSON.stringify({ ...figures, processors, findings }));
  } else if (!data.temporary) {
    say(
      `\nThe columns lie in ${data.folder} as .npy files; 'onemem run --help' tells how to run a kernel of your own over them.`,
    );
  }
  return 0;
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
async function computePlainly(data: DemoData): Promise<Results> {
  const module = (await import(demoKernel().href)) as {
    default: { kernel(args: object, range: { begin: number; end: number }): void };
  };
  const results: Results = {
    difference: new Float32Array(data.rows),
    bearing: new Float32Array(data.rows),
    cell: new Uint16Array(data.rows),
  };
  const inputs = Object.fromEntries(INPUTS.map((column) => [column, readColumnPlainly(data, column)]));
  module.default.kernel({ ...inputs, ...results }, { begin: 0, end: data.rows });
  return results;
}

function refuseWrong(used: ProcessorReport, found: Results, expected: Results): void {
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
  if (used.peakBytes <= used.budgetBytes) return;
  throw new CommandError(
    'BUDGET',
    `the device took ${used.peakBytes} bytes, more than the ${used.budgetBytes} that it has`,
  );
}

function explainFigures(used: ProcessorReport, bytes: number): string {
  const times = (bytes / used.budgetBytes).toFixed(1);
  return (
    `The arrays are ${times} times as large as the device. It touched pages that it did not have ${formatCount(used.faults)} times; ` +
    `${formatBytes(used.bytesIn + used.bytesFromFiles)} came in, ${formatBytes(used.bytesOut)} of results went home to make room ` +
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
