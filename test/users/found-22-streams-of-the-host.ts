/**
 * Streams of the host, in spaces with and without devices, and what streams forget and free in
 * their order.
 */
import assert from 'node:assert/strict';
import { Worker } from 'node:worker_threads';
import { type AddressSpace, HostStream, i32, kernel, openSpace, Stream } from '../../src/index.js';
import { Folder } from '../harness/command.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, runTests, sameData, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const PAGE = 1024;

const slowAdd = kernel({ x: i32.inout }, async ({ x }, { begin, end }) => {
  await new Promise((resolve) => setTimeout(resolve, 40));
  for (let i = begin; i < end; i++) x[i]++;
});

function withSpace(action: (space: AddressSpace) => Promise<void>): () => Promise<void> {
  return async () => {
    await using space = await sharedSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
    await action(space);
    space.checkInvariants();
  };
}

test('a space without devices has a stream of the host, which copies and calls in order', async () => {
  await using space = await sharedSpace({ hostMemory: '160MiB' });
  const x = space.array(Int32Array, MIB);
  const y = space.array(Int32Array, MIB);
  const order: string[] = [];
  using stream = space.stream();
  assert.ok(stream instanceof HostStream && !(stream instanceof Stream));
  const prefetch = stream.prefetch(x);
  stream.call(() => x.data.fill(3));
  const copy = stream.copy(y, x);
  stream.call(() => order.push(`copied ${y.data[MIB - 1]}`));
  const plain = new Int32Array(MIB);
  stream.copy(plain, y);
  const discard = stream.discard(x.range(0, 100 * PAGE + 5));
  stream.call(() => order.push(`discarded ${x.data[0]} ${x.data[100 * PAGE]}`));
  const free = stream.free(y);
  await stream.synchronize();
  assert.deepEqual(order, ['copied 3', 'discarded 0 3']);
  sameData(plain, () => 3);
  assert.deepEqual([prefetch.elements, copy.bytes], [{ begin: 0, end: MIB }, 4 * MIB]);
  assert.deepEqual(
    [discard.elements, free.elements],
    [
      { begin: 0, end: 100 * PAGE },
      { begin: 0, end: MIB },
    ],
  );
  assert.ok(y.isFreed);
  await failsWith('USE_AFTER_FREE', () => y.data);
  assert.equal(space.stats().allocatedBytes, 4 * MIB);
});

test(
  'a stream of the host waits for one of a device, and the other way round',
  withSpace(async (space) => {
    const x = space.array(Int32Array, 5000);
    using host = space.stream();
    using device = space.devices[0].stream();
    const launched = device.launch(slowAdd, { x }, { size: x.length });
    host.wait(launched);
    const seen: number[] = [];
    const called = host.call(() => {
      seen.push(x.data[0]);
      x.data.fill(10);
    });
    device.wait(called);
    device.launch(slowAdd, { x }, { size: x.length });
    host.wait(device.record());
    host.call(() => seen.push(x.data[4999]));
    await host.synchronize();
    assert.deepEqual(seen, [1, 11]);
    assert.ok(called.since(launched) >= 0);
  }),
);

test(
  'an array that is freed in a stream is there for what comes before, and gone behind it',
  withSpace(async (space) => {
    const [device] = space.devices;
    const x = space.array(Int32Array, 5000);
    const result = new Int32Array(5000);
    using stream = device.stream();
    stream.launch(slowAdd, { x }, { size: x.length });
    stream.copy(result, x);
    const freed = stream.free(x);
    const after = stream.prefetch(x);
    await freed.synchronize();
    sameData(result, () => 1);
    assert.equal(space.stats().allocatedBytes, 0);
    await failsWith('USE_AFTER_FREE', () => after.synchronize());
    await failsWith('USE_AFTER_FREE', () => stream.synchronize());
  }),
);

