/**
 * GPUs that the program has opened itself and lends to a space: its own thread drives them, and
 * results are there when a launch resolves.
 */
import assert from 'node:assert/strict';
import { type Device, kernel, openSpace, u32 } from '../../src/index.js';
import { lookup, saxpy } from '../harness/gpu.js';
import { ownGpu } from '../harness/own-gpu.js';
import { failsWith, filled, longTest, runTests, sameData, sleep, test } from '../harness/suite.js';

const MIB = 2 ** 20;

async function lend(device: GPUDevice, memory = '8MiB') {
  const space = await openSpace({ devices: [{ kind: 'webgpu', device, memory, name: 'gpu' }] });
  const [x, y] = [
    space.array(Float32Array, 10_001, { name: 'x' }),
    space.array(Float32Array, 10_001, { name: 'y' }),
  ];
  filled(x.data, (i) => i);
  y.data.fill(1);
  return { space, gpu: space.devices[0], x, y };
}

/** Waits without a turn of the event loop until the device has a launch. */
function untilLaunched(device: Device): void {
  while (device.stats().launches === 0)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
}

const gpu = await ownGpu();

test('the thread that lent a GPU reads and writes results as soon as a launch has resolved, with its event loop stopped', async () => {
  const { space, gpu: device, x, y } = await lend(gpu);
  await using _ = space;
  for (let round = 1; round <= 3; round++) {
    await device.run(saxpy, { x, y, alpha: 2 }, { size: y.length });
    sameData(y.data, (i) => 2 * i * round + 1);
  }
  assert.equal(device.pid, null);
  // Nothing moves again that the CPU has not written.
  assert.equal(device.stats().bytesIn, 2 * 10 * 4096);
  space.checkInvariants();
});

test('a launch whose arrays its own thread touches meanwhile fails by DEADLOCK, and the next one is right', async () => {
  const { space, gpu: device, x, y } = await lend(gpu);
  await using _ = space;
  const launch = device.run(saxpy, { x, y, alpha: 2 }, { size: y.length });
  const refused = failsWith('DEADLOCK', () => launch);
  untilLaunched(device);
  // This thread stops until the launch has been given up.
  const before = y.data[7];
  assert.match(
    (await refused).message,
    /the thread that lent device gpu.* y.*await the launch before/,
  );
  assert.ok(before === 1 || before === 15);
  y.data.fill(1);
  await device.run(saxpy, { x, y, alpha: 3 }, { size: y.length });
  sameData(y.data, (i) => 3 * i + 1);
  space.checkInvariants();
});

test('what a launch only reads may be read by its thread meanwhile', async () => {
  const { space, gpu: device, x, y } = await lend(gpu);
  await using _ = space;
  const launch = device.run(saxpy, { x, y, alpha: 2 }, { size: y.length });
  untilLaunched(device);
  sameData(x.data, (i) => i);
  await launch;
  sameData(y.data, (i) => 2 * i + 1);
});

test('a result of a typed array comes back while the next launch of the stream reads it', async () => {
  const { space, gpu: device } = await lend(gpu);
  await using _ = space;
  const [x, y, z] = [1, 2, 3].map((value) => new Float32Array(500_000).fill(value));
  using stream = device.stream();
  for (let round = 1; round <= 3; round++) {
    stream.launch(saxpy, { x, y, alpha: 2 }, { size: y.length });
    stream.launch(saxpy, { x: y, y: z, alpha: 1 }, { size: z.length });
    await stream.synchronize();
    sameData(y, () => 2 + 2 * round);
    sameData(z, () => [7, 13, 21][round - 1]);
  }
});

longTest(
  'launches larger than the memory that was given run in parts, and with pages as they are touched',
  async () => {
    const { space, gpu: device } = await lend(gpu, '4MiB');
    await using _ = space;
    const [x, y] = [
      space.array(Float32Array, (3 * MIB) / 4),
      space.array(Float32Array, (3 * MIB) / 4),
    ];
    filled(x.data, (i) => i % 1000);
    await device.run(saxpy, { x, y, alpha: 2 }, { size: y.length });
    sameData(y.data, (i) => 2 * (i % 1000));
    const table = space.array(Uint32Array, 2 * MIB);
    const [ids, rows] = [space.array(Uint32Array, 500), space.array(Uint32Array, 500)];
    filled(table.data, (i) => i ^ 0x55);
    filled(ids.data, (i) => (i * 7919) % table.length);
    await device.run(lookup, { table, ids, rows, width: 1 }, { size: rows.length });
    sameData(rows.data, (i) => ((i * 7919) % table.length) ^ 0x55);
    const { windowedLaunches, pagedLaunches } = device.stats();
    assert.deepEqual([windowedLaunches, pagedLaunches], [1, 1]);
    space.checkInvariants();
  },
);

