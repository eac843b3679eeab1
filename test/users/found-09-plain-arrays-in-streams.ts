/**
 * Typed arrays of the program's own take part in the order of streams: an operation sees what those
 * before it wrote there.
 */
import assert from 'node:assert/strict';
import { type AddressSpace, i32, kernel, openSpace, type Stream, u32 } from '../../src/index.js';
import { until } from '../harness/processes.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, runTests, sameData, test } from '../harness/suite.js';

const N = 5000;

const mix = kernel({ x: i32.inout, add: i32 }, ({ x, add }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = Math.imul(x[i], 3) + add;
});
const slowMix = kernel({ x: i32.inout, add: i32 }, async ({ x, add }, { begin, end }) => {
  await new Promise((resolve) => setTimeout(resolve, 30));
  for (let i = begin; i < end; i++) x[i] = Math.imul(x[i], 3) + add;
});
const addTo = kernel({ x: i32.in, y: i32.out }, ({ x, y }, { begin, end }) => {
  for (let i = begin; i < end; i++) y[i] = x[i] + 1;
});
const breaks = kernel({ x: i32.inout }, ({ x }) => {
  x.fill(-1);
  throw new Error('after it has written');
});

async function withSpace(
  action: (space: AddressSpace, first: Stream, second: Stream) => Promise<void>,
): Promise<void> {
  const devices = [1, 2].map(() => ({ kind: 'process', memory: '8MiB' }) as const);
  await using space = await sharedSpace({ devices });
  using first = space.devices[0].stream();
  using second = space.devices[1].stream();
  await action(space, first, second);
  assert.equal(space.stats().allocatedBytes, 0, 'copies are left');
}

test('launches of a stream over one typed array see each other', () =>
  withSpace(async (_space, stream) => {
    const x = new Int32Array(N);
    let expected = 0;
    for (let add = 1; add <= 20; add++) {
      stream.launch(mix, { x, add }, { size: N });
      expected = Math.imul(expected, 3) + add;
    }
    await stream.synchronize();
    sameData(x, () => expected);
  }));

test('so do launches that hand two arrays back and forth, and copies', () =>
  withSpace(async (_space, stream) => {
    const x = new Int32Array(N).fill(5);
    const y = new Int32Array(N);
    for (let i = 0; i < 10; i++) {
      stream.launch(addTo, { x, y }, { size: N });
      stream.launch(addTo, { x: y, y: x }, { size: N });
    }
    const copy = new Int32Array(N);
    stream.copy(copy, x);
    stream.launch(mix, { x: copy, add: 1 }, { size: N });
    await stream.synchronize();
    sameData(x, () => 25);
    sameData(y, () => 24);
    sameData(copy, () => 76);
  }));

test('parts that overlap, of other types and at odd places, are the same memory', () =>
  withSpace(async (space, stream) => {
    const bytes = new Uint8Array(4 * N + 4);
    const x = new Int32Array(bytes.buffer, 4);
    stream.launch(mix, { x: x.subarray(0, 2000), add: 1 }, { size: 2000 });
    stream.launch(mix, { x: x.subarray(1000, 3000), add: 2 }, { size: 2000 });
    stream.launch(mix, { x, add: 0 }, { size: N });
    stream.copy(bytes.subarray(5, 8), Uint8Array.of(7, 7, 7));
    const found = space.bytes(9);
    await stream.copy(found, bytes.subarray(1, 10)).synchronize();
    assert.deepEqual([...found.data], [0, 0, 0, 3, 7, 7, 7, 3, 0]);
    sameData(x, (i) => (i === 0 ? 0x07070703 : i < 1000 ? 3 : i < 2000 ? 15 : i < 3000 ? 6 : 0));
    found.free();
  }));

test('a failed launch leaves an array as the ones before it left it', () =>
  withSpace(async (_space, stream) => {
    const x = new Int32Array(N).fill(2);
    const done = stream.launch(mix, { x, add: 1 }, { size: N });
    const failed = stream.launch(breaks, { x }, { size: N });
    const after = stream.launch(mix, { x, add: 5 }, { size: N });
    await failsWith('KERNEL_ERROR', () => stream.synchronize());
    assert.deepEqual([done.result, failed.result, after.result], ['done', 'failed', 'cancelled']);
    sameData(x, () => 7);
    await stream.launch(mix, { x, add: 0 }, { size: N }).synchronize();
    sameData(x, () => 21);
  }));

test('results are there when the event of a launch has come, whatever comes after it', () =>
  withSpace(async (_space, stream) => {
    const x = new Int32Array(N);
    const first = stream.launch(mix, { x, add: 1 }, { size: N });
    const second = stream.launch(slowMix, { x, add: 1 }, { size: N });
    await first.synchronize();
    sameData(x, () => 1);
    await second.synchronize();
    sameData(x, () => 4);
  }));

