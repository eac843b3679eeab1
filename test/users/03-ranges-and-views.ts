/**
 * Parts of arrays as arguments, by range and by view: used where they are, and nothing beside them
 * is ever changed.
 */
import assert from 'node:assert/strict';
import { type AddressSpace, f32, kernel, u8 } from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, runTests, sameData, test } from '../harness/suite.js';

/** Elements of four bytes that a page holds. */
const PAGE = 1024;
const N = 8 * PAGE;
const twice = kernel({ x: f32.in, y: f32.out }, ({ x, y }, { begin, end }) => {
  for (let i = begin; i < end; i++) y[i] = x[i] * 2;
});
const increment = kernel({ x: f32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});
/**
 * Writes one element alone: all others of an `out` array read zero, those beside it as they did.
 */
const first = kernel({ y: f32.out }, ({ y }) => {
  y[0] = 5;
});
const length = kernel({ x: f32.in, y: f32.inout }, ({ x, y }) => {
  y[0] = x.length;
});

async function withSpace(
  kind: 'process' | 'simulated',
  action: (space: AddressSpace) => Promise<void>,
): Promise<void> {
  await using space = await sharedSpace({
    devices: [{ kind, memory: '8MiB' }],
    hostMemory: '160MiB',
    checkInvariants: true,
  });
  await action(space);
  space.checkInvariants();
}

for (const kind of ['process', 'simulated'] as const) {
  test(
    `an out range is emptied to its edges and no further, on a ${kind} device`,
    () =>
      withSpace(kind, async (space) => {
        const edges = [
          [0, N],
          [0, 100],
          [1, 2],
          [10, PAGE - 10],
          [PAGE, 2 * PAGE],
          [PAGE - 1, PAGE + 1],
          [PAGE / 2, 3 * PAGE],
          [PAGE, 4 * PAGE + 1],
          [3 * PAGE + 7, 6 * PAGE + 9],
          [N - 8, N],
          [N - PAGE - 6, N],
        ];
        // The last page of the array is not full.
        const x = space.array(Float32Array, N - 5, { name: 'x' });
        for (const [begin, last] of edges) {
          const end = Math.min(last, x.length);
          const expected = (i: number): number =>
            i < begin || i >= end ? i + 1 : i === begin ? 5 : 0;
          for (const part of [x.range(begin, end), x.data.subarray(begin, end)]) {
            for (let i = 0; i < x.length; i++) x.data[i] = i + 1;
            await space.devices[0].run(first, { y: part }, { size: 1 });
            sameData(x.data, expected);
          }
        }
      }),
    60,
  );

  test(`ranges of one array that share a page are read and written side by side, on a ${kind} device`, () =>
    withSpace(kind, async (space) => {
      const x = space.array(Float32Array, N, { name: 'x' });
      for (let i = 0; i < N; i++) x.data[i] = i;
      const [a, b, n] = [PAGE - 50, 3 * PAGE + 50, 2 * PAGE + 100];
      await space.devices[0].run(
        twice,
        { x: x.range(a, a + n), y: x.range(b, b + n) },
        { size: n },
      );
      sameData(x.data, (i) => (i >= b && i < b + n ? (i - b + a) * 2 : i));
      // The second launch finds its edges on the device.
      await space.devices[0].run(first, { y: x.range(5, b + 1) }, { size: 1 });
      sameData(x.data, (i) =>
        i === 5 ? 5 : i > 5 && i <= b ? 0 : i > b && i < b + n ? (i - b + a) * 2 : i,
      );
    }));
}

test('a launch over a part of its size leaves an out range as it was, but for what it writes', () =>
  withSpace('process', async (space) => {
    const x = space.array(Float32Array, N, { name: 'x' });
    x.data.fill(8);
    const source = new Float32Array(100).fill(1);
    await space.devices[0].run(
      twice,
      { x: source, y: x.range(50, 150) },
      { size: 100, begin: 10, end: 20 },
    );
    sameData(x.data, (i) => (i >= 60 && i < 70 ? 2 : 8));
  }));

