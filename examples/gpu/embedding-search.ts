/**
 * Exact search among embeddings that lie in a NumPy file, on a GPU that has no room for them: which
 * rows have the largest dot products with each of a batch of queries? The kernel is written as for
 * a table that fits. It runs with less and less of the GPU's memory, and a table tells what moved;
 * every score is compared with what plain loops over plain memory give.
 *
 *   node .build/examples/gpu/embedding-search.js [--rows 56000] [--columns 96] [--queries 2] [--batches 2] [--budgets 100,75,50,25]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  type AddressSpace,
  type Device,
  f32,
  kernel,
  type ManagedArray,
  openSpace,
  u32,
} from 'onemem';

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '56000' },
    columns: { type: 'string', default: '96' },
    queries: { type: 'string', default: '2' },
    batches: { type: 'string', default: '2' },
    budgets: { type: 'string', default: '100,75,50,25' },
  },
});
const rows = Number(options.rows);
const columns = Number(options.columns);
const queries = Number(options.queries);
const batches = Number(options.batches);
const MIB = 2 ** 20;
const PAGE = 4096;
const BAR = 24;

const search = kernel(
  { vectors: f32.in, asked: f32.in, scores: f32.out, rows: u32, columns: u32, queries: u32 },
  {
    wgsl: `
      struct Shape { rows: u32, columns: u32, queries: u32 }
      @group(0) @binding(0) var<storage, read> vectors: array<f32>;
      @group(0) @binding(1) var<storage, read> asked: array<f32>;
      @group(0) @binding(2) var<storage, read_write> scores: array<f32>;
      @group(0) @binding(3) var<uniform> shape: Shape;

      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
        let row = id.x;
        if (row >= shape.rows) { return; }
        for (var query = 0u; query < shape.queries; query++) {
          var sum = 0.0;
          for (var column = 0u; column < shape.columns; column++) {
            sum += vectors[row * shape.columns + column] * asked[query * shape.columns + column];
          }
          scores[query * shape.rows + row] = sum;
        }
      }`,
  },
  { name: 'search' },
);

/**
 * Multiples of 1/64 between -1 and 1, the same in every run: their sums of products are exact, in
 * whatever order a GPU adds them up.
 */
let state = 1;
function random(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
  return (state >> 25) / 64;
}

/** The rows of one batch that should be found, and the queries: these rows with some noise. */
interface Batch {
  readonly wanted: readonly number[];
  readonly asked: Float32Array;
}

function batchOf(plain: Float32Array, number: number): Batch {
  const wanted = Array.from(
    { length: queries },
    (_, query) => ((number * queries + query) * 7919 + 1) % rows,
  );
  const asked = new Float32Array(queries * columns);
  for (const [query, row] of wanted.entries()) {
    for (let column = 0; column < columns; column++) {
      asked[query * columns + column] =
        plain[row * columns + column] + Math.round(random() * 16) / 64;
    }
  }
  return { wanted, asked };
}

/** The same without onemem: everything in ordinary memory. */
function plainScores(plain: Float32Array, { asked }: Batch): Float32Array {
  const scores = new Float32Array(queries * rows);
  for (let row = 0; row < rows; row++) {
    for (let query = 0; query < queries; query++) {
      let sum = 0;
      for (let column = 0; column < columns; column++)
        sum += plain[row * columns + column] * asked[query * columns + column];
      scores[query * rows + row] = sum;
    }
  }
  return scores;
}

function check(scores: Float32Array, expected: Float32Array, { wanted }: Batch): void {
  for (let at = 0; at < scores.length; at++) {
    if (scores[at] === expected[at]) continue;
    throw new Error(`the score of row ${at % rows} is ${scores[at]} instead of ${expected[at]}`);
  }
  for (const [query, row] of wanted.entries()) {
    const own = scores.subarray(query * rows, (query + 1) * rows);
    const best = own.reduce((found, score, at) => (score > own[found] ? at : found), 0);
    if (best !== row) throw new Error(`row ${best} was found instead of ${row}`);
  }
}

