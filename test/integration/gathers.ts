/**
 * Kernels that say which elements they use (`in.by`): no other pages come, and what the kernel
 * computes is what it is without a plan.
 */
import assert from 'node:assert/strict';
import {
  type AddressSpace,
  f32,
  f64,
  i32,
  i64,
  kernel,
  type ManagedArray,
  type NumericArray,
  OnememError,
  u16,
  u32,
} from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, longTest, note, runTests, sameData, test } from '../harness/suite.js';

const PAGE_BYTES = 4096;
const WORDS = 1024;
const MIB = 2 ** 20;

/** A device of 2048 pages with one unit: a part of a launch brings 256. */
function openSmall(): Promise<AddressSpace> {
  return sharedSpace({
    hostMemory: '128MiB',
    devices: [{ kind: 'process', memory: '8MiB', units: 1 }],
  });
}

/** Whole numbers below `end`, by chance and the same in each run. */
function choices<A extends NumericArray>(array: A, end: number, seed = 1): A {
  let state = seed;
  for (let i = 0; i < array.length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    array[i] = Math.floor((state / 2 ** 32) * end);
  }
  return array;
}

function same(actual: ArrayLike<number>, expected: ArrayLike<number>): void {
  assert.equal(actual.length, expected.length);
  sameData(actual, (index) => expected[index]);
}

/** An array in which each element tells its place; all of it is on the host. */
function tableOf(
  space: AddressSpace,
  length: number,
): { table: ManagedArray<Float32Array>; plain: Float32Array } {
  const table = space.array(Float32Array, length);
  for (let i = 0; i < length; i++) table.data[i] = i % 16_777_213;
  return { table, plain: Float32Array.from(table.data) };
}

/** What a launch counted on the device. */
async function counted(
  space: AddressSpace,
  launch: () => Promise<void>,
): Promise<{ bytes: number; faults: number }> {
  const before = space.devices[0].stats();
  await launch();
  const after = space.devices[0].stats();
  const faults = after.readFaults + after.writeFaults - before.readFaults - before.writeFaults;
  return { bytes: after.bytesIn - before.bytesIn, faults };
}

const gather = kernel(
  { table: f32.in.by('order'), order: u32.in, result: f32.out },
  ({ table, order, result }, { begin, end }) => {
    for (let i = begin; i < end; i++) result[i] = table[order[i]];
  },
);

longTest(
  'a gather over twice the device brings the pages that the indices name, once, and no others',
  async () => {
    await using space = await openSmall();
    const { table, plain } = tableOf(space, (16 * MIB) / 4);
    const order = choices(space.array(Uint32Array, 1500).data, table.length);
    const result = space.array(Float32Array, order.length);
    const pages = new Set(Array.from(order, (index) => Math.floor(index / WORDS)));
    const { bytes, faults } = await counted(space, () =>
      space.devices[0].run(gather, { table, order, result }, { size: order.length }),
    );
    same(
      result.data,
      Float32Array.from(order, (index) => plain[index]),
    );
    const needed = pages.size * PAGE_BYTES;
    assert.ok(
      bytes >= needed && bytes <= 1.1 * needed + 64 * 1024,
      `${bytes} bytes came of ${needed} that are needed`,
    );
    assert.ok(faults <= 8, `${faults} faults`);
    note(
      `${pages.size} pages, ${(bytes / needed).toFixed(3)} bytes for each byte of them, ${faults} faults`,
    );
  },
);

longTest('indices that a device wrote are read where they are', async () => {
  await using space = await openSmall();
  const [device] = space.devices;
  const reverse = kernel({ order: u32.out, last: u32 }, ({ order, last }, { begin, end }) => {
    for (let i = begin; i < end; i++) order[i] = last - i * 4099;
  });
  const { table, plain } = tableOf(space, (12 * MIB) / 4);
  const order = space.array(Uint32Array, 700);
  const result = space.array(Float32Array, order.length);
  await device.run(reverse, { order, last: table.length - 1 }, { size: order.length });
  await device.run(gather, { table, order, result }, { size: order.length });
  same(
    result.data,
    Float32Array.from(result.data, (_, i) => plain[table.length - 1 - i * 4099]),
  );
});

test('rows may have a length that the launch says, and lie across pages', async () => {
  await using space = await openSmall();
  const sums = kernel(
    { table: f32.in.by('order', 'width'), order: i64.in, width: u32, result: f64.out },
    ({ table, order, width, result }, { begin, end }) => {
      for (let i = begin; i < end; i++) {
        const from = Number(order[i]) * width;
        for (let k = from; k < from + width; k++) result[i] += table[k];
      }
    },
  );
  const width = 300;
  const { table, plain } = tableOf(space, 10_000 * width);
  const order = BigInt64Array.from(choices(new Uint32Array(900), 10_000), BigInt);
  const result = space.array(Float64Array, order.length);
  const pages = new Set<number>();
  const sum = (row: number): number => {
    pages.add(Math.floor((row * width) / WORDS)).add(Math.floor((row * width + width - 1) / WORDS));
    return plain.subarray(row * width, (row + 1) * width).reduce((total, each) => total + each, 0);
  };
  const expected = Float64Array.from(order, (row) => sum(Number(row)));
  const { bytes } = await counted(space, () =>
    space.devices[0].run(sums, { table, order, width, result }, { size: order.length }),
  );
  same(result.data, expected);
  const needed = pages.size * PAGE_BYTES;
  assert.ok(bytes <= 1.1 * needed + 64 * 1024, `${bytes} bytes came of ${needed} that are needed`);
});