test(
  'a part is freed and discarded by whole pages, in a device’s stream too',
  withSpace(async (space) => {
    const x = space.array(Int32Array, 10 * PAGE);
    x.data.fill(7);
    using stream = space.devices[0].stream();
    await failsWith('NO_WHOLE_PAGE', () => stream.discard(x.range(1, PAGE)));
    await failsWith('NO_WHOLE_PAGE', () => stream.free(x.data.subarray(1, PAGE)));
    await failsWith('ARRAY_RANGE', () => stream.free(new Int32Array(5)));
    stream.launch(slowAdd, { x }, { size: x.length });
    const discard = stream.discard(x.range(1, 3 * PAGE));
    const free = stream.free(x.data.subarray(8 * PAGE));
    const nothing = [stream.free(x.range(5, 5)), stream.discard(x.range(5, 5))];
    await stream.synchronize();
    assert.deepEqual(
      [discard.elements, free.elements, nothing[0].elements, nothing[1].result],
      [{ begin: PAGE, end: 3 * PAGE }, { begin: 8 * PAGE, end: 10 * PAGE }, null, 'done'],
    );
    sameData(x.data.subarray(0, 8 * PAGE), (i) => (i >= PAGE && i < 3 * PAGE ? 0 : 8));
    assert.equal(x.residency().runs.at(-1)?.state, 'freed');
    assert.ok(!x.isFreed);
  }),
);

test(
  'a free or a discard that cannot be leaves the array as it was',
  withSpace(async (space) => {
    const x = space.array(Int32Array, 10 * PAGE);
    x.data.fill(7);
    using pin = await x.pin();
    using stream = space.stream();
    await failsWith('PINNED', () => stream.free(x).synchronize());
    await failsWith('PINNED', () => stream.synchronize());
    await failsWith('PINNED', () => stream.discard(x).synchronize());
    await failsWith('PINNED', () => stream.synchronize());
    pin.unpin();
    stream.call(() => Promise.reject(new Error('no')));
    const cancelled = stream.free(x);
    await failsWith('CALLBACK_ERROR', () => stream.synchronize());
    assert.deepEqual([cancelled.result, x.isFreed], ['cancelled', false]);
    sameData(x.data, () => 7);
    x.free();
    // What has been freed by then is left as it is.
    const y = space.array(Int32Array, PAGE);
    const twice = [stream.free(y), stream.free(y)];
    await stream.synchronize();
    assert.deepEqual(
      twice.map(({ result }) => result),
      ['done', 'done'],
    );
  }),
);

test('a shared file has what was written when its array has been freed in a stream', async () => {
  using folder = new Folder();
  const path = folder.file('numbers');
  const { readFileSync, writeFileSync } = await import('node:fs');
  writeFileSync(path, Buffer.alloc(4 * PAGE));
  await using space = await sharedSpace({ hostMemory: '160MiB' });
  const x = space.fileArray(Int32Array, path, { shared: true });
  x.data.fill(5);
  using stream = space.stream();
  await stream.free(x).synchronize();
  sameData(new Int32Array(readFileSync(path).buffer.slice(0)), () => 5);
  // It can be shared again at once.
  space.fileArray(Int32Array, path, { shared: true }).free();
});

test(
  'what a stream of the host cannot is refused',
  withSpace(async (space) => {
    await failsWith('OPTIONS', () => space.stream({ timeoutMs: 5 } as object));
    await failsWith('SIGNAL', () => space.stream({ signal: 1 as never }));
    await failsWith('CONSTRUCTOR', () => new (HostStream as unknown as new () => unknown)());
    using stream = space.stream();
    assert.equal(Reflect.get(stream, 'launch'), undefined);
    await failsWith('DEVICE', () => stream.prefetch(space.array(Int32Array, 1), 'gpu' as never));
    stream[Symbol.dispose]();
    await failsWith('STREAM_CLOSED', () => stream.record());
  }),
);

test('a signal cancels a stream of the host, and threads that attach have some of their own', async () => {
  await using space = await openSpace({ hostMemory: '160MiB' });
  const controller = new AbortController();
  using stream = space.stream({ signal: controller.signal });
  await stream.call(() => 1).synchronize();
  controller.abort();
  await failsWith('CANCELLED', () => stream.record().synchronize());
  const x = space.array(Int32Array, PAGE);
  const text = `
    import { workerData, parentPort } from 'node:worker_threads';
    const { attachArray } = await import(workerData.library);
    const x = attachArray(workerData.handle);
    const stream = x.space.stream();
    stream.copy(x, new Int32Array(x.length).fill(9));
    await stream.synchronize();
    await x.space.close();
  `;
  const library = new URL('../../src/index.js', import.meta.url).href;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(text)}`), {
    workerData: { library, handle: x.handle },
  });
  await new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject));
  sameData(x.data, () => 9);
});

await runTests();