interface Arrays {
  readonly vectors: ManagedArray<Float32Array>;
  readonly asked: ManagedArray<Float32Array>;
  readonly scores: ManagedArray<Float32Array>;
}

/** Bytes that moved to the GPU in each batch, and what else the table tells. */
interface Figures {
  readonly moved: readonly number[];
  readonly home: number;
  readonly parts: number;
  readonly seconds: number;
}

async function run(
  device: Device,
  arrays: Arrays,
  tasks: readonly Batch[],
  expected: readonly Float32Array[],
): Promise<Figures> {
  const moved: number[] = [];
  let milliseconds = 0;
  for (const [number, batch] of tasks.entries()) {
    const before = device.stats();
    arrays.asked.data.set(batch.asked);
    const started = performance.now();
    await device.run(search, { ...arrays, rows, columns, queries }, { size: rows });
    milliseconds += performance.now() - started;
    const after = device.stats();
    moved.push(after.bytesIn + after.bytesFromFiles - before.bytesIn - before.bytesFromFiles);
    check(arrays.scores.data, expected[number], batch);
  }
  const { launchParts, bytesOut, peakBytes, budgetBytes } = device.stats();
  if (peakBytes > budgetBytes)
    throw new Error(`the device used ${peakBytes} of ${budgetBytes} bytes`);
  return { moved, home: bytesOut, parts: launchParts, seconds: milliseconds / 1000 };
}

function mib(bytes: number): string {
  return (bytes / MIB).toFixed(1).padStart(8);
}

async function compare(
  space: AddressSpace,
  arrays: Arrays,
  tasks: readonly Batch[],
  expected: readonly Float32Array[],
): Promise<void> {
  // Of an array, a device has whole pages.
  const all = Object.values(arrays).reduce((sum, { byteLength }) => sum + byteLength + 2 * PAGE, 0);
  const heads = tasks.map((_, number) => `batch ${number + 1}`.padStart(8)).join(' ');
  console.log(`memory of the GPU   parts  MiB moved there in ${heads}   home  seconds`);
  for (const budget of options.budgets.split(',').map(Number)) {
    const memory = Math.floor((all * budget) / 100);
    const device = await space.addDevice({ kind: 'webgpu', memory });
    const { moved, home, parts, seconds } = await run(device, arrays, tasks, expected);
    const bar = '#'.repeat(Math.round((moved[moved.length - 1] / all) * BAR)).padEnd(BAR);
    const place = `${budget} %`.padStart(5);
    console.log(
      `${place} ${mib(memory)} MiB ${String(parts).padStart(6)} ${bar} ${moved.map(mib).join(' ')} ${mib(home)} ${seconds.toFixed(2)}`,
    );
    await device.detach();
  }
}

const folder = mkdtempSync(join(tmpdir(), 'onemem-embeddings-'));
try {
  await using space = await openSpace();
  const path = join(folder, 'embeddings.npy');

  // The data: in practice a model writes the file.
  const plain = new Float32Array(rows * columns);
  for (let at = 0; at < plain.length; at++) plain[at] = random();
  const made = space.array(Float32Array, plain.length);
  made.data.set(plain);
  await space.saveNpy(path, made, { shape: [rows, columns] });
  made.free();

  const tasks = Array.from({ length: batches }, (_, number) => batchOf(plain, number));
  const started = performance.now();
  const expected = tasks.map((each) => plainScores(plain, each));
  const seconds = (performance.now() - started) / 1000;
  const { array: vectors } = space.openNpy(path, { type: Float32Array });
  const asked = space.array(Float32Array, queries * columns);
  const scores = space.array(Float32Array, queries * rows);
  console.log(
    `${rows} x ${columns} floats in ${mib(vectors.byteLength).trim()} MiB, ${batches} batches of ${queries} queries`,
  );
  await compare(space, { vectors, asked, scores }, tasks, expected);
  console.log(`all scores are right; plain loops over plain memory took ${seconds.toFixed(2)} s`);
} finally {
  rmSync(folder, { recursive: true });
}
