/**
 * Drivers of the user's own: modules that cannot be used are refused by openSpace, drivers that
 * fail take their device along and nothing else, and drivers that answer from the event loop are
 * heard.
 */
import assert from 'node:assert/strict';
import {
  type AddressSpace,
  type CustomDeviceSpecification,
  type Device,
  type DeviceSpecification,
  i32,
  kernel,
  type OnememError,
  openSpace,
} from '../../src/index.js';
import { Program } from '../harness/processes.js';
import {
  failsWith,
  longTest,
  runTests,
  sameData,
  variantTest,
  whenFailedOrDone,
} from '../harness/suite.js';
import type { Trouble } from './programs/drivers.js';

const MIB = 2 ** 20;
const N = MIB / 4;
const module = new URL('./programs/drivers.js', import.meta.url);

const add = kernel({ x: i32.inout, n: i32 }, ({ x, n }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += n;
});

function custom(
  driver: CustomDeviceSpecification['driver'],
  options?: unknown,
): CustomDeviceSpecification {
  return { kind: 'custom', driver, options, memory: '16MiB', name: 'mine' };
}

function troubled(trouble: Trouble): CustomDeviceSpecification {
  return custom({ module, export: 'create' }, { trouble });
}

for (const trouble of ['none', 'late answers'] as const) {
  variantTest(`a driver of one's own works like any other: ${trouble}`, async () => {
    await using space = await openSpace({
      devices: [troubled(trouble), { kind: 'process', memory: '16MiB' }],
      checkInvariants: true,
    });
    const [mine, other] = space.devices;
    assert.deepEqual(
      [mine.name, mine.kind, mine.pid, mine.pageFaults],
      ['mine', 'troubled', null, false],
    );
    assert.equal(mine.memory, 16 * MIB);
    const x = space.array(Int32Array, N);
    for (let i = 0; i < N; i++) x.data[i] = i;
    await mine.run(add, { x, n: 1 }, { size: N });
    await other.run(add, { x, n: 10 }, { size: N });
    await mine.run(add, { x, n: 100 }, { size: N });
    sameData(x.data, (i) => i + 111);
    await mine.run(add, { x, n: 1000 }, { size: N });
    // The device is alone in having these when it leaves.
    await mine.detach();
    sameData(x.data, (i) => i + 1111);
    await other.run(add, { x, n: 1 }, { size: N });
    sameData(x.data, (i) => i + 1112);
  });
}

