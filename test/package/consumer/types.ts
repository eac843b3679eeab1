/**
 * What the types promise a user. It is compiled, not run: each expected error that does not come is
 * an error.
 */
import {
  type ArrayHandle,
  attachArray,
  bytes,
  type Device,
  f32,
  f64,
  i64,
  kernel,
  type ManagedArray,
  OnememError,
  openSpace,
} from 'onemem';
import { Access, type CreateDriver, type Driver, Status } from 'onemem/driver';
import { lru, pattern } from 'onemem/policy';
import { conformance, type DeviceKind, driverKind } from 'onemem/testing';

const space = await openSpace({
  devices: [{ kind: 'process', memory: '64MiB' }],
  hostMemory: 2 ** 30,
});
const [device] = space.devices;
const singles: ManagedArray<Float32Array> = space.array(Float32Array, 100);
const doubles: ManagedArray<Float64Array> = space.array(Float64Array, 100);
const view: Float32Array = singles.data;

const sum = kernel(
  { x: f64.in, y: f64.inout, factor: f64, count: i64 },
  ({ x, y, factor, count }, { begin, end }) => {
    for (let i = begin; i < end; i++) y[i] += x[i] * factor + Number(count);
  },
);
const size = 100;
await device.run(sum, { x: doubles, y: doubles, factor: 2, count: 3n }, { size });
await device.run(sum, { x: new Float64Array(size), y: doubles, factor: 2, count: 3n }, { size });

// @ts-expect-error a managed array of 32-bit numbers where 64-bit ones are declared
await device.run(sum, { x: singles, y: doubles, factor: 2, count: 3n }, { size });
// @ts-expect-error the same with a plain typed array
await device.run(sum, { x: new Float32Array(size), y: doubles, factor: 2, count: 3n }, { size });
// @ts-expect-error an argument is missing
await device.run(sum, { x: doubles, y: doubles, factor: 2 }, { size });
// @ts-expect-error there is no such parameter
await device.run(sum, { x: doubles, y: doubles, factor: 2, count: 3n, z: 1 }, { size });
// @ts-expect-error a 64-bit integer is a bigint
await device.run(sum, { x: doubles, y: doubles, factor: 2, count: 3 }, { size });
// @ts-expect-error an array where a number is declared
await device.run(sum, { x: doubles, y: doubles, factor: doubles, count: 3n }, { size });
// @ts-expect-error the size is required
await device.run(sum, { x: doubles, y: doubles, factor: 2, count: 3n }, {});

kernel({ x: f32.in }, ({ x }) => {
  // @ts-expect-error what is only read cannot be assigned to
  x[0] = 1;
});
kernel({ x: f32.in.by('order', 4), order: i64.in }, ({ x, order }) => {
  // @ts-expect-error nor can it be where indices name what is read
  x[Number(order[0])] = 1;
});
// @ts-expect-error what is written from nothing has no pages that could come
kernel({ x: f32.out.by('order'), order: i64.in }, ({ x }) => x);
kernel({ raw: bytes.out }, ({ raw }) => {
  raw[0] = 255;
});
kernel({ x: f32.inout }, { module: new URL('./kernel.js', import.meta.url), export: 'scale' });
kernel(
  { x: f32.inout },
  { typegpu: (index: number) => index, module: import.meta.url, export: 'scale' },
);
// @ts-expect-error a function of TypeGPU takes an index
kernel({ x: f32.inout }, { typegpu: (name: string) => name });
kernel({ x: f32.inout, by: f32 }, { wgsl: '', entryPoint: 'main', constants: { wide: 64 } });
// @ts-expect-error a kernel is a function or a module
kernel({ x: f32.inout }, 'scale');

// @ts-expect-error no typed array
space.array(Array, 100);
// @ts-expect-error no such kind of device
await openSpace({ devices: [{ kind: 'gpu', memory: '64MiB' }] });
// @ts-expect-error what is marked as internal is not there
space.client.close();
// @ts-expect-error nor is it in options
await openSpace({ crash: 'throw' });

// @ts-expect-error a custom device without a driver
await openSpace({ devices: [{ kind: 'custom', memory: '64MiB' }] });
await openSpace({
  devices: [
    { kind: 'custom', memory: '64MiB', driver: { module: 'file:///driver.js' }, options: [1] },
  ],
});
export const create: CreateDriver = ({ name, budgetPages }) => {
  const memory = { addressable: false, memorySurvives: false, frames: 'pooled' } as const;
  return {
    kind: 'mine',
    memory: 0,
    description: { name, budgetPages, faults: false, units: 0, ...memory },
    map: (_page, _count, access) => console.log(access === Access.Write),
    revoke: () => Status.Done,
    release: () => Status.Done,
    wake: () => undefined,
    transferIn: () => Status.Pending,
    transferOut: () => Status.Failed,
    close: () => undefined,
  } satisfies Driver;
};
const kind: DeviceKind = driverKind('mine', {
  module: new URL('./driver.js', import.meta.url),
  export: 'create',
});
await conformance(import.meta.url, [kind]);

const stream = device.stream();
stream.prefetch(singles.range(0, 10), 'host');
const event = stream.launch(
  sum,
  { x: doubles, y: doubles, factor: 2, count: 3n },
  { size, begin: 1 },
);
await stream.synchronize().catch((error: unknown) => {
  if (error instanceof OnememError && error.code === 'DEVICE_LOST')
    console.error(error.ranges, event.elapsedMs);
});
const handle: ArrayHandle = singles.handle;
const attached: ManagedArray = attachArray(handle);
const sameSingles: ManagedArray<Float32Array> = attachArray(singles.handle);
// @ts-expect-error the handle's elements have 64 bits
const otherSingles: ManagedArray<Float32Array> = attachArray(doubles.handle);
const file = space.fileArray(Float32Array, 'data.bin');
// @ts-expect-error a file's array may only be read, unless it is writable
file.data.fill(1);
space.fileArray(Float32Array, 'data.bin', { writable: true }).data.fill(1);
await device.run(
  sum,
  { x: doubles.range(0, 50), y: doubles.data.subarray(50), factor: 2, count: 3n },
  { size: 50 },
);
const report: Readonly<Record<string, number>> = attached.residency().bytes;

export const used: unknown[] = [
  view,
  report,
  sameSingles,
  otherSingles,
  lru(),
  pattern({ thresholdPercent: 60 }),
  device satisfies Device,
];
