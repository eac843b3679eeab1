/** Devices that come later, and devices that come again. */
import assert from 'node:assert/strict';
import { Worker } from 'node:worker_threads';
import { type AddressSpace, i32, kernel, openSpace, type SpaceOptions } from '../../src/index.js';
import { stopProcess } from '../harness/processes.js';
import { failsWith, longTest, runTests, sameData, test } from '../harness/suite.js';

const N = 1 << 19;
const parameters = { x: i32.inout };
const add = kernel(parameters, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});
const endless = kernel(parameters, ({ x }, { begin }) => {
  for (;;) x[begin] += 1;
});

async function withSpace(
  devices: SpaceOptions['devices'],
  work: (space: AddressSpace) => Promise<unknown>,
): Promise<void> {
  const space = await openSpace({ devices, hostMemory: '256MiB', checkInvariants: true });
  await work(space);
  await space.close();
}

longTest('a device that has died starts again, and goes on as the same object', () =>
  withSpace([{ kind: 'process', memory: '8MiB', units: 2, name: 'worker' }], async (space) => {
    const [device] = space.devices;
    const x = space.array(Int32Array, N);
    using stream = device.stream();
    for (let round = 1; round <= 3; round++) {
      stream.launch(add, { x }, { size: N });
      await stream.synchronize();
      const { pid } = device;
      device.kill();
      await failsWith('DEVICE_LOST', () => device.run(add, { x }, { size: N }));
      await device.restart();
      assert.notEqual(device.pid, pid);
      assert.ok(device.stats().alive);
      assert.equal(device.units, 2);
      assert.equal(space.stats().processors.filter(({ name }) => name === 'worker').length, 1);
      sameData(x.data, () => round);
    }
    assert.deepEqual(space.devices, [device]);
  }),
);

longTest('a device that hangs is ended by its restart, and so is one that is stopped', () =>
  withSpace([{ kind: 'process', memory: '8MiB' }], async (space) => {
    const [device] = space.devices;
    const x = space.array(Int32Array, N);
    const y = space.array(Int32Array, N);
    const running = device.run(endless, { x }, { size: N });
    await Promise.all([
      device.restart(),
      device.restart(),
      failsWith('DEVICE_LOST', () => running),
    ]);
    await device.run(add, { x: y }, { size: N });
    await stopProcess(device.pid as number);
    const stopped = device.run(add, { x: y }, { size: N });
    await Promise.all([device.restart(), failsWith('DEVICE_LOST', () => stopped)]);
    await device.run(add, { x }, { size: N });
    sameData(y.data, () => 1);
  }),
);

longTest('a lossy device starts again with nothing, and what it had is lost by name', () =>
  withSpace([{ kind: 'process', memory: '8MiB', lossy: true }], async (space) => {
    const [device] = space.devices;
    const x = space.array(Int32Array, N, { name: 'gone' });
    await device.run(add, { x }, { size: N });
    await device.restart();
    const error = await failsWith('DATA_LOST', () => device.run(add, { x }, { size: N }));
    assert.match(error.message, /array gone/);
    const fill = kernel({ x: i32.out }, ({ x }, { begin, end }) => {
      x.fill(3, begin, end);
    });
    await device.run(fill, { x }, { size: N });
    sameData(x.data, () => 3);
  }),
);

longTest('devices are added while others work, and after a detach', () =>
  withSpace([], async (space) => {
    const x = space.array(Int32Array, N);
    const first = await space.addDevice({ kind: 'process', memory: '8MiB', name: 'first' });
    const cancel = new AbortController();
    const running = failsWith('ABORTED', () =>
      first.run(endless, { x }, { size: N, signal: cancel.signal }),
    );
    const [second, third] = await Promise.all([
      space.addDevice({ kind: 'process', memory: '8MiB' }),
      space.addDevice({ kind: 'simulated', memory: '8MiB', name: 'third' }),
    ]);
    const y = space.array(Int32Array, N);
    await second.run(add, { x: y }, { size: N });
    await third.run(add, { x: y }, { size: N });
    cancel.abort();
    await running;
    sameData(y.data, () => 2);
    assert.deepEqual(new Set(space.devices), new Set([first, second, third]));
    // The number of one that has left is another one's then; the old object is not.
    await first.detach();
    const fourth = await space.addDevice({ kind: 'process', memory: '8MiB', name: 'fourth' });
    await failsWith('DEVICE_DETACHED', () => first.run(add, { x: y }, { size: N }));
    await fourth.run(add, { x: y }, { size: N });
    await first.restart();
    await first.run(add, { x: y }, { size: N });
    sameData(y.data, () => 4);
  }),
);