test('a lent GPU that is lost ends its device, whose results are all there; another one may be lent instead', async () => {
  const own = await ownGpu();
  const { space, gpu: device, x, y } = await lend(own);
  await using _ = space;
  await device.run(saxpy, { x, y, alpha: 2 }, { size: y.length });
  own.destroy();
  await failsWith('DEVICE_LOST', () => device.run(saxpy, { x, y, alpha: 2 }, { size: y.length }));
  sameData(y.data, (i) => 2 * i + 1);
  const refused = await failsWith('DEVICE_START', () => device.restart());
  assert.match(refused.message, /GPUDevice that was lent is lost .*lend it by addDevice\(\)/);
  const other = await space.addDevice({
    kind: 'webgpu',
    device: gpu,
    memory: '8MiB',
    name: 'other',
  });
  await other.run(saxpy, { x, y, alpha: 1 }, { size: y.length });
  sameData(y.data, (i) => 3 * i + 1);
  space.checkInvariants();
});

test('a GPU that is lost already is refused, and the space goes on', async () => {
  const gone = await ownGpu();
  gone.destroy();
  await gone.lost;
  await using space = await openSpace({ devices: [] });
  const error = await failsWith('DEVICE_START', () =>
    space.addDevice({ kind: 'webgpu', device: gone, memory: '8MiB' }),
  );
  assert.match(
    error.message,
    /the GPUDevice that was lent is lost .*; open another one, and lend it by addDevice\(\)/,
  );
  // Nothing that the manager still looks at may be gone by then.
  await sleep(100);
  const device = await space.addDevice({ kind: 'webgpu', device: gpu, memory: '8MiB' });
  const [x, y] = [space.array(Float32Array, 1000), space.array(Float32Array, 1000)];
  x.data.fill(2);
  await device.run(saxpy, { x, y, alpha: 3 }, { size: 1000 });
  sameData(y.data, () => 6);
});

test('a device that is killed, detached or closed leaves the GPU as it was', async () => {
  const { space, gpu: device, x, y } = await lend(gpu);
  device.kill();
  await failsWith('DEVICE_LOST', () => device.run(saxpy, { x, y, alpha: 2 }, { size: y.length }));
  await device.restart();
  await device.run(saxpy, { x, y, alpha: 2 }, { size: y.length });
  await device.detach();
  sameData(y.data, (i) => 2 * i + 1);
  await space.close();
  const buffer = gpu.createBuffer({ size: 16, usage: 12 });
  gpu.queue.writeBuffer(buffer, 0, Uint32Array.of(1));
  assert.equal(await Promise.race([gpu.queue.onSubmittedWorkDone(), gpu.lost]), undefined);
  buffer.destroy();
});

test('limits are those that the GPU was opened with, and say how to ask for more', async () => {
  const { space, gpu: device } = await lend(gpu);
  await using _ = space;
  const names = Array.from({ length: 9 }, (_each, at) => `a${at}`);
  const many = kernel(Object.fromEntries(names.map((name) => [name, u32.inout])), {
    wgsl: `${names.map((name, at) => `@group(0) @binding(${at}) var<storage, read_write> ${name}: array<u32>;`).join('\n')}
      @compute @workgroup_size(1) fn main() { ${names.map((name) => `${name}[0] = 1u;`).join(' ')} }`,
  });
  const args = Object.fromEntries(names.map((name) => [name, space.array(Uint32Array, 4)]));
  const error = await failsWith('DEVICE_LIMIT', () => device.run(many, args, { size: 1 }));
  assert.match(
    error.message,
    /at most 8 at once.*requiredLimits: { maxStorageBuffersPerShaderStage:/,
  );
  const halves = kernel(
    { x: u32.inout },
    {
      wgsl: `enable f16; @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(1) fn main() { x[0] = u32(f16(2)); }`,
    },
  );
  const lacks = await failsWith('DEVICE_LIMIT', () =>
    device.run(halves, { x: args.a0 }, { size: 1 }),
  );
  assert.match(
    lacks.message,
    /enables f16, .*the GPUDevice has the features .*requiredFeatures: \['shader-f16'\]/,
  );
  const wrong = { kind: 'webgpu', device: {}, memory: '8MiB' } as never;
  await failsWith('GPU_DEVICE', () => openSpace({ devices: [wrong] }));
});

await runTests();
gpu.destroy();
await gpu.lost;
