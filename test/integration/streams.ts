/**
 * Streams and events: order, waiting across streams, what an error cancels, and devices that leave.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import {
  type AddressSpace,
  type DeviceSpecification,
  f64,
  i32,
  kernel,
  type OnememError,
  openSpace,
  StreamEvent,
  u32,
} from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import {
  failsWith,
  longTest,
  runTests,
  sameData,
  sleep,
  test,
  variantTest,
} from '../harness/suite.js';

const MIB = 2 ** 20;

async function withSpace(
  devices: number,
  action: (space: AddressSpace) => Promise<void>,
): Promise<void> {
  const kinds = Array.from(
    { length: devices },
    () => ({ kind: 'process', memory: '8MiB' }) as const,
  );
  await using space = await sharedSpace({ devices: kinds });
  await action(space);
  space.checkInvariants();
}

/** x = x * 3 + add: what comes out tells the order in which launches ran. */
const mix = kernel({ x: i32.inout, add: i32 }, ({ x, add }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = Math.imul(x[i], 3) + add;
});
/** Waits before it writes, so that a reader that does not wait for it comes too early. */
const slowMix = kernel(
  { x: i32.inout, add: i32, ms: i32 },
  async ({ x, add, ms }, { begin, end }) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    for (let i = begin; i < end; i++) x[i] = Math.imul(x[i], 3) + add;
  },
);
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

const count = kernel({ sizes: u32.out, to: u32 }, ({ sizes, to }) => void sizes.fill(to));
const name = kernel({ x: i32.out }, ({ x }, { begin, end, size }) => {
  for (let i = begin; i < end; i++) x[i] = size;
});

test('a launch whose size stands in an array goes by what the one before it has written', () =>
  withSpace(1, async (space) => {
    const x = space.array(Int32Array, 2 ** 20);
    x.data.fill(-1);
    const sizes = space.array(Uint32Array, 3);
    using stream = space.devices[0].stream();
    stream.launch(count, { sizes, to: 700 }, { size: 1 });
    stream.launch(name, { x }, { size: sizes.data.subarray(1, 2) });
    await stream.synchronize();
    sameData(x.data, (i) => (i < 700 ? 700 : 0));
    stream.launch(count, { sizes, to: 90 }, { size: 1 });
    await stream.launch(name, { x }, { size: sizes }).synchronize();
    sameData(x.data, (i) => (i < 90 ** 3 ? 90 ** 3 : 0));
  }));

test('a launch whose size is 0 by then runs nothing, and leaves its arrays as they are', () =>
  withSpace(1, async (space) => {
    const x = space.array(Int32Array, 1000);
    x.data.fill(5);
    const sizes = space.array(Uint32Array, 3);
    sizes.data.set([9, 0, 9]);
    await space.devices[0].run(name, { x }, { size: sizes.range(0, 3) });
    sameData(x.data, () => 5);
  }));

test('a size that is no size by then fails its launch, and names what was read', () =>
  withSpace(1, async (space) => {
    const x = space.array(Int32Array, 1000);
    const sizes = space.array(Uint32Array, 3);
    sizes.data.fill(2 ** 32 - 1);
    const [device] = space.devices;
    const { message } = await failsWith('SIZE', () => device.run(name, { x }, { size: sizes }));
    assert.match(message, /its size is 4294967295 x 4294967295 x 4294967295/);
    using stream = device.stream();
    stream.launch(slowMix, { x, add: 1, ms: 50 }, { size: 1 });
    const event = stream.launch(name, { x }, { size: sizes.range(0, 1) });
    sizes.free();
    await failsWith('USE_AFTER_FREE', () => event.synchronize());
  }));

test('what cannot tell a size is refused at once', () =>
  withSpace(1, async (space) => {
    const x = space.array(Int32Array, 1000);
    const sizes = space.array(Uint32Array, 8);
    const [device] = space.devices;
    const refuses = async (code: string, message: RegExp, options: object): Promise<void> =>
      assert.match(
        (await failsWith(code, () => device.run(name, { x }, options as { size: number }))).message,
        message,
      );
    await refuses('SIZE', /one to three elements of a Uint32Array, not in 8 of array/, {
      size: sizes,
    });
    await refuses('SIZE', /not in 1 of array .* \(Int32Array\)/, { size: x.range(0, 1) });
    await refuses('SIZE', /elements of a managed Uint32Array/, { size: new Uint32Array(1) });
    await refuses('LAUNCH_RANGE', /leave out begin and end/, {
      size: sizes.range(0, 1),
      begin: 1,
      end: 2,
    });
    await refuses('OPTIONS', /cannot be verified/, { size: sizes.range(0, 1), verify: true });
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
    assert.deepEqual(
      [failing.result, cancelled.result, prefetch.result],
      ['failed', 'cancelled', 'cancelled'],
    );
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
    assert.ok(
      device.stats().readFaults +
        device.stats().writeFaults -
        before.readFaults -
        before.writeFaults <=
        2,
    );
    const home = stream.prefetch(x.range(0, 512), 'host');
    await stream.synchronize();
    assert.equal(home.bytes, 4096);
  }));

