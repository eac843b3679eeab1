/**
 * Arguments of a launch that share elements: refused where one is written, by name and with the
 * remedy, and nothing is touched.
 */
import assert from 'node:assert/strict';
import { type AddressSpace, type ArrayRange, f32, kernel, u8 } from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, runTests, sameData, test } from '../harness/suite.js';

const N = 5000;
const twice = kernel({ x: f32.in, y: f32.out }, function twice({ x, y }, { begin, end }) {
  for (let i = begin; i < end; i++) y[i] = x[i] * 2;
});
const addTo = kernel({ x: f32.in, y: f32.inout }, ({ x, y }, { begin, end }) => {
  for (let i = begin; i < end; i++) y[i] += x[i];
});
const both = kernel({ x: f32.inout, y: f32.inout }, ({ x, y }, { begin, end }) => {
  for (let i = begin; i < end; i++) [x[i], y[i]] = [y[i], x[i]];
});
const sum = kernel(
  { x: f32.in, y: f32.in, total: f32.inout },
  ({ x, y, total }, { begin, end }) => {
    for (let i = begin; i < end; i++) total[0] += x[i] + y[i];
  },
);

async function withSpace(action: (space: AddressSpace) => Promise<void>): Promise<void> {
  await using space = await sharedSpace({
    devices: [{ kind: 'process', memory: '8MiB' }],
    hostMemory: '160MiB',
  });
  await action(space);
  space.checkInvariants();
}

test('the same managed array as in and as out is refused, and is as it was', () =>
  withSpace(async (space) => {
    const x = space.array(Float32Array, N, { name: 'numbers' });
    x.data.fill(21);
    const { launches } = space.devices[0].stats();
    for (const kernel of [twice, addTo, both] as unknown as (typeof twice)[]) {
      const error = await failsWith('OVERLAPPING_ARGUMENTS', () =>
        space.devices[0].run(kernel, { x, y: x }, { size: N }),
      );
      assert.ok(error instanceof RangeError);
      assert.match(
        error.message,
        /parameters x \(array numbers .* 0 to 5000\) and y \(.*\) overlap.*one inout parameter.*a copy/,
      );
    }
    sameData(x.data, () => 21);
    assert.equal(space.devices[0].stats().launches, launches);
  }));

test('ranges, views, and bytes of an array overlap as its elements do', () =>
  withSpace(async (space) => {
    const x = space.array(Float32Array, N, { name: 'x' });
    x.data.fill(3);
    const pairs: [
      ArrayRange<Float32Array> | Float32Array,
      ArrayRange<Float32Array> | Float32Array,
    ][] = [
      [x.range(0, 101), x.range(100, 200)],
      [x.range(100, 200), x.range(0, 101)],
      [x.data.subarray(50, 60), x.range(0, N)],
      [x.data.subarray(0, 11), x.data.subarray(10, 21)],
    ];
    for (const [from, to] of pairs) {
      await failsWith('OVERLAPPING_ARGUMENTS', () =>
        space.devices[0].run(twice, { x: from, y: to }, { size: 10 }),
      );
    }
    const mixed = kernel({ x: f32.in, raw: u8.out }, () => undefined);
    const raw = new Uint8Array(x.data.buffer, 396, 8);
    const args = { x: x.range(99, 100), raw };
    await failsWith('OVERLAPPING_ARGUMENTS', () => space.devices[0].run(mixed, args, { size: 1 }));
    sameData(x.data, () => 3);
  }));

test('plain arrays that overlap are refused, too, and nothing is staged', () =>
  withSpace(async (space) => {
    const plain = new Float32Array(100).fill(21);
    await failsWith('OVERLAPPING_ARGUMENTS', () =>
      space.devices[0].run(twice, { x: plain, y: plain }, { size: 100 }),
    );
    const [a, b] = [plain.subarray(0, 60), plain.subarray(59)];
    await failsWith('OVERLAPPING_ARGUMENTS', () =>
      space.devices[0].run(both, { x: a, y: b }, { size: 10 }),
    );
    await space.devices[0].run(
      twice,
      { x: plain.subarray(0, 50), y: plain.subarray(50) },
      { size: 50 },
    );
    sameData(plain, (i) => (i < 50 ? 21 : 42));
    assert.equal(space.stats().allocatedBytes, 0);
  }));

test('what is only read may be the same, and an array that another object of it names is', () =>
  withSpace(async (space) => {
    const x = space.array(Float32Array, N, { name: 'x' });
    x.data.fill(2);
    const total = new Float32Array(1);
    await space.devices[0].run(sum, { x, y: x.range(0, 10), total }, { size: 10 });
    assert.equal(total[0], 40);
    const same = space.attachArray(x.handle) as typeof x;
    await failsWith('OVERLAPPING_ARGUMENTS', () =>
      space.devices[0].run(twice, { x, y: same }, { size: N }),
    );
  }));

await runTests();