test('a view of a managed array is the array itself, and nothing is staged', () =>
  withSpace('process', async (space) => {
    const [device] = space.devices;
    const x = space.array(Float32Array, N, { name: 'x' });
    const before = space.stats().allocatedBytes;
    using stream = device.stream();
    const event = stream.launch(increment, { x: x.data }, { size: N });
    assert.equal(space.stats().allocatedBytes, before, 'a copy was made of a view');
    await event.synchronize();
    await device.run(increment, { x: x.data.subarray(100, 200) }, { size: 100 });
    await device.run(increment, { x: new Float32Array(x.data.buffer, 4 * 150, 10) }, { size: 10 });
    const invert = kernel({ x: u8.inout }, ({ x }, { begin, end }) => {
      for (let i = begin; i < end; i++) x[i] = 255 - x[i];
    });
    await device.run(invert, { x: Buffer.from(x.data.buffer, 0, 4) }, { size: 4 });
    sameData(new Uint8Array(x.data.slice(0, 1).buffer), (i) => [255, 255, 127, 192][i]);
    sameData(
      x.data.subarray(1),
      (i) => 1 + (i >= 99 && i < 199 ? 1 : 0) + (i >= 149 && i < 159 ? 1 : 0),
    );
    const counted = new Float32Array(1);
    await device.run(length, { x: x.range(10, 17), y: counted }, { size: 1 });
    assert.equal(counted[0], 7);
  }));

test('views are places of copies and prefetches, as arrays and ranges are', () =>
  withSpace('process', async (space) => {
    const x = space.array(Float32Array, N, { name: 'x' });
    const y = space.array(Float32Array, N, { name: 'y' });
    for (let i = 0; i < N; i++) x.data[i] = i;
    using stream = space.devices[0].stream();
    const copied = stream.copy(y.data.subarray(10, 110), x.data.subarray(500, 600));
    const brought = stream.prefetch(x.data.subarray(2 * PAGE + 1, 3 * PAGE));
    const all = stream.exclusive(y);
    await stream.synchronize();
    assert.equal(copied.bytes, 400);
    assert.deepEqual(brought.elements, { begin: 2 * PAGE, end: 3 * PAGE });
    assert.deepEqual(all.elements, { begin: 0, end: N });
    sameData(y.data, (i) => (i >= 10 && i < 110 ? i + 490 : 0));
    await failsWith('ARRAY_RANGE', () => stream.prefetch(new Float32Array(5)));
  }));

test('views of what the array is no longer are refused', () =>
  withSpace('process', async (space) => {
    const [device] = space.devices;
    const x = space.array(Float32Array, N, { name: 'x', maxLength: 2 * N });
    const { data } = x;
    await x.resize(PAGE);
    await failsWith('ARRAY_RANGE', () => device.run(increment, { x: data }, { size: 1 }));
    await device.run(increment, { x: data.subarray(0, PAGE) }, { size: PAGE });
    sameData(x.data, () => 1);
    await x.resize(4 * N);
    const moved = await failsWith('USE_AFTER_FREE', () =>
      device.run(increment, { x: data }, { size: 1 }),
    );
    assert.match(moved.message, /array x before it moved/);
    x.free();
  }));

test('edges of an out range that cannot be written fail the launch, and nothing is emptied', () =>
  withSpace('process', async (space) => {
    const x = space.array(Float32Array, N, { name: 'x' });
    x.data.fill(4);
    await x.protect('read', { begin: 3 * PAGE, end: 4 * PAGE });
    const [device] = space.devices;
    const denied = () => device.run(first, { y: x.range(PAGE / 2, 3 * PAGE + 5) }, { size: 1 });
    assert.match((await failsWith('ACCESS_DENIED', denied)).message, /array x, elements 3072/);
    const pin = await x.pin({ begin: 0, end: PAGE });
    await failsWith('PINNED', () =>
      device.run(first, { y: x.range(PAGE / 2, 2 * PAGE) }, { size: 1 }),
    );
    pin.unpin();
    sameData(x.data, () => 4);
  }));

test('a range shows its elements, and is a part to hand in with or without them', () =>
  withSpace('process', async (space) => {
    const x = space.array(Float32Array, N, { name: 'x' });
    const part = x.range(PAGE - 2, PAGE + 3);
    part.data.fill(4);
    x.data[PAGE] = 6;
    assert.deepEqual([...part.data], [4, 4, 6, 4, 4]);
    assert.equal(part.data.byteOffset, x.data.subarray(PAGE - 2).byteOffset);
    await space.devices[0].run(twice, { x: { ...part }, y: x.range(0, 5) }, { size: 5 });
    assert.deepEqual([...x.range(0, 5).data], [8, 8, 12, 8, 8]);
    assert.deepEqual({ ...part }, { array: x, begin: PAGE - 2, end: PAGE + 3 });
    x.free();
    assert.throws(() => part.data, { code: 'USE_AFTER_FREE' });
  }));

await runTests();