longTest('a detached device brings its pages home first', () =>
  withSpace(2, async (space) => {
    const [leaving, staying] = space.devices;
    const n = 4 * MIB;
    const { launches } = leaving.stats();
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
    assert.equal(leaving.stats().launches, launches + 1);
  }),
);

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
      assert.match((error as OnememError).code, /^DEVICE_(LOST|DETACHED)$/);
    });
    // Each element is as it was, or as the launch made it.
    const bad = x.data.find((value) => value !== 3 && value !== 10);
    assert.equal(bad, undefined);
  }));

longTest('launches of several streams on several devices', () =>
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
  }),
);

/** What a promise rejects with; it must. */
async function rejection(promise: Promise<unknown>): Promise<OnememError> {
  return promise.then(
    () => assert.fail('it should have been rejected'),
    (error: OnememError) => error,
  );
}

const KINDS: readonly DeviceSpecification[] = [
  { kind: 'process', memory: '8MiB' },
  { kind: 'simulated', memory: '8MiB' },
];

for (const specification of KINDS) {
  variantTest(`functions of the program run in their turn: ${specification.kind}`, async () => {
    await using space = await sharedSpace({ devices: [specification] });
    const [device] = space.devices;
    const n = 2 ** 14;
    const x = space.array(Int32Array, n);
    using stream = device.stream();
    const seen: number[] = [];
    let expected = 0;
    for (let i = 1; i <= 30; i++) {
      stream.launch(mix, { x, add: i }, { size: n });
      expected = Math.imul(expected, 3) + i;
      stream.call(() => {
        seen.push(x.data[i]);
      });
      stream.call(async () => {
        // Later work waits for the promise: the device must not have gone on.
        const before = x.data[n - 1];
        await sleep(i % 5);
        assert.equal(x.data[n - 1], before);
        x.data[i]++;
        x.data[i]--;
      });
    }
    await stream.synchronize();
    let value = 0;
    assert.deepEqual(
      seen,
      Array.from({ length: 30 }, (_, i) => {
        value = Math.imul(value, 3) + i + 1;
        return value;
      }),
    );
    sameData(x.data, () => expected);
    space.checkInvariants();
  });
}

test('a function that throws or rejects fails its stream', () =>
  withSpace(1, async (space) => {
    const x = space.array(Int32Array, 16);
    using stream = space.devices[0].stream();
    using other = space.devices[0].stream();
    let called = 0;
    for (const how of ['throws', 'rejects'] as const) {
      const thrown = new RangeError(`meant to fail: ${how}`);
      const event = stream.call(
        how === 'throws' ? () => assert.fail(thrown) : () => Promise.reject(thrown),
      );
      const later = stream.launch(mix, { x, add: 1 }, { size: 16 });
      const never = stream.call(() => called++);
      other.wait(event);
      const dependent = other.call(() => called++);
      const error = await failsWith('CALLBACK_ERROR', () => stream.synchronize());
      assert.match(error.message, /a function that the stream called failed: meant to fail/);
      assert.equal(error.cause, thrown);
      assert.equal(event.error?.cause, thrown);
      assert.match(error.stack ?? '', /streams/);
      assert.deepEqual(
        [event.result, later.result, never.result],
        ['failed', 'cancelled', 'cancelled'],
      );
      await failsWith('CANCELLED', () => other.synchronize());
      assert.equal(dependent.result, 'cancelled');
    }
    const odd = stream.call(() => Promise.reject('no error at all'));
    assert.equal(
      (await failsWith('CALLBACK_ERROR', () => odd.synchronize())).cause,
      'no error at all',
    );
    await stream.synchronize().catch(() => undefined);
    assert.equal(called, 0);
    sameData(x.data, () => 0);
    await stream.call(() => called++).synchronize();
    assert.equal(called, 1);
    await failsWith('CALLBACK', () => stream.call('function' as never));
  }));