longTest('a driver that cannot be had is an error of openSpace', async () => {
  const other = { kind: 'process', memory: '16MiB' } as const;
  // What goes wrong with the device, and the device that is on its way by then.
  const wrong: [CustomDeviceSpecification, RegExp, DeviceSpecification?][] = [
    [
      custom({ module: new URL('./nowhere.js', import.meta.url) }),
      /device mine did not start: there is no file .*nowhere\.js; new URL/,
      other,
    ],
    [
      custom({ module, export: 'nothing' }),
      /it is no function; the module exports .*create.*'nothing' of file:/,
    ],
    [custom({ module }), /no function.*export 'default'/],
    [custom({ module: 'data:text/javascript,throw new Error("not today")' }), /not today/],
    [custom({ module: 'data:text/javascript,export default (' }), /Unexpected end of input/],
    [troubled('throws at once'), /no hardware found/],
    [
      troubled('throws while it starts'),
      /device mine is gone: its driver threw in progress: TypeError: out of order/,
      other,
    ],
    [troubled('is nothing'), /the driver is undefined, not an object/],
    [troubled('lacks a command'), /has no function revoke\(\)/],
    [troubled('has another name'), /is described as 'yours'; its device is named 'mine'/],
    [
      troubled('has too much memory'),
      /has budgetPages 4097; it must be a whole number from 1 to 4096/,
    ],
    [troubled('cannot copy out'), /memory that is not addressable, and no function transferOut/],
    [troubled('has too many units'), /too small for 100 threads/],
  ];
  for (const [device, message, ...others] of wrong) {
    const devices = [device, ...others.filter((each) => each !== undefined)];
    const error = await failsWith('DEVICE_START', () => openSpace({ devices }));
    assert.match(error.message, message);
  }
  const named = await failsWith('DRIVER_MODULE', () =>
    openSpace({ devices: [custom({ module: './driver.js' })] }),
  );
  assert.match(named.message, /["']\.\/driver\.js["'] is no URL/);
  await failsWith('DRIVER_MODULE', () =>
    openSpace({ devices: [custom(undefined as unknown as CustomDeviceSpecification['driver'])] }),
  );
  await failsWith('DRIVER_OPTIONS', () =>
    openSpace({ devices: [custom({ module }, { callback: () => 1 })] }),
  );
});

const FAILURES = {
  'throws in map': /its driver threw in map: TypeError: out of order.* at /,
  'throws in revoke': /its driver threw in revoke: TypeError: out of order/,
  'throws in release': /its driver threw in release: TypeError: out of order/,
  'throws in transferIn': /its driver threw in transferIn: TypeError: out of order/,
  'throws in transferOut': /its driver threw in transferOut: TypeError: out of order/,
  'throws in launch': /its driver threw in launch: TypeError: out of order/,
  'throws in progress': /its driver threw in progress: TypeError: out of order/,
  'answers nonsense': /its driver answered transferIn with undefined/,
  'faults without faults':
    /its driver reported a page fault, though by its description it has none/,
  'dies by itself': /the card was pulled out/,
} as const satisfies Partial<Record<Trouble, RegExp>>;

/**
 * One device for each failure: what takes one along leaves those that come after it, and the last
 * one, as they were.
 */
let failing: AddressSpace | null = null;
whenFailedOrDone(async () => {
  await failing?.close();
  failing = null;
});

async function failingDevices(): Promise<AddressSpace> {
  failing ??= await openSpace({
    devices: [
      ...Object.keys(FAILURES).map((trouble) => ({
        ...troubled(trouble as Trouble),
        name: trouble,
      })),
      { kind: 'simulated', memory: '16MiB', name: 'other' },
    ],
    checkInvariants: true,
  });
  return failing;
}

/**
 * Whichever of these it is that goes wrong with the device, its next use says so. Returns how a use
 * of it failed.
 */
async function useUntilItFails(space: AddressSpace, device: Device): Promise<OnememError> {
  const x = space.array(Int32Array, N);
  x.data.fill(1);
  const y = space.array(Int32Array, 2 * N);
  try {
    await device.run(add, { x, n: 1 }, { size: N });
    using stream = device.stream();
    stream.prefetch(x.range(), 'host');
    await stream.synchronize();
    await device.run(add, { x: y, n: 1 }, { size: 2 * N });
    await device.run(add, { x, n: 1 }, { size: N });
    y.free();
    await device.run(add, { x, n: 1 }, { size: N });
    await device.run(add, { x, n: 1 }, { size: N });
  } catch (error) {
    if ((error as OnememError).code !== 'DATA_LOST') return error as OnememError;
  }
  // Where it fails between two launches, what was there alone is lost by name, and the next launch
  // says why.
  return (await failsWith('DEVICE_LOST', () =>
    device.run(add, { x: new Int32Array(8), n: 1 }, { size: 8 }),
  )) as OnememError;
}

for (const [trouble, message] of Object.entries(FAILURES)) {
  variantTest(`a driver that ${trouble} takes its device along, and nothing else`, async () => {
    const space = await failingDevices();
    const device = space.devices.find(({ name }) => name === trouble) as Device;
    const other = space.devices.find(({ name }) => name === 'other') as Device;
    assert.ok(device.stats().alive, 'it has been taken along by another one');
    const bystander = space.array(Int32Array, N).data.fill(7);
    const failure = await useUntilItFails(space, device);
    assert.equal(failure.code, 'DEVICE_LOST', failure.stack);
    assert.match(failure.message, message);
    sameData(bystander, () => 7);
    const z = space.array(Int32Array, N);
    await other.run(add, { x: z, n: 3 }, { size: N });
    sameData(z.data, () => 3);
    space.checkInvariants();
  });
}

longTest(
  'a driver that never returns ends the process with a message, and nobody hangs',
  async () => {
    const { signal, stdout, stderr } = await new Program('hanging-driver', []).outcome;
    assert.equal(stdout, 'prefetching\n');
    assert.equal(signal, 'SIGKILL');
    assert.match(
      stderr,
      /^onemem: the memory manager has not moved for 1 s\. Managed memory cannot be served/,
    );
  },
);

await runTests();
