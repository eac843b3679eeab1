/** What a launch is estimated to be, and what it then is. */
import assert from 'node:assert/strict';
import {
  type AddressSpace,
  type Kernel,
  kernel,
  type LaunchOptions,
  type ManagedArray,
  u32,
} from '../../src/index.js';
import { gpuWith, inSpaceWith, lookup, saxpy } from '../harness/gpu.js';
import { failsWith, filled, runTests, sameData, sleep, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const withGpu = inSpaceWith(gpuWith('8MiB'));

const COUNTED = [
  'windowedLaunches',
  'pagedLaunches',
  'launchParts',
  'launchRounds',
  'plannedRounds',
  'pagedBytes',
  'bytesIn',
] as const;

/** Estimates a launch, runs it, and compares what the device counts. */
async function compared(
  [gpu]: AddressSpace['devices'],
  run: Kernel,
  args: Record<string, unknown>,
  options: LaunchOptions,
) {
  const { launches } = gpu.stats();
  const estimate = await gpu.estimate(run, args, options);
  const before = gpu.stats();
  assert.equal(before.launches, launches, 'an estimate runs nothing');
  await gpu.run(run, args, options);
  const after = gpu.stats();
  const counted = (name: (typeof COUNTED)[number]): number => after[name] - before[name];
  const way =
    counted('windowedLaunches') > 0
      ? 'windowed'
      : counted('pagedLaunches') > 0
        ? 'paged'
        : 'direct';
  const parts = way === 'direct' ? 1 : counted('launchParts');
  assert.deepEqual([estimate.way, estimate.parts], [way, parts]);
  assert.equal(estimate.error, null);
  return { estimate, counted };
}

function words(space: AddressSpace, mib: number, of = (i: number): number => i) {
  const array = space.array(Uint32Array, (mib * MIB) / 4);
  filled(array.data, of);
  return array;
}

test('a launch that fits is direct, with the bytes that then move', () =>
  withGpu(async (space) => {
    const [x, y] = [0, 1].map(() => space.array(Float32Array, MIB / 4));
    for (const each of [x, y]) each.data.fill(1);
    const args = { x, y, alpha: 2 };
    const { estimate, counted } = await compared(space.devices, saxpy as Kernel, args, {
      size: y.length,
    });
    assert.deepEqual(
      [estimate.paging, estimate.bytesIn, estimate.bytesOut],
      ['none', 2 * MIB, MIB],
    );
    assert.equal(counted('bytesIn'), 2 * MIB);
  }));

test('a launch that is cut has the parts and the bytes of the estimate', () =>
  withGpu(async (space) => {
    const [x, y] = [0, 1].map(() => space.array(Float32Array, (16 * MIB) / 4));
    for (const each of [x, y]) each.data.fill(1);
    const args = { x, y, alpha: 2 };
    const { estimate, counted } = await compared(space.devices, saxpy as Kernel, args, {
      size: y.length,
    });
    assert.ok(estimate.parts >= 4);
    assert.deepEqual([estimate.paging, estimate.bytesIn], ['none', 32 * MIB]);
    assert.equal(counted('bytesIn'), estimate.bytesIn);
    sameData(y.data, () => 3);
  }));

test('an estimate in between does not turn the order of the parts of the next launch', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const [x, y] = [0, 1].map(() => space.array(Float32Array, (16 * MIB) / 4));
    const launch = [saxpy, { x, y, alpha: 2 }, { size: y.length }] as const;
    await gpu.run(...launch);
    const inBy = async (): Promise<number> => {
      const { bytesIn } = gpu.stats();
      await gpu.run(...launch);
      return gpu.stats().bytesIn - bytesIn;
    };
    const again = await inBy();
    assert.ok(again < 32 * MIB, 'the last windows are used first');
    await gpu.estimate(...launch);
    assert.equal(await inBy(), again);
  }));

test('pages that numbers name are planned, and their bytes are known', () =>
  withGpu(async (space) => {
    const table = words(space, 32);
    const ids = space.array(Uint32Array, 8);
    filled(ids.data, (i) => i * 1000);
    const rows = space.array(Uint32Array, 8 * 1024);
    const args = { table, ids, rows, width: 1024 };
    const { estimate, counted } = await compared(space.devices, lookup as Kernel, args, {
      size: rows.length,
    });
    assert.deepEqual(
      [estimate.paging, counted('launchRounds')],
      ['planned', counted('plannedRounds')],
    );
    assert.match(String(estimate.reason), /table/);
    assert.ok(counted('pagedBytes') > 0);
    const others = 4096 * 1;
    assert.equal(estimate.bytesIn, counted('pagedBytes') + others);
    sameData(rows.data, (i) => Math.floor(i / 1024) * 1000 * 1024 + (i % 1024));
  }));

const twice = kernel(
  { table: u32.in, order: u32.in, ids: u32.in, rows: u32.out },
  {
    wgsl: `
@group(0) @binding(0) var<storage, read> table: array<u32>;
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read> ids: array<u32>;
@group(0) @binding(3) var<storage, read_write> rows: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&rows)) { rows[id.x] = table[ids[order[id.x]]]; }
}`,
  },
  { name: 'twice' },
);

test('a launch whose pages are not known before is told to run in rounds', () =>
  withGpu(async (space) => {
    const table = words(space, 32);
    const [order, ids] = [0, 1].map(() => space.array(Uint32Array, 4096));
    filled(order.data, (i) => (i * 7) % 4096);
    filled(ids.data, (i) => i * 2000);
    const rows = space.array(Uint32Array, 4096);
    const args = { table, order, ids, rows };
    const { estimate, counted } = await compared(space.devices, twice as Kernel, args, {
      size: rows.length,
    });
    assert.deepEqual(
      [estimate.paging, estimate.bytesIn, counted('plannedRounds')],
      ['rounds', null, 0],
    );
    sameData(rows.data, (i) => ((i * 7) % 4096) * 2000);
  }));

test('a refusal is told with the error that the launch rejects with', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const [x, y] = [0, 1].map(() => space.array(Float32Array, (16 * MIB) / 4));
    const launch = [saxpy, { x, y, alpha: 2 }, { size: y.length, way: 'direct' }] as const;
    const { way, parts, error, reason } = await gpu.estimate(...launch);
    assert.deepEqual([way, parts, error?.code], ['refused', 0, 'DEVICE_MEMORY']);
    const { message } = await failsWith('DEVICE_MEMORY', () => gpu.run(...launch));
    assert.deepEqual([error?.message, reason], [message, message]);
  }));

test('a size that stands in an array is read as it is then, and plain arrays stay as they are', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const count: ManagedArray<Uint32Array> = space.array(Uint32Array, 1);
    const [x, y] = [0, 1].map(() => new Float32Array((16 * MIB) / 4).fill(1));
    const launch = [saxpy, { x, y, alpha: 2 }, { size: count.range(0, 1) }] as const;
    const { ranges } = space.stats();
    assert.equal((await gpu.estimate(...launch)).parts, 0);
    count.data[0] = y.length;
    const estimates = await Promise.all([gpu.estimate(...launch), gpu.estimate(...launch)]);
    assert.deepEqual(
      estimates.map(({ way }) => way),
      ['windowed', 'windowed'],
    );
    assert.ok(y.every((each) => each === 1));
    // Spaces of tests before may free theirs meanwhile.
    for (let look = 0; look < 50 && space.stats().ranges > ranges; look++) await sleep(10);
    assert.ok(space.stats().ranges <= ranges);
  }));

await runTests();