test('a function may use the space, and is refused where it would wait for itself', () =>
  withSpace(1, async (space) => {
    const [device] = space.devices;
    const x = space.array(Int32Array, 4096);
    using stream = device.stream();
    using other = device.stream();
    const earlier = stream.launch(mix, { x, add: 1 }, { size: 4096 });
    let own: StreamEvent | null = null;
    const event = stream.call(async () => {
      await earlier.synchronize();
      // Streams of their own go on meanwhile.
      await device.run(mix, { x, add: 2 }, { size: 4096 });
      other.launch(mix, { x, add: 3 }, { size: 4096 });
      await other.synchronize();
      await failsWith('DEADLOCK', () => stream.synchronize());
      await failsWith('DEADLOCK', () => own?.synchronize());
      await sleep(1);
      await failsWith('DEADLOCK', () =>
        stream.launch(mix, { x, add: 4 }, { size: 4096 }).synchronize(),
      );
      // What is not awaited here is waited for afterwards.
      setTimeout(() => stream.synchronize().then(after, after), 60);
    });
    own = event;
    let waited = 0;
    const after = (error?: unknown): void => {
      assert.equal(error, undefined);
      waited++;
    };
    await event.synchronize();
    await stream.synchronize();
    sameData(x.data, () => ((1 * 3 + 2) * 3 + 3) * 3 + 4);
    while (waited === 0) await sleep(5);
  }));

/** Programs make no events: that of another thread's stream is none that a user gets hold of. */
const EventOf = StreamEvent as unknown as new (
  stream: { id: number; space: AddressSpace; order: object },
  sequence: number,
) => StreamEvent;

test('a function whose thread has ended fails its stream, and nobody waits for it', () =>
  withSpace(1, async (space) => {
    const [device] = space.devices;
    const x = space.array(Int32Array, 16);
    for (const how of ['terminate', 'leave']) {
      const worker = new Worker(new URL('./programs/calling-thread.js', import.meta.url), {
        workerData: { array: x.handle, how },
      });
      const [message] = await once(worker, 'message');
      using stream = device.stream();
      // The last operation of the worker's stream waits for its function, which never ends.
      const { id, sequence } = message as { id: number; sequence: number };
      stream.wait(new EventOf({ id, space, order: { now: new Map() } }, sequence));
      const event = stream.launch(mix, { x, add: 1 }, { size: 16 });
      if (how === 'terminate') await worker.terminate();
      else worker.postMessage('leave');
      await failsWith('CANCELLED', () => stream.synchronize());
      assert.equal(event.result, 'cancelled');
      await worker.terminate();
    }
    sameData(x.data, () => 0);
  }));

test('the space is closed while a function runs', async () => {
  const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  const stream = space.devices[0].stream();
  let release = (): void => undefined;
  const started = new Promise<void>((resolve) => {
    stream.call(async () => {
      resolve();
      await new Promise<void>((done) => {
        release = done;
      });
    });
  });
  const late = stream.call(() => assert.fail('it must not be called any more'));
  await started;
  await space.close();
  await failsWith('SPACE_CLOSED', () => late.synchronize());
  await failsWith('SPACE_CLOSED', () => late.elapsedMs);
  release();
  await sleep(20);
});

test('a signal cancels what has not begun, for good', () =>
  withSpace(1, async (space) => {
    const [device] = space.devices;
    const x = space.array(Int32Array, 4096);
    const controller = new AbortController();
    const reason = new Error('enough');
    const stream = device.stream({ signal: controller.signal });
    let begun = (): void => undefined;
    const calling = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const first = stream.launch(mix, { x, add: 1 }, { size: 4096 });
    const runs = stream.call(async () => {
      begun();
      await sleep(50);
    });
    const waits = stream.launch(mix, { x, add: 2 }, { size: 4096 });
    const copies = stream.copy(new Int32Array(4096), x);
    await calling;
    controller.abort(reason);
    const error = await rejection(stream.synchronize());
    assert.equal(error.code, 'CANCELLED');
    assert.equal(error.cause, reason);
    assert.match(error.message, /its signal was aborted \(enough\)/);
    assert.deepEqual(
      [first, runs, waits, copies].map(({ result }) => result),
      ['done', 'done', 'cancelled', 'cancelled'],
    );
    assert.equal(copies.error?.cause, reason);
    // It stays so.
    const late = stream.launch(mix, { x, add: 3 }, { size: 4096 });
    assert.equal((await rejection(late.synchronize())).cause, reason);
    assert.equal((await rejection(stream.synchronize())).cause, reason);
    assert.equal((await rejection(stream.synchronize())).cause, reason);
    sameData(x.data, () => 1);
  }));

