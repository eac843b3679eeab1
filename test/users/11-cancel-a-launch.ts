/**
 * Launches that are ended before their time: by a signal, by a limit of time, by the close of the
 * space.
 */
import assert from 'node:assert/strict';
import {
  type AddressSpace,
  type Device,
  i32,
  kernel,
  type OnememError,
  openSpace,
} from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, longTest, runTests, sameData, sleep, test } from '../harness/suite.js';

const N = 1 << 20;
const parameters = { x: i32.inout };
const add = kernel(parameters, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});
const endless = kernel(parameters, ({ x }, { begin }) => {
  for (;;) x[begin] += 1;
});
/**
 * Touches more pages than the device has memory for, over and over: it waits in a fault most of the
 * time.
 */
const faulting = kernel(parameters, ({ x }, { begin, end }) => {
  for (;;) for (let i = begin; i < end; i += 1024) x[i] += 1;
});
const waiting = kernel(parameters, () => new Promise<void>(() => undefined));
const module = new URL('./programs/ending-kernels.js', import.meta.url);

async function withDevice(
  work: (device: Device, space: AddressSpace) => Promise<unknown>,
  { memory = '16MiB', units = 2, open = sharedSpace } = {},
): Promise<void> {
  const space = await open({ devices: [{ kind: 'process', memory, units }], hostMemory: '256MiB' });
  await work(space.devices[0], space);
  await space.close();
}

/** Waits until the device has had more launches than before, and has run the last one for a while. */
async function begun(device: Device, before: number): Promise<void> {
  while (device.stats().launches === before) await sleep(1);
  await sleep(30);
}

for (const [what, never] of Object.entries({ endless, faulting, waiting })) {
  test(`a signal ends a launch that runs, and the device goes on (${what})`, () =>
    withDevice(
      async (device, space) => {
        const { pid } = device;
        const x = space.array(Int32Array, 4 * N);
        const other = space.array(Int32Array, N);
        const controller = new AbortController();
        const why = new Error('not needed any more');
        const { launches } = device.stats();
        const running = device.run(never, { x }, { size: x.length, signal: controller.signal });
        const next = device.run(add, { x: other }, { size: N });
        await begun(device, launches);
        controller.abort(why);
        const error = await failsWith('ABORTED', () => running);
        assert.equal(error.cause, why);
        assert.deepEqual((error as OnememError).ranges, [
          { parameter: 'x', offset: x.handle.firstPage * 4096, length: x.length },
        ]);
        assert.ok(x.indeterminate);
        await next;
        sameData(other.data, () => 1);
        assert.ok(!other.indeterminate);
        assert.equal(device.pid, pid);
        assert.ok(device.stats().alive);
      },
      { memory: '6MiB' },
    ));
}

test('a launch that runs longer than timeoutMs is ended, and what overwrites its arrays makes them sure again', () =>
  withDevice(async (device, space) => {
    const x = space.array(Int32Array, N);
    const error = await failsWith('TIMEOUT', () =>
      device.run(endless, { x }, { size: N, timeoutMs: 30 }),
    );
    assert.match(
      error.message,
      /ran for more than 30 ms.*arrays that it was writing are indeterminate/,
    );
    assert.ok(x.indeterminate);
    const fill = kernel({ x: i32.out }, ({ x }, { begin, end }) => {
      x.fill(5, begin, end);
    });
    await device.run(fill, { x }, { size: N });
    assert.ok(!x.indeterminate);
    sameData(x.data, () => 5);
  }));

test('timeoutMs counts from the turn of a launch, and a launch has its own before that of its stream', () =>
  withDevice(async (device, space) => {
    const x = space.array(Int32Array, N);
    const slow = kernel(parameters, () => new Promise<void>((resolve) => setTimeout(resolve, 900)));
    using stream = device.stream({ timeoutMs: 2000 });
    // Longer together than each of them may run.
    const events = [0, 1, 2].map(() => stream.launch(slow, { x }, { size: 1 }));
    for (const event of events) await event.synchronize();
    const own = stream.launch(endless, { x }, { size: 1, timeoutMs: 20 });
    const after = stream.launch(add, { x }, { size: N });
    assert.match((await failsWith('TIMEOUT', () => own.synchronize())).message, /more than 20 ms/);
    await failsWith('CANCELLED', () => after.synchronize());
    assert.equal(own.result, 'failed');
    await failsWith('TIMEOUT', () => stream.synchronize());
    const streams = stream.launch(endless, { x }, { size: 1 });
    assert.match(
      (await failsWith('TIMEOUT', () => streams.synchronize())).message,
      /more than 2000 ms/,
    );
  }));

