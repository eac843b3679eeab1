/**
 * Advice changes what moves and what it costs, never what is read: each kind of it by the figures,
 * and the data byte for byte.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type AddressSpace, type Device, i32, kernel, type ManagedArray } from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import {
  failsWith,
  filled as filledWith,
  longTest,
  runTests,
  sameData,
  test,
} from '../harness/suite.js';

const MIB = 2 ** 20;
const BLOCK_ELEMENTS = (2 * MIB) / 4;
type Ints = ManagedArray<Int32Array>;

const increment = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i]++;
});
/** Declares that it may write, and only reads. */
const total = kernel({ x: i32.inout, result: i32.out }, ({ x, result }, { size }) => {
  let sum = 0;
  for (let i = 0; i < size; i++) sum += x[i];
  result[0] = sum;
});
const touch = kernel({ x: i32.in, order: i32.in, result: i32.out }, ({ x, order, result }) => {
  let sum = 0;
  for (const at of order) sum += x[at];
  result[0] = sum;
});
const countUp = kernel({ x: i32.inout, times: i32 }, ({ x, times }, { begin, end }) => {
  for (let unit = begin; unit < end; unit++) for (let i = 0; i < times; i++) Atomics.add(x, 0, 1);
});

function pattern(length: number, seed: number): Int32Array {
  return filledWith(new Int32Array(length), (i) => Math.imul(i + seed, 0x9e3779b1) >> 3);
}

function same(actual: Int32Array, expected: Int32Array): void {
  sameData(actual, (index) => expected[index]);
}

function filled(space: AddressSpace, expected: Int32Array): Ints {
  const array = space.array(Int32Array, expected.length);
  array.data.set(expected);
  return array;
}

/** Runs something and tells how the figures of host and device have changed. */
async function figures(space: AddressSpace, work: () => unknown) {
  const before = space.stats().processors;
  await work();
  return space.stats().processors.map((each, index) => ({
    faults:
      each.readFaults + each.writeFaults - before[index].readFaults - before[index].writeFaults,
    bytesIn: each.bytesIn - before[index].bytesIn,
    bytesOut: each.bytesOut - before[index].bytesOut,
  }));
}

const run = (device: Device, x: Ints): Promise<void> =>
  device.run(increment, { x }, { size: x.length });
const plusOne = (values: Int32Array): Int32Array => values.map((value) => (value + 1) | 0);

longTest(
  'a device that was advised accessedBy works on host memory in place, larger than its own',
  async () => {
    await using space = await sharedSpace({
      devices: [{ kind: 'process', memory: '8MiB' }],
      checkInvariants: true,
    });
    const [device] = space.devices;
    const expected = pattern(8 * BLOCK_ELEMENTS + 999, 1);
    const x = filled(space, expected);
    assert.deepEqual(x.advise({ accessedBy: device }), { begin: 0, end: x.length });
    assert.deepEqual(x.attributes().runs, [
      {
        begin: 0,
        end: x.length,
        readMostly: false,
        preferredLocation: null,
        accessedBy: { [device.name]: 'migrates' },
        pattern: 'normal',
      },
    ]);
    const [host, there] = await figures(space, () => run(device, x));
    assert.equal(x.attributes().runs[0].accessedBy[device.name], 'in place');
    assert.deepEqual(x.residency().bytes, { host: Math.ceil(x.byteLength / 4096) * 4096 });
    assert.deepEqual([host.bytesIn, there.bytesIn, there.bytesOut], [0, 0, 0], 'nothing moved');
    assert.ok(there.faults <= 2 * 9, `${there.faults} faults for 9 blocks`);
    assert.equal(device.stats().backedBytes, 0);
    same(x.data, plusOne(expected));
    // Both go on at once, on the same memory.
    x.data[5] = 7;
    await run(device, x);
    assert.equal(x.data[5], 8);

    x.advise({ accessedBy: null });
    const [, moved] = await figures(space, () => run(device, x));
    assert.ok(moved.bytesIn >= x.byteLength, 'its own memory is used again');
    assert.deepEqual(x.attributes().runs[0].accessedBy, {});
    const again = plusOne(plusOne(plusOne(expected)));
    again[5] = 9;
    same(x.data, again);
  },
);

