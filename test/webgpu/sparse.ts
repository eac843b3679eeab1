/** Launches whose arrays tell which elements of others are touched: row pointers, columns. */
import assert from 'node:assert/strict';
import { type AddressSpace, f32, kernel, openSpace, u32 } from '../../src/index.js';
import { gpuWith } from '../harness/gpu.js';
import { filled, longTest, runTests, sameData } from '../harness/suite.js';

const ROWS = 2 ** 19;
const EACH = 5;

const multiply = kernel(
  { begins: u32.in, columns: u32.in, values: f32.in, x: f32.in, y: f32.out },
  {
    wgsl: `
@group(0) @binding(0) var<storage, read> begins: array<u32>;
@group(0) @binding(1) var<storage, read> columns: array<u32>;
@group(0) @binding(2) var<storage, read> values: array<f32>;
@group(0) @binding(3) var<storage, read> x: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3u) {
  var sum = 0.0;
  for (var j = begins[id.x]; j < begins[id.x + 1u]; j++) { sum += values[j] * x[columns[j]]; }
  y[id.x] = sum;
}`,
  },
  { name: 'multiply' },
);

/** As many numbers in each row, in columns that a function says. */
function matrix(space: AddressSpace, columnOf: (row: number, at: number) => number) {
  const begins = space.array(Uint32Array, ROWS + 1);
  const columns = space.array(Uint32Array, EACH * ROWS);
  const values = space.array(Float32Array, EACH * ROWS);
  const [x, y] = [0, 1].map(() => space.array(Float32Array, ROWS));
  filled(begins.data, (row) => EACH * row);
  filled(columns.data, (i) => columnOf(Math.floor(i / EACH), i % EACH));
  filled(values.data, (i) => i % 13);
  filled(x.data, (i) => i % 17);
  return { begins, columns, values, x, y };
}

async function multiplied(
  [gpu]: AddressSpace['devices'],
  args: ReturnType<typeof matrix>,
): Promise<{ rounds: number; windowed: number; bytesIn: number }> {
  const before = gpu.stats();
  await gpu.run(multiply, args, { size: ROWS });
  const after = gpu.stats();
  const [begins, columns, values, x] = [args.begins, args.columns, args.values, args.x].map(
    ({ data }) => data,
  );
  sameData(args.y.data, (row) => {
    let sum = 0;
    for (let j = begins[row]; j < begins[row + 1]; j++) sum += values[j] * x[columns[j]];
    return sum;
  });
  return {
    rounds: after.launchRounds - before.launchRounds,
    windowed: after.windowedLaunches - before.windowedLaunches,
    bytesIn: after.bytesIn - before.bytesIn,
  };
}

longTest(
  'a sparse matrix is cut by its row pointers and columns, by those that it has then',
  async () => {
    await using space = await openSpace({ devices: [gpuWith('24MiB')] });
    const near = (row: number, at: number) => Math.min(ROWS - 1, row + at);
    const args = matrix(space, near);
    const estimate = await space.devices[0].estimate(multiply, args, { size: ROWS });
    assert.equal(estimate.way, 'windowed');
    const first = await multiplied(space.devices, args);
    assert.deepEqual([first.rounds, first.windowed], [0, 1]);
    // The band lies elsewhere by now, and some rows are longer than others.
    filled(args.columns.data, (i) => ROWS - 1 - near(Math.floor(i / EACH), i % EACH));
    filled(args.begins.data, (row) => EACH * row - (row > 0 && row < ROWS ? row % 3 : 0));
    const second = await multiplied(space.devices, args);
    assert.deepEqual([second.rounds, second.windowed], [0, 1]);
  },
);

await runTests();
