/** Streams and events: order, waiting across streams, what an error cancels, and devices that leave. */
import assert from 'node:assert/strict';
import { type AddressSpace, f64, i32, kernel, type OnememError, openSpace } from '../../src/index.js';
import { failsWith, runTests, sameData, test } from './suite.js';

const MIB = 2 ** 20;

async function withSpace(devices: number, action: (space: AddressSpace) => Promise<void>): Promise<void> {
  const kinds = Array.from({ length: devices }, () => ({ kind: 'process', memory: '8MiB' }) as const);
  await using space = await openSpace({ devices: kinds });
  await action(space);
  space.checkInvariants();
}

/** x = x * 3 + add: what comes out tells the order in which launches ran. */
const mix = kernel({ x: i32.inout, add: i32 }, ({ x, add }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = Math.imul(x[i], 3) + add;
});
/** Waits before it writes, so that whoever does not wait for it comes too early. */
const slowMix = kernel({ x: i32.inout, add: i32, ms: i32 }, async ({ x, add, ms }, { begin, end }) => {
  await new Promise((resolve) => setTimeout(resolve, ms));
  for (let i = begin; i < end; i++) x[i] = Math.imul(x[i], 3) + add;
});
const fails = kernel({ x: i32.inout }, () => {
  throw new Error('meant to fail');
});

test('operations of a stream run in the order in which they were given', () =>
  withSpace(1, async (space) => {
    const n = 2 ** 14;
    const x = space.array(Int32Array, n);
    using stream = space.devices[0].stream();
    let expected = 0;
    for (let i = 1; i <= 50; i++) {
      if (i % 10 === 3) stream.launch(slowMix, { x, add: i, ms: 5 }, { size: n });
      else stream.launch(mix, { x, add: i }, { size: n });
      if (i % 7 === 0) stream.prefetch(x.range(), i % 2 === 0 ? 'host' : undefined);
      expected = Math.imul(expected, 3) + i;
    }
    await stream.synchronize();
    sameData(x.data, () => expected);
  }));

test('a stream waits for an event of another one', () =>
  withSpace(2, async (space) => {
    const n = 2 ** 14;
    const x = space.array(Int32Array, n);
    x.data.fill(1);
    const [one, two] = space.devices.map((device) => device.stream());
    const written = one.launch(slowMix, { x, add: 5, ms: 50 }, { size: n });
    two.wait(written);
    const after = two.launch(mix, { x, add: 7 }, { size: n });
    one.wait(after);
    one.launch(mix, { x, add: 11 }, { size: n });
    await Promise.all([one.synchronize(), two.synchronize()]);
    sameData(x.data, () => ((1 * 3 + 5) * 3 + 7) * 3 + 11);
    assert.ok(after.since(written) >= 0);
    // One that has happened long ago is not waited for.
    two.wait(written);
    await two.synchronize();
  }));

test('how long operations took', () =>
  withSpace(1, async (space) => {
    const x = space.array(Int32Array, 16);
    using stream = space.devices[0].stream();
    const start = stream.record();
    const event = stream.launch(slowMix, { x, add: 1, ms: 60 }, { size: 16 });
    assert.equal(event.done, false);
    assert.equal(event.result, undefined);
    await failsWith('NOT_READY', () => event.elapsedMs);
    await failsWith('NOT_READY', () => event.since(start));
    await event.synchronize();
    assert.equal(event.done, true);
    assert.equal(event.result, 'done');
    assert.equal(event.error, null);
    assert.ok(event.elapsedMs >= 55 && event.elapsedMs < 5000, `${event.elapsedMs} ms`);
    assert.ok(event.since(start) >= 55, `${event.since(start)} ms`);
  }));

test('an error cancels what comes after it in its stream, until the program has been told', () =>
  withSpace(1, async (space) => {
    const [device] = space.devices;
    const x = space.array(Int32Array, 4096);
    using stream = device.stream();
    using other = device.stream();
    stream.launch(mix, { x, add: 1 }, { size: 4096 });
    const failing = stream.launch(fails, { x }, { size: 4096 });
    const cancelled = stream.launch(mix, { x, add: 100 }, { size: 4096 });
    const prefetch = stream.prefetch(x.range());
    other.wait(failing);
    const dependent = other.launch(mix, { x, add: 1000 }, { size: 4096 });
    const first = await failsWith('KERNEL_ERROR', () => stream.synchronize());
    assert.match(first.message, /meant to fail/);
    assert.deepEqual([failing.result, cancelled.result, prefetch.result], ['failed', 'cancelled', 'cancelled']);
    assert.equal((cancelled.error as OnememError).code, 'CANCELLED');
    await failsWith('KERNEL_ERROR', () => failing.synchronize());
    await failsWith('CANCELLED', () => cancelled.synchronize());
    // A stream that waited for what failed has failed as well.
    await failsWith('CANCELLED', () => other.synchronize());
    assert.equal(dependent.result, 'cancelled');
    sameData(x.data, () => 1);
    // Both go on once their error has been seen.
    stream.launch(mix, { x, add: 2 }, { size: 4096 });
    await stream.synchronize();
    other.launch(mix, { x, add: 3 }, { size: 4096 });
    await other.synchronize();
    sameData(x.data, () => (1 * 3 + 2) * 3 + 3);
  }));