test('increments of CPU and device on one word in place are never lost', async () => {
  await using space = await sharedSpace({
    devices: [{ kind: 'process', memory: '16MiB', units: 2 }],
  });
  const [device] = space.devices;
  const x = space.array(Int32Array, 1024);
  x.advise({ accessedBy: device, preferredLocation: 'host' });
  using stream = device.stream();
  const [times, mine] = [250_000, 500_000];
  const event = stream.launch(countUp, { x, times }, { size: 2, begin: 0, end: 2 });
  for (let i = 0; i < mine; i++) Atomics.add(x.data, 0, 1);
  await stream.synchronize();
  assert.equal(event.result, 'done');
  assert.equal(x.data[0], 2 * times + mine);
});

longTest('a device in place and a device with its own memory take turns', async () => {
  await using space = await sharedSpace({
    devices: [
      { kind: 'process', memory: '8MiB' },
      { kind: 'process', memory: '8MiB' },
      { kind: 'simulated', memory: '16MiB' },
    ],
    checkInvariants: true,
  });
  const [near, far, simulated] = space.devices;
  let expected = pattern(2 * BLOCK_ELEMENTS + 3, 2);
  const x = filled(space, expected);
  x.advise({ accessedBy: [near, simulated] });
  for (const device of [near, far, near, simulated, near, far, simulated, near]) {
    await run(device, x);
    expected = plusOne(expected);
    if (device === far) assert.equal(x.residency().bytes[far.name] ?? 0, 2 * 2 * MIB + 4096);
  }
  // One that cannot reach host memory in place migrates, and says so.
  assert.deepEqual(x.attributes().runs[0].accessedBy, {
    [near.name]: 'in place',
    [simulated.name]: 'migrates',
  });
  same(x.data, expected);
  await near.detach();
  await run(far, x);
  same(x.data, plusOne(expected));
});

longTest('a device that dies in place takes nothing along', async () => {
  await using space = await sharedSpace({
    devices: [{ kind: 'process', memory: '8MiB', lossy: true }],
    checkInvariants: true,
  });
  const [device] = space.devices;
  const expected = pattern(2 * BLOCK_ELEMENTS, 3);
  const x = filled(space, expected);
  x.advise({ accessedBy: device });
  await run(device, x);
  device.kill();
  same(x.data, plusOne(expected));
  await assert.rejects(run(device, x), { code: 'DEVICE_LOST' });
});

test('what is protected is denied to a device that was in place, by name, and it goes on', async () => {
  await using space = await sharedSpace({
    devices: [{ kind: 'process', memory: '8MiB' }],
    checkInvariants: true,
  });
  const [device] = space.devices;
  const expected = pattern(BLOCK_ELEMENTS, 4);
  const x = filled(space, expected);
  x.advise({ accessedBy: device });
  await run(device, x);
  await x.protect('read');
  await assert.rejects(run(device, x), (error: { code?: string; message: string }) => {
    assert.equal(error.code, 'ACCESS_DENIED');
    assert.match(error.message, /wrote array #\d+, elements 0 to 1023/);
    return true;
  });
  same(x.data, plusOne(expected));
  assert.equal(x.attributes().runs[0].accessedBy[device.name], 'migrates');
  await x.protect('readwrite');
  await run(device, x);
  assert.equal(x.attributes().runs[0].accessedBy[device.name], 'in place');
  same(x.data, plusOne(plusOne(expected)));
});

test('a device in place that writes what may only be read fails its launch, and goes on', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'onemem-advice-')), 'words');
  const expected = pattern(BLOCK_ELEMENTS, 5);
  writeFileSync(path, expected);
  await using space = await sharedSpace({
    devices: [{ kind: 'process', memory: '8MiB' }],
    checkInvariants: true,
  });
  const [device] = space.devices;
  const x = space.fileArray(Int32Array, path);
  x.advise({ accessedBy: device });
  const write = kernel({ x: i32.in }, ({ x }) => {
    (x as unknown as Int32Array)[7] = 1;
  });
  for (let round = 0; round < 2; round++) {
    const error = await failsWith('ACCESS_DENIED', () => device.run(write, { x }, { size: 1 }));
    assert.match(error.message, /elements 0 to 1023/);
  }
  // What it wrote there is nowhere.
  same(x.data, expected);
  rmSync(dirname(path), { recursive: true });
});