test('results that overlap are put back in their order', () =>
  withSpace(async (_space, stream) => {
    const x = new Int32Array(N);
    for (let i = 1; i <= 20; i++) {
      // None of them lies in the one before it, so that each has a copy of its own.
      stream.copy(x.subarray(20 - i, N - i), new Int32Array(N - 20).fill(i));
      if (i % 5 === 0) await stream.synchronize();
    }
    sameData(x, (i) => Math.min(20, N - 1 - i));
  }));

test('functions that the stream calls see results, and change what comes after them', () =>
  withSpace(async (_space, stream) => {
    const x = new Int32Array(N);
    stream.launch(mix, { x, add: 1 }, { size: N });
    stream.call(() => x.set(x.map((value, i) => value + i)));
    stream.launch(mix, { x, add: 0 }, { size: N });
    stream.launch(mix, { x, add: 0 }, { size: N });
    stream.call(() => x.fill(100, 0, 10));
    const seen = new Int32Array(N);
    stream.launch(addTo, { x, y: seen }, { size: N });
    await stream.synchronize();
    sameData(x, (i) => (i < 10 ? 100 : 9 * (1 + i)));
    sameData(seen, (i) => (i < 10 ? 101 : 9 * (1 + i) + 1));
  }));

test('a stream that waits for an event of another one sees what that one wrote', () =>
  withSpace(async (_space, first, second) => {
    const x = new Int32Array(N);
    first.launch(slowMix, { x, add: 1 }, { size: N });
    second.wait(first.record());
    second.launch(mix, { x, add: 2 }, { size: N });
    first.wait(second.record());
    first.launch(mix, { x, add: 3 }, { size: N });
    await first.synchronize();
    sameData(x, () => 18);
  }));

test('operations that nothing puts in order are refused while one of them writes', () =>
  withSpace(async (space, first, second) => {
    const x = new Int32Array(N);
    const y = new Int32Array(N);
    const running = first.launch(slowMix, { x, add: 1 }, { size: N });
    const { message } = await failsWith('ARRAY_IN_USE', async () =>
      second.launch(mix, { x, add: 2 }, { size: N }),
    );
    assert.match(
      message,
      /cannot use x of kernel mix: .* not ended writes this typed array.*event\.synchronize/s,
    );
    await failsWith('ARRAY_IN_USE', async () => second.copy(y.subarray(9), x.subarray(9)));
    await failsWith('ARRAY_IN_USE', () => space.devices[1].run(mix, { x, add: 2 }, { size: N }));
    await running.synchronize();
    // Those that only read need no order.
    await Promise.all(
      space.devices.map((device) => device.run(addTo, { x, y: x.slice() }, { size: N })),
    );
    await second.launch(mix, { x, add: 2 }, { size: N }).synchronize();
    sameData(x, () => 5);
  }));

test('an array that is transferred before its turn fails its launch by name', () =>
  withSpace(async (_space, stream) => {
    const x = new Int32Array(N);
    stream.launch(slowMix, { x, add: 1 }, { size: N });
    stream.launch(mix, { x, add: 1 }, { size: N });
    structuredClone(x.buffer, { transfer: [x.buffer] });
    const { message } = await failsWith('PLAIN_ARRAY_GONE', () => stream.synchronize());
    assert.match(
      message,
      /kernel slowMix has ended, but its results cannot be copied back.*transferred or resized/,
    );
  }));

test('a launch over a plain array says that its device is gone, whatever lay there before', async () => {
  const device = { kind: 'process', memory: '8MiB', lossy: true } as const;
  await using space = await openSpace({ hostMemory: '32MiB', devices: [device] });
  const [lossy] = space.devices;
  const x = new Int32Array(N);
  await lossy.run(mix, { x, add: 1 }, { size: N });
  const before = x.slice();
  using stream = lossy.stream();
  stream.call(() => process.kill(lossy.pid as number, 'SIGKILL'));
  stream.call(() => until('the death is known', () => !lossy.stats().alive));
  const late = stream.launch(mix, { x, add: 1 }, { size: N });
  await failsWith('DEVICE_LOST', () => late.synchronize());
  assert.equal(late.result, 'failed');
  await failsWith('DEVICE_LOST', () => lossy.run(mix, { x, add: 1 }, { size: N }));
  assert.deepEqual(x, before);
});

test('many launches over one array take the memory of one copy', () =>
  withSpace(async (space, stream) => {
    const x = new Uint32Array(2 ** 18);
    const add = kernel({ x: u32.inout }, ({ x }, { begin, end }) => {
      for (let i = begin; i < end; i++) x[i]++;
    });
    for (let i = 0; i < 20; i++) stream.launch(add, { x }, { size: x.length });
    assert.equal(space.stats().allocatedBytes, x.byteLength);
    await stream.synchronize();
    sameData(x, () => 20);
  }));

await runTests();