test("a stream's signal ends what runs and cancels what waits", () =>
  withDevice(async (device, space) => {
    const x = space.array(Int32Array, N);
    const controller = new AbortController();
    using stream = device.stream({ signal: controller.signal });
    const { launches } = device.stats();
    const running = stream.launch(endless, { x }, { size: N });
    const later = stream.launch(add, { x }, { size: N });
    await begun(device, launches);
    controller.abort();
    await failsWith('ABORTED', () => running.synchronize());
    await failsWith('CANCELLED', () => later.synchronize());
    await device.run(add, { x }, { size: N });
  }));

test('a launch that waits for its device is cancelled, and touches nothing', () =>
  withDevice(async (device, space) => {
    const x = space.array(Int32Array, N);
    const y = space.array(Int32Array, N);
    const running = failsWith('TIMEOUT', () =>
      device.run(endless, { x }, { size: N, timeoutMs: 300 }),
    );
    const controller = new AbortController();
    const cancelled = device.run(add, { x: y }, { size: N, signal: controller.signal });
    controller.abort();
    await failsWith('CANCELLED', () => cancelled);
    await running;
    assert.ok(!y.indeterminate);
    sameData(y.data, () => 0);
  }));

longTest(
  'a launch that is aborted at the moment at which it ends hurts no other launch',
  () =>
    withDevice(
      async (device, space) => {
        const x = space.array(Int32Array, 4096);
        const y = space.array(Int32Array, 4096);
        let done = 0;
        for (let round = 0; round < 150; round++) {
          const controller = new AbortController();
          const running = device.run(add, { x }, { size: 4096, signal: controller.signal });
          const next = device.run(add, { x: y }, { size: 4096 });
          const until = performance.now() + (round % 30) / 20;
          while (performance.now() < until);
          controller.abort();
          await running.catch((error: OnememError) =>
            assert.match(error.code, /^(ABORTED|CANCELLED)$/),
          );
          await next;
          done++;
          sameData(y.data, () => done);
        }
      },
      { units: 3 },
    ),
  60,
);

longTest(
  'a kernel in a system call that nothing interrupts ends with its device, whose pages survive',
  () =>
    withDevice(async (device, space) => {
      const x = space.array(Int32Array, N);
      const y = space.array(Int32Array, N);
      await device.run(add, { x }, { size: N });
      // The unit has loaded the module when it is to read, so that the time is over while it reads.
      await device.run(
        kernel({ x: i32.out }, { module, export: 'openPipe' }),
        { x: y },
        { size: 1 },
      );
      const read = kernel({ x: i32.inout, fd: i32 }, { module, export: 'readForEver' });
      const error = await failsWith('TIMEOUT', () =>
        device.run(read, { x: y, fd: y.data[0] }, { size: 1, timeoutMs: 300 }),
      );
      assert.match(error.message, /lost with it: it did not end a launch within 5 s/);
      assert.equal(device.stats().alive, false);
      await failsWith('DEVICE_LOST', () => device.run(add, { x }, { size: N }));
      sameData(x.data, () => 1);
    }),
);

longTest('close() with a limit ends what still runs; also when it is called again', () =>
  withDevice(
    async (device, space) => {
      const x = space.array(Int32Array, N);
      const running = device.run(endless, { x }, { size: N });
      const closing = space.close();
      const again = space.close({ timeoutMs: 50 });
      const error = await failsWith('ABORTED', () => running);
      assert.match(error.message, /the space is being closed/);
      await Promise.all([closing, again]);
      await failsWith('TIMEOUT_MS', () => space.close({ timeoutMs: -1 }));
    },
    { open: openSpace },
  ),
);

test('a device that cannot end a kernel refuses timeoutMs, and lets what runs finish', async () => {
  const space = await openSpace({
    devices: [{ kind: 'simulated', memory: '16MiB' }],
    hostMemory: '256MiB',
  });
  const [device] = space.devices;
  assert.equal(device.capabilities.cancellation, false);
  const x = space.array(Int32Array, 4096);
  await failsWith('NO_CANCELLATION', () => device.run(add, { x }, { size: 4096, timeoutMs: 10 }));
  await failsWith('NO_CANCELLATION', () => device.stream({ timeoutMs: 10 }));
  const controller = new AbortController();
  using stream = device.stream();
  const first = stream.launch(add, { x }, { size: 4096, signal: controller.signal });
  await first.synchronize();
  controller.abort();
  const cancelled = stream.launch(add, { x }, { size: 4096, signal: controller.signal });
  await failsWith('CANCELLED', () => cancelled.synchronize());
  sameData(x.data, () => 1);
  await space.close();
});

test('a time that is none is refused by name', () =>
  withDevice(async (device, space) => {
    const x = space.array(Int32Array, 1);
    for (const timeoutMs of [0, -1, Number.NaN, '5' as unknown as number]) {
      await failsWith('TIMEOUT_MS', () => device.run(add, { x }, { size: 1, timeoutMs }));
      await failsWith('TIMEOUT_MS', () => device.stream({ timeoutMs }));
    }
  }));

await runTests();
