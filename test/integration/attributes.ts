/**
 * What a program can ask: what an address is, what devices can do, and how much memory they have
 * left.
 */
import assert from 'node:assert/strict';
import { i32, kernel, openSpace, type SpaceOptions } from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, longTest, runTests, sameData, sleep, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const PAGE = 4096;

const add = kernel({ x: i32.inout, by: i32 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += by;
});
const sum = kernel({ x: i32.in, result: i32.out }, ({ x, result }, { begin, end }) => {
  for (let i = begin; i < end; i++) result[0] += x[i];
});

const OPTIONS: SpaceOptions = {
  devices: [
    { kind: 'process', memory: '8MiB', name: 'near' },
    { kind: 'simulated', memory: '8MiB', name: 'far' },
  ],
};

test('what an address is, wherever its page is', async () => {
  await using space = await sharedSpace(OPTIONS);
  const [near, far] = space.devices;
  const n = MIB / 2 - 10;
  const x = space.array(Int32Array, n, { name: 'x' });
  const address = x.address + 4n * 1500n;
  assert.deepEqual(space.pointerAttributes(address), {
    array: 'x',
    element: 1500,
    byteOffset: 6000,
    state: 'zero',
    nodes: [],
    access: {},
    pinned: false,
    owner: null,
    deviceAddresses: { near: address, far: null },
  });
  assert.deepEqual(x.residency().bytes, {}, 'to ask brings nothing');
  x.data[1500] = 7;
  const host = space.pointerAttributes(address + 3n);
  assert.deepEqual(
    [host?.element, host?.byteOffset, host?.owner, host?.nodes],
    [1500, 6003, 'host', ['host']],
  );
  assert.deepEqual(host?.access, { host: 'write' });
  await near.run(add, { x, by: 1 }, { size: n });
  const moved = space.pointerAttributes(address);
  assert.deepEqual(
    [moved?.state, moved?.nodes, moved?.access],
    ['resident', ['near'], { near: 'write' }],
  );
  assert.equal(moved?.owner, near);
  await far.run(add, { x, by: 1 }, { size: n });
  assert.equal(space.pointerAttributes(address)?.owner, far);
  const result = new Int32Array(1);
  await near.run(sum, { x, result }, { size: n });
  // It went over the host, where a copy stayed.
  const shared = space.pointerAttributes(address);
  assert.ok((shared?.nodes.length ?? 0) >= 2, JSON.stringify(shared?.nodes));
  assert.equal(shared?.owner, shared?.nodes.includes('host') ? 'host' : near);
  assert.equal(result[0], 2 * n + 7);
});

test('nothing lies behind an array, nor in what has been freed', async () => {
  await using space = await openSpace(OPTIONS);
  const n = MIB / 2 - 10;
  const x = space.array(Int32Array, n, { name: 'x' });
  const small = space.array(Float64Array, 3, { name: 'small' });
  const address = x.address + 4n * 1500n;
  x.data[0] = 1;
  assert.equal(space.pointerAttributes(small.address + 23n)?.element, 2);
  for (const nowhere of [
    small.address + 24n,
    small.address + BigInt(PAGE),
    x.address - 1n,
    x.address + BigInt(n * 4),
    0n,
    2n ** 63n,
    -5n,
  ]) {
    assert.equal(space.pointerAttributes(nowhere), null, `${nowhere}`);
  }
  x.free({ begin: 1024, end: 2048 });
  assert.equal(space.pointerAttributes(address)?.state, 'freed');
  assert.equal(space.pointerAttributes(x.address)?.state, 'resident');
  x.free();
  assert.equal(space.pointerAttributes(address), null);
  await failsWith('ADDRESS', () => space.pointerAttributes(Number(address) as never));
  await space.close();
  await failsWith('SPACE_CLOSED', () => space.pointerAttributes(address));
});

test('what devices can do', async () => {
  await using space = await sharedSpace({
    devices: [
      { kind: 'process', memory: '8MiB', units: 3 },
      { kind: 'process', memory: '8MiB', lossy: true },
      { kind: 'simulated', memory: '4MiB' },
    ],
  });
  const common = { pageBytes: PAGE, granularityBytes: PAGE, kernels: 'functions' };
  const process = {
    ...common,
    remoteAccess: true,
    pageFaults: true,
    atomics: true,
    cancellation: true,
    writeCombining: false,
    directCopies: true,
    registeredInPlace: true,
  };
  assert.deepEqual(
    space.devices.map(({ capabilities }) => capabilities),
    [
      { ...process, memorySurvives: true, units: 3 },
      { ...process, memorySurvives: false, units: 1 },
      {
        ...common,
        remoteAccess: false,
        pageFaults: false,
        atomics: false,
        cancellation: false,
        writeCombining: false,
        directCopies: false,
        registeredInPlace: false,
        memorySurvives: false,
        units: 1,
      },
    ],
  );
});

longTest('how much memory devices have left', async () => {
  await using space = await sharedSpace(OPTIONS);
  const x = space.array(Int32Array, MIB / 4);
  x.data.fill(1);
  for (const device of space.devices) {
    assert.deepEqual(device.memoryInfo(), { totalBytes: 8 * MIB, freeBytes: 8 * MIB });
    await device.run(add, { x, by: 1 }, { size: x.length });
    assert.deepEqual(device.memoryInfo(), { totalBytes: 8 * MIB, freeBytes: 7 * MIB });
  }
  sameData(x.data, () => 3);
  x.free();
  const [device, other] = space.devices;
  assert.deepEqual(device.memoryInfo(), { totalBytes: 8 * MIB, freeBytes: 8 * MIB });
  // More than it holds leaves little, and never less than nothing.
  const large = space.array(Int32Array, 4 * MIB);
  await device.run(add, { x: large, by: 1 }, { size: large.length });
  const { freeBytes } = device.memoryInfo();
  assert.ok(freeBytes >= 0 && freeBytes <= 2 * MIB, `${freeBytes} bytes are free`);
  await other.detach();
  await failsWith('DEVICE_DETACHED', () => other.memoryInfo());
  device.kill();
  while (device.stats().alive) await sleep(5);
  await failsWith('DEVICE_LOST', () => device.memoryInfo());
});

await runTests();