test('a signal that was aborted before cancels all', () =>
  withSpace(1, async (space) => {
    const [device] = space.devices;
    const x = space.array(Int32Array, 4096);
    using never = device.stream({ signal: AbortSignal.abort('from the start') });
    const launch = never.launch(mix, { x, add: 4 }, { size: 4096 });
    assert.equal((await rejection(launch.synchronize())).cause, 'from the start');
    sameData(x.data, () => 0);
    await failsWith('SIGNAL', () => device.stream({ signal: 'abort' as never }));
  }));

test('a stream that has been disposed still hears of its signal', () =>
  withSpace(1, async (space) => {
    const [device] = space.devices;
    const x = space.array(Int32Array, 4096);
    const second = new AbortController();
    const disposed = device.stream({ signal: second.signal });
    const { launches } = device.stats();
    const running = disposed.launch(slowMix, { x, add: 5, ms: 60_000 }, { size: 4096 });
    const queued = disposed.launch(mix, { x, add: 6 }, { size: 4096 });
    disposed[Symbol.dispose]();
    while (device.stats().launches === launches) await sleep(1);
    second.abort();
    assert.equal((await rejection(running.synchronize())).cause, second.signal.reason);
    assert.equal((await rejection(queued.synchronize())).cause, second.signal.reason);
    assert.deepEqual([running.result, queued.result], ['failed', 'cancelled']);
    assert.equal(space.stats().allocatedBytes, 4 * 4096);
  }));

test('a launch that waits for its device has not begun, and is cancelled by its own signal', () =>
  withSpace(1, async (space) => {
    const [device] = space.devices;
    const x = space.array(Int32Array, 4096);
    const y = space.array(Int32Array, 4096);
    const ending = new AbortController();
    const busy = rejection(
      device.run(slowMix, { x, add: 1, ms: 60_000 }, { size: 4096, signal: ending.signal }),
    );
    const controller = new AbortController();
    const waiting = device.run(mix, { x: y, add: 2 }, { size: 4096, signal: controller.signal });
    const behind = device.run(mix, { x: y, add: 3 }, { size: 4096 });
    setTimeout(() => controller.abort(new TypeError('stop')), 10);
    const error = await rejection(waiting);
    assert.equal(error.code, 'CANCELLED');
    assert.ok(error.cause instanceof TypeError);
    // The launch before it, for which it did not wait, goes on until it is ended.
    ending.abort();
    await Promise.all([busy, behind]);
    sameData(y.data, () => 3);
  }));

test('a launch that has ended does not mind its signal, and one whose signal was aborted before stages nothing', () =>
  withSpace(1, async (space) => {
    const [device] = space.devices;
    const x = space.array(Int32Array, 4096);
    const late = new AbortController();
    await device.run(slowMix, { x, add: 2, ms: 1 }, { size: 4096, signal: late.signal });
    late.abort();
    sameData(x.data, () => 2);
    const plain = new Int32Array(4096).fill(9);
    const aborted = await rejection(
      device.run(mix, { x: plain, add: 1 }, { size: 4096, signal: AbortSignal.abort('no') }),
    );
    assert.equal(aborted.cause, 'no');
    sameData(plain, () => 9);
    assert.equal(space.stats().allocatedBytes, 4 * 4096);
  }));

test('a launch in the middle of a stream that is cancelled cancels what comes after it, as a failure does', () =>
  withSpace(1, async (space) => {
    const x = space.array(Int32Array, 4096);
    using stream = space.devices[0].stream();
    const middle = new AbortController();
    const before = stream.launch(slowMix, { x, add: 1, ms: 30 }, { size: 4096 });
    const cancelled = stream.launch(mix, { x, add: 100 }, { size: 4096, signal: middle.signal });
    const after = stream.launch(mix, { x, add: 1000 }, { size: 4096 });
    middle.abort('not this one');
    assert.equal((await rejection(stream.synchronize())).cause, 'not this one');
    assert.deepEqual(
      [before.result, cancelled.result, after.result],
      ['done', 'cancelled', 'cancelled'],
    );
    assert.equal((after.error as OnememError).code, 'CANCELLED');
    assert.match(after.error?.message ?? '', /not this one/);
    stream.launch(mix, { x, add: 7 }, { size: 4096 });
    await stream.synchronize();
    sameData(x.data, () => 1 * 3 + 7);
  }));