test('an error that nobody looks at is no unhandled rejection', () =>
  withSpace(1, async (space) => {
    const x = space.array(Int32Array, 16);
    const unhandled: unknown[] = [];
    const listener = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', listener);
    const stream = space.devices[0].stream();
    const event = stream.launch(fails, { x }, { size: 16 });
    while (!event.done) await new Promise((resolve) => setTimeout(resolve, 5));
    await new Promise((resolve) => setTimeout(resolve, 50));
    process.off('unhandledRejection', listener);
    assert.deepEqual(unhandled, []);
    assert.equal(event.result, 'failed');
  }));

test('a stream that has been disposed still runs what it was given', () =>
  withSpace(1, async (space) => {
    const x = space.array(Int32Array, 16);
    const stream = space.devices[0].stream();
    const event = stream.launch(slowMix, { x, add: 4, ms: 20 }, { size: 16 });
    stream[Symbol.dispose]();
    await failsWith('STREAM_CLOSED', () => stream.record());
    await failsWith('STREAM_CLOSED', () => stream.launch(mix, { x, add: 1 }, { size: 16 }));
    await event.synchronize();
    sameData(x.data, () => 4);
  }));

test('prefetch brings pages where they are wanted, and says how many', () =>
  withSpace(1, async (space) => {
    const [device] = space.devices;
    const x = space.array(Float64Array, MIB / 8);
    x.data.fill(2.5);
    using stream = device.stream();
    const event = stream.prefetch(x.range());
    await stream.synchronize();
    assert.equal(event.bytes, MIB);
    assert.equal(x.residency().bytes[device.name], MIB);
    const before = device.stats();
    const sum = kernel({ x: f64.in, result: f64.out }, ({ x, result }) => {
      for (let i = 0; i < x.length; i++) result[0] += x[i];
    });
    const result = space.array(Float64Array, 1);
    await device.run(sum, { x, result }, { size: 1 });
    assert.equal(result.data[0], (2.5 * MIB) / 8);
    // The only fault left is for the result.
    assert.ok(device.stats().readFaults + device.stats().writeFaults - before.readFaults - before.writeFaults <= 2);
    const home = stream.prefetch(x.range(0, 512), 'host');
    await stream.synchronize();
    assert.equal(home.bytes, 4096);
  }));

test('a detached device brings its pages home first', () =>
  withSpace(2, async (space) => {
    const [leaving, staying] = space.devices;
    const n = 4 * MIB;
    const x = space.array(Int32Array, n);
    for (let i = 0; i < n; i++) x.data[i] = i;
    using stream = leaving.stream();
    // Twice the device's memory, so that a part of it is on the device when it leaves.
    stream.launch(mix, { x, add: 1 }, { size: n });
    await leaving.detach();
    await leaving.detach();
    const { bytes } = x.residency();
    assert.equal(bytes[leaving.name], undefined);
    sameData(x.data, (i) => Math.imul(i, 3) + 1);
    await failsWith('DEVICE_DETACHED', () => leaving.stream());
    await failsWith('DEVICE_DETACHED', () => stream.launch(mix, { x, add: 1 }, { size: n }));
    await failsWith('DEVICE_DETACHED', () => stream.prefetch(x.range()));
    await staying.run(mix, { x, add: 2 }, { size: n });
    sameData(x.data, (i) => Math.imul(Math.imul(i, 3) + 1, 3) + 2);
    assert.equal(leaving.stats().alive, false);
    assert.equal(leaving.stats().launches, 1);
  }));

test('a device that is detached while it dies', () =>
  withSpace(1, async (space) => {
    const [device] = space.devices;
    const n = 4 * MIB;
    const x = space.array(Int32Array, n);
    x.data.fill(3);
    const event = device.stream().launch(mix, { x, add: 1 }, { size: n });
    const detached = device.detach();
    process.kill(device.pid as number, 'SIGKILL');
    await detached;
    await event.synchronize().catch((error: unknown) => {
      assert.equal((error as OnememError).code, 'DEVICE_LOST');
    });
    // Each element is as it was, or as the launch made it.
    const bad = x.data.find((value) => value !== 3 && value !== 10);
    assert.equal(bad, undefined);
  }));

test('launches of several streams on several devices', () =>
  withSpace(3, async (space) => {
    const n = 3 * 2 ** 18;
    const x = space.array(Int32Array, n);
    const part = n / 3;
    const streams = space.devices.flatMap((device) => [device.stream(), device.stream()]);
    for (let round = 1; round <= 4; round++) {
      for (const [index, stream] of streams.entries()) {
        const begin = Math.floor(index / 2) * part;
        // The two streams of a device write different halves of its part.
        const half = begin + (index % 2) * (part / 2);
        stream.launch(mix, { x, add: round }, { size: n, begin: half, end: half + part / 2 });
      }
    }
    await Promise.all(streams.map((stream) => stream.synchronize()));
    let expected = 0;
    for (let round = 1; round <= 4; round++) expected = Math.imul(expected, 3) + round;
    sameData(x.data, () => expected);
  }));

await runTests();