test('what is written by indices is written once in each place', async () => {
  await using space = await openSmall();
  const count = kernel(
    { bins: u32.inout.by('order'), order: u32.in },
    ({ bins, order }, { begin, end }) => {
      for (let i = begin; i < end; i++) bins[order[i]]++;
    },
  );
  const bins = space.array(Uint32Array, (12 * MIB) / 4);
  const order = choices(new Uint32Array(3000), bins.length / 2048).map((index) => index * 2048);
  const expected = new Uint32Array(bins.length);
  for (const index of order) expected[index]++;
  await space.devices[0].run(count, { bins, order }, { size: order.length });
  same(bins.data, expected);
});

test('indices outside of the array are left to the kernel', async () => {
  await using space = await openSmall();
  const guarded = kernel(
    { table: f32.in.by('order'), order: i32.in, result: f32.out },
    ({ table, order, result }, { begin, end }) => {
      for (let i = begin; i < end; i++) result[i] = order[i] in table ? table[order[i]] : -1;
    },
  );
  const { table, plain } = tableOf(space, 5000);
  const order = Int32Array.of(-1, 0, 4999, 5000, 2 ** 31 - 1, -(2 ** 31), 17);
  const result = new Float32Array(order.length);
  await space.devices[0].run(guarded, { table, order, result }, { size: order.length });
  same(result, Float32Array.of(-1, 0, plain[4999], -1, -1, -1, plain[17]));
});

test('a page that is named and may not be read fails the launch that reads it, and no other', async () => {
  await using space = await openSmall();
  const some = kernel(
    { table: f32.in.by('order'), order: u16.in, most: u32, result: f32.out },
    ({ table, order, most, result }, { begin, end }) => {
      for (let i = begin; i < Math.min(end, most); i++) result[i] = table[order[i]];
    },
  );
  const { table, plain } = tableOf(space, 4 * WORDS);
  const order = Uint16Array.of(5, 3000, 1500);
  await table.protect('none', { begin: WORDS, end: 2 * WORDS });
  const result = new Float32Array(order.length);
  await space.devices[0].run(some, { table, order, most: 2, result }, { size: 3 });
  same(result, Float32Array.of(plain[5], plain[3000], 0));
  await failsWith('ACCESS_DENIED', () =>
    space.devices[0].run(some, { table, order, most: 3, result }, { size: 3 }),
  );
  await table.protect('readwrite');
  await space.devices[0].run(some, { table, order, most: 3, result }, { size: 3 });
  same(result, Float32Array.of(plain[5], plain[3000], plain[1500]));
});

test('a launch whose kernel throws in one part runs no further part', async () => {
  await using space = await openSmall();
  const third = kernel(
    { table: f32.in.by('order'), order: u32.in, calls: u32.inout },
    ({ table, order, calls }, { begin, end }) => {
      if (table[order[begin]] < 0) throw new RangeError(`${end}`);
      if (++calls[0] === 3) throw new RangeError('the third part');
    },
  );
  const { table } = tableOf(space, (12 * MIB) / 4);
  const order = Uint32Array.from({ length: 3000 }, (_, i) => i * WORDS);
  const calls = space.array(Uint32Array, 1);
  const launches = space.devices[0].stats().launches;
  await assert.rejects(
    space.devices[0].run(third, { table, order, calls }, { size: order.length }),
    (error) =>
      error instanceof OnememError &&
      error.code === 'KERNEL_ERROR' &&
      /the third part/.test(error.message),
  );
  assert.equal(calls.data[0], 3);
  assert.equal(space.devices[0].stats().launches, launches + 1);
});

test('by() takes the name of integers, and rows of a whole number of elements', async () => {
  const run = () => undefined;
  await failsWith('KERNEL_PARAMETER', () => kernel({ x: f32.in.by('y') }, run));
  await failsWith('KERNEL_PARAMETER', () => kernel({ x: f32.in.by('y'), y: f32.in }, run));
  await failsWith('KERNEL_PARAMETER', () => kernel({ x: f32.in.by('y'), y: u32 }, run));
  await failsWith('KERNEL_PARAMETER', () => kernel({ x: f32.in.by('y'), y: u32.out }, run));
  await failsWith('KERNEL_PARAMETER', () => kernel({ x: u32.in.by('x') }, run));
  for (const row of [0, 1.5, Number.NaN, 'z', 'y', null])
    await failsWith('KERNEL_PARAMETER', () =>
      kernel({ x: f32.in.by('y', row as never), y: u32.in }, run),
    );
});

await runTests();