for (const readMostly of [false, true]) {
  test(`a kernel that might write ${readMostly ? 'leaves' : 'takes'} the host's copies of what is ${readMostly ? '' : 'not '}read mostly`, async () => {
    await using space = await sharedSpace({
      devices: [{ kind: 'process', memory: '8MiB' }],
      checkInvariants: true,
    });
    const [device] = space.devices;
    const expected = pattern(BLOCK_ELEMENTS, 5);
    const x = filled(space, expected);
    x.advise({ readMostly });
    const result = new Int32Array(1);
    await device.run(total, { x, result }, { size: x.length });
    const sum = expected.reduce((a, b) => (a + b) | 0, 0);
    assert.equal(result[0], sum);
    const both = { host: 2 * MIB, [device.name]: 2 * MIB };
    assert.deepEqual(x.residency().bytes, readMostly ? both : { [device.name]: 2 * MIB });
    const [host] = await figures(space, () => same(x.data, expected));
    assert.equal(host.bytesIn, readMostly ? 0 : 2 * MIB);
    // Saying the same again takes nothing from anybody.
    const before = space.stats().processors.map(({ revocations }) => revocations);
    x.advise({ readMostly });
    assert.deepEqual(
      space.stats().processors.map(({ revocations }) => revocations),
      before,
    );
    // A write leaves one copy.
    await run(device, x);
    assert.deepEqual(x.residency().bytes, { [device.name]: 2 * MIB });
    same(x.data, plusOne(expected));
  });
}

test('what is preferred on a device is the last to leave it', async () => {
  const stay = async (prefer: boolean): Promise<number> => {
    await using space = await sharedSpace({
      devices: [{ kind: 'process', memory: '8MiB' }],
      checkInvariants: true,
    });
    const [device] = space.devices;
    const expected = pattern(2 * BLOCK_ELEMENTS, 6);
    const kept = filled(space, expected);
    const large = space.array(Int32Array, 12 * BLOCK_ELEMENTS);
    if (prefer) kept.advise({ preferredLocation: device });
    await run(device, kept);
    await run(device, large);
    const bytes = kept.residency().bytes[device.name] ?? 0;
    same(kept.data, plusOne(expected));
    return bytes;
  };
  assert.equal(await stay(false), 0);
  assert.equal(await stay(true), 4 * MIB);
});

test('random brings the touched page alone, sequential the next block before it is touched', async () => {
  await using space = await sharedSpace({
    devices: [{ kind: 'process', memory: '64MiB' }],
    checkInvariants: true,
  });
  const [device] = space.devices;
  const expected = pattern(8 * BLOCK_ELEMENTS, 7);
  const result = new Int32Array(1);
  const cost = async (advice: 'normal' | 'sequential' | 'random', order: Int32Array) => {
    const x = filled(space, expected);
    x.advise({ pattern: advice });
    const [, there] = await figures(space, () =>
      device.run(touch, { x, order, result }, { size: 1 }),
    );
    assert.equal(
      result[0],
      order.reduce((sum, at) => (sum + expected[at]) | 0, 0),
    );
    x.free();
    return there;
  };
  const page = 1024;
  // One page of each 64, no three of them in turn the same way apart: triangular numbers modulo a
  // power of two are each number below it once.
  const apart = filledWith(new Int32Array(64), (i) => (((i * (i + 1)) / 2) % 64) * 64 * page);
  const random = await cost('random', apart);
  assert.equal(random.bytesIn, 64 * 4096);
  const normal = await cost('normal', apart);
  assert.ok(
    normal.bytesIn >= 8 * random.bytesIn,
    `${normal.bytesIn} bytes where neighbours come along`,
  );
  const one = Int32Array.of(0);
  const [alone, sequential] = [await cost('normal', one), await cost('sequential', one)];
  assert.ok(alone.bytesIn < 2 * MIB, `${alone.bytesIn} bytes without advice`);
  assert.ok(sequential.bytesIn >= 4 * MIB, `${sequential.bytesIn} bytes for a walk`);
});