test('a device that cannot be added is refused, and leaves nothing behind', () =>
  withSpace([{ kind: 'simulated', memory: '8MiB', name: 'one' }], async (space) => {
    await failsWith('DEVICE_NAME', () =>
      space.addDevice({ kind: 'simulated', memory: '8MiB', name: 'one' }),
    );
    await failsWith('DEVICE_NAME', () =>
      space.addDevice({ kind: 'simulated', memory: '8MiB', name: 'host' }),
    );
    await failsWith('SIZE', () => space.addDevice({ kind: 'simulated', memory: '1MiB' }));
    // A program that Node.js cannot be started with.
    process.env.NODE_OPTIONS = '--no-such-option';
    const other = await openSpace();
    await failsWith('DEVICE_START', () =>
      other.addDevice({ kind: 'process', memory: '8MiB', name: 'never' }),
    );
    delete process.env.NODE_OPTIONS;
    assert.deepEqual(other.devices, []);
    assert.equal(other.stats().processors.length, 1);
    await other.close();
    for (let count = 1; count < 15; count++)
      await space.addDevice({ kind: 'simulated', memory: '4MiB' });
    const refused = await failsWith('DEVICES', () =>
      space.addDevice({ kind: 'simulated', memory: '4MiB' }),
    );
    assert.match(refused.message, /at most 15 devices/);
    await space.devices[7].detach();
    const last = await space.addDevice({ kind: 'simulated', memory: '4MiB', name: 'last' });
    const x = space.array(Int32Array, 4096);
    await last.run(add, { x }, { size: 4096 });
    sameData(x.data, () => 1);
  }));

longTest('advice is about the device that it named, not about the next one of its number', () =>
  withSpace([{ kind: 'process', memory: '8MiB', name: 'first' }], async (space) => {
    const [first] = space.devices;
    const x = space.array(Int32Array, N);
    x.advise({ accessedBy: first, preferredLocation: first, readMostly: true });
    await first.run(add, { x }, { size: N });
    await first.detach();
    const second = await space.addDevice({ kind: 'process', memory: '8MiB', name: 'second' });
    const [{ accessedBy, preferredLocation, readMostly }] = x.attributes().runs;
    assert.deepEqual(
      { accessedBy, preferredLocation, readMostly },
      { accessedBy: {}, preferredLocation: null, readMostly: true },
    );
    await second.run(add, { x }, { size: N });
    assert.deepEqual(Object.keys(x.attributes().runs[0].accessedBy), []);
    sameData(x.data, () => 2);
  }),
);

longTest('another thread sees devices that came after it, and those that came again', () =>
  withSpace([{ kind: 'process', memory: '8MiB', name: 'first' }], async (space) => {
    const x = space.array(Int32Array, N);
    await space.addDevice({ kind: 'process', memory: '8MiB', name: 'second' });
    const thread = new Worker(new URL('./programs/watching-thread.js', import.meta.url), {
      workerData: { array: x.handle },
    });
    const said = (): Promise<unknown> => new Promise((resolve) => thread.once('message', resolve));
    assert.deepEqual(await said(), ['first', 'second']);
    await space.devices[0].restart();
    await space.addDevice({ kind: 'process', memory: '8MiB', name: 'third' });
    const answer = said();
    thread.postMessage('run');
    assert.deepEqual(await answer, ['first', 'second', 'third']);
    sameData(x.data, () => 3);
    await thread.terminate();
  }),
);

await runTests();