test('a stream that waits for another one has not begun what comes after', () =>
  withSpace(2, async (space) => {
    const [device, second] = space.devices;
    const x = space.array(Int32Array, 4096);
    const ends = new AbortController();
    using stream = second.stream({ signal: ends.signal });
    const waits = new AbortController();
    using patient = device.stream({ signal: waits.signal });
    const slow = stream.launch(slowMix, { x, add: 0, ms: 60_000 }, { size: 4096 });
    patient.wait(slow);
    const dependent = patient.launch(mix, { x, add: 1 }, { size: 4096 });
    await sleep(5);
    waits.abort('tired');
    assert.equal((await rejection(dependent.synchronize())).cause, 'tired');
    assert.equal(slow.done, false);
    ends.abort('enough');
    assert.equal((await rejection(slow.synchronize())).cause, 'enough');
  }));

test('prefetch says which elements it was about', () =>
  withSpace(1, async (space) => {
    const x = space.array(Float64Array, 2 * MIB);
    x.data.fill(1);
    using stream = space.devices[0].stream();
    const part = stream.prefetch(x.range(600, 1030));
    const end = stream.prefetch(x.range(2 * MIB - 1, 2 * MIB));
    // 16 MiB to a device of 8: as much as it has room for.
    const all = stream.prefetch(x.range());
    const marker = stream.record();
    assert.equal(part.elements, null);
    await stream.synchronize();
    assert.deepEqual([part.elements, part.bytes], [{ begin: 512, end: 1536 }, 8192]);
    assert.deepEqual([end.elements, end.bytes], [{ begin: 2 * MIB - 512, end: 2 * MIB }, 4096]);
    assert.equal(all.elements?.begin, 0);
    const room = all.elements?.end ?? 0;
    assert.ok(room > MIB / 2 && room < 2 * MIB, `${room} elements`);
    assert.equal(all.bytes, room * 8);
    assert.equal(marker.elements, null);
  }));

longTest('many operations that end at once', () =>
  withSpace(1, async (space) => {
    const x = space.array(Int32Array, 16);
    using stream = space.devices[0].stream();
    stream.launch(slowMix, { x, add: 1, ms: 100 }, { size: 16 });
    const events = Array.from({ length: 20_000 }, () => stream.record());
    await stream.synchronize();
    assert.ok(events.every(({ result }) => result === 'done'));
  }),
);

test('times of different spaces are not compared', () =>
  withSpace(1, async (space) => {
    await using elsewhere = await openSpace({ devices: [{ kind: 'simulated', memory: '4MiB' }] });
    const here = space.devices[0].stream().record();
    const there = elsewhere.devices[0].stream().record();
    await Promise.all([here.synchronize(), there.synchronize()]);
    await failsWith('FOREIGN_EVENT', () => here.since(there));
  }));

for (const kind of ['process', 'simulated'] as const) {
  variantTest(
    `a part that is exclusive to a ${kind} device is its alone until somebody else touches it`,
    async () => {
      await using space = await sharedSpace({
        devices: [{ kind, memory: '8MiB' }],
        checkInvariants: true,
      });
      const [device] = space.devices;
      const x = space.array(Int32Array, MIB);
      x.data.fill(1);
      using stream = device.stream();
      const event = stream.exclusive(x.range(0, 5000));
      await stream.synchronize();
      assert.deepEqual(event.elements, { begin: 0, end: 5120 });
      const [first, rest] = x.residency().runs;
      assert.deepEqual(
        [first.end, first.nodes, first.access],
        [5120, [device.name], { [device.name]: 'write' }],
      );
      assert.deepEqual(rest.nodes, ['host']);
      await device.run(mix, { x, add: 1 }, { size: MIB });
      // A touch of the CPU ends it, and nothing is lost.
      x.data[3]++;
      assert.deepEqual([x.data[3], x.data[4]], [5, 4]);
      assert.equal(x.residency({ begin: 3, end: 4 }).runs[0].access[device.name], undefined);
      await x.protect('read');
      stream.exclusive(x.range(0, 10));
      await assert.rejects(stream.synchronize(), { code: 'ACCESS_DENIED' });
      const large = space.array(Int32Array, 8 * MIB);
      stream.exclusive(large.range());
      await assert.rejects(stream.synchronize(), { code: 'DEVICE_MEMORY' });
      sameData(x.data, (index) => (index === 3 ? 5 : 4));
    },
  );
}

await runTests();