test('advice is by blocks of 2 MiB, and unset one by one', async () => {
  await using space = await sharedSpace({
    devices: [
      { kind: 'process', memory: '8MiB' },
      { kind: 'simulated', memory: '8MiB' },
    ],
  });
  const [device, simulated] = space.devices;
  const x = space.array(Int32Array, 4 * BLOCK_ELEMENTS);
  const part = { begin: BLOCK_ELEMENTS + 5, end: BLOCK_ELEMENTS + 6 };
  const block = { begin: BLOCK_ELEMENTS, end: 2 * BLOCK_ELEMENTS };
  assert.deepEqual(x.advise({ readMostly: true, accessedBy: [device, simulated] }, part), block);
  assert.deepEqual(x.advise({ pattern: 'random', preferredLocation: device }, part), block);
  const runs = x.attributes().runs;
  assert.deepEqual(
    runs.map(({ begin, end }) => [begin, end]),
    [
      [0, BLOCK_ELEMENTS],
      [BLOCK_ELEMENTS, 2 * BLOCK_ELEMENTS],
      [2 * BLOCK_ELEMENTS, 4 * BLOCK_ELEMENTS],
    ],
  );
  assert.deepEqual(runs[1], {
    ...block,
    readMostly: true,
    preferredLocation: device.name,
    accessedBy: { [device.name]: 'migrates', [simulated.name]: 'migrates' },
    pattern: 'random',
  });
  x.advise({ readMostly: false, accessedBy: [], pattern: 'normal' }, part);
  assert.equal(x.attributes().runs[1].preferredLocation, device.name);
  x.advise({ preferredLocation: null });
  assert.deepEqual(
    new Set(x.attributes().runs.map(({ begin, end, ...said }) => JSON.stringify(said))).size,
    1,
  );
});

test('advice that makes no sense is refused', async () => {
  await using space = await sharedSpace({
    devices: [{ kind: 'process', memory: '8MiB' }],
    checkInvariants: true,
  });
  await using other = await sharedSpace({ devices: [{ kind: 'simulated', memory: '8MiB' }] });
  const [device] = space.devices;
  const x = space.array(Int32Array, 4 * BLOCK_ELEMENTS);
  for (const [advice, code] of [
    [null, 'ADVICE'],
    ['readMostly', 'ADVICE'],
    [{ readmostly: true }, 'ADVICE'],
    [{ readMostly: 1 }, 'ADVICE'],
    [{ pattern: 'zigzag' }, 'ADVICE'],
    [{ preferredLocation: 'device' }, 'ADVICE'],
    [{ preferredLocation: 0 }, 'ADVICE'],
    [{ accessedBy: [device, 'host'] }, 'ADVICE'],
    [{ accessedBy: other.devices[0] }, 'ADVICE'],
  ] as const) {
    assert.throws(() => x.advise(advice as never), { code });
  }
  for (const bad of [{ begin: -1 }, { begin: 2, end: 1 }, { end: x.length + 1 }, { begin: 0.5 }]) {
    assert.throws(() => x.advise({ readMostly: true }, bad), { code: 'ARRAY_RANGE' });
  }
  x.free();
  assert.throws(() => x.advise({ readMostly: true }), { code: 'USE_AFTER_FREE' });
});

await runTests();
