/** Memory of the space that typed arrays of the program's own go over as arguments. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type AddressSpace, f32, f64, i32, kernel, openSpace } from '../../src/index.js';
import { type FailingSpace, openFailing, startHealer } from '../harness/failing.js';
import { sharedSpace } from '../harness/spaces.js';
import { runTests, sameData, sleep, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const NAME = 'a copy of a plain array';

const add = kernel({ x: i32.inout, by: i32 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += by;
});
const addLate = kernel({ x: i32.inout, by: i32, until: f64 }, ({ x, by, until }) => {
  while (Date.now() < until);
  x[0] += by;
});
const sum = kernel({ x: f32.in, result: f32.inout }, ({ x, result }, { begin, end }) => {
  for (let i = begin; i < end; i++) result[0] += x[i];
});

function open(): Promise<AddressSpace> {
  return sharedSpace({
    hostMemory: '64MiB',
    storage: false,
    devices: [
      { kind: 'process', memory: '32MiB', name: 'near' },
      { kind: 'simulated', memory: '32MiB', name: 'far' },
    ],
  });
}

test('arrays of many lengths go over memory that is used again', async () => {
  await using space = await open();
  for (const device of space.devices) {
    for (const length of [1, 1000, 600, 300_000, 299_999, 2 * MIB + 1, 3, 300_000]) {
      // The elements begin and end within pages of the buffer.
      const plain = new Int32Array(length + 20).subarray(7, length + 7).fill(5);
      await device.run(add, { x: plain, by: length }, { size: length });
      sameData(plain, () => 5 + length);
      const around = new Int32Array(plain.buffer);
      assert.deepEqual([...around.subarray(0, 7)], [0, 0, 0, 0, 0, 0, 0]);
      assert.equal(around[length + 7], 0);
    }
  }
});

test('it is used again, and given back soon after', async () => {
  await using space = await open();
  const [device] = space.devices;
  const plain = new Float32Array(MIB).fill(1);
  const ranges = new Set<bigint | undefined>();
  for (let run = 0; run < 3; run++) {
    await device.run(sum, { x: plain, result: new Float32Array(1) }, { size: 4 });
    ranges.add(space.find(NAME)?.address);
  }
  assert.equal(ranges.size, 1);
  assert.ok(!ranges.has(undefined));
  for (let tries = 0; tries < 50 && space.find(NAME) !== null; tries++) await sleep(50);
  assert.equal(space.find(NAME), null);
});

/** A space whose host memory and disk are small, and whose disk is full once it is armed. */
async function openFull(): Promise<FailingSpace> {
  return await openFailing('pwrite:ENOSPC:1-1000000', {
    hostMemory: '32MiB',
    storage: { path: tmpdir(), bytes: '64MiB' },
    devices: [{ kind: 'simulated', memory: '8MiB' }],
  });
}

test('while the disk is full for a moment, what goes over waits for room', async () => {
  const failing = await openFull();
  await using space = failing.space;
  const healer = await startHealer(space);
  const plain = new Int32Array(MIB / 4);
  space.array(Uint8Array, 32 * MIB).data.fill(1);
  failing.arm();
  healer.afterFailure(300);
  await space.devices[0].run(add, { x: plain, by: 1 }, { size: plain.length });
  sameData(plain, () => 1);
  assert.ok(failing.fired() > 0);
  await healer.end();
});

test('while the disk is full for a moment, what comes back waits for room', async () => {
  const failing = await openFull();
  await using space = failing.space;
  const healer = await startHealer(space);
  const crowd = space.array(Uint8Array, 32 * MIB);
  const plain = new Int32Array(MIB / 4);
  let runs = 0;
  // On a busy machine the launch may end before memory is full.
  for (let ms = 1000; failing.fired() === 0 && ms < 20_000; ms *= 3) {
    const until = Date.now() + ms;
    const run = space.devices[0].run(addLate, { x: plain, by: 1, until }, { size: 1 });
    crowd.data.fill(1);
    failing.arm();
    healer.after(Math.max(until - Date.now(), 0) + ms / 3);
    await run;
    assert.equal(plain[0], ++runs);
  }
  assert.ok(failing.fired() > 0);
  await healer.end();
});

test('it makes way for arrays of the program', async () => {
  await using space = await open();
  const [device] = space.devices;
  const plain = new Int32Array(2 * MIB);
  await device.run(add, { x: plain, by: 1 }, { size: plain.length });
  assert.notEqual(space.find(NAME), null);
  using all = space.array(Uint8Array, 64 * MIB);
  assert.equal(all.length, 64 * MIB);
});

test('what is counted is what the program uses', async () => {
  await using space = await open();
  const [device] = space.devices;
  await device.run(add, { x: new Int32Array(MIB), by: 1 }, { size: MIB });
  assert.notEqual(space.find(NAME), null);
  assert.equal(space.stats().allocatedBytes, 0);
});

test('it goes with the thread that copied over it', async () => {
  await using space = await open();
  const program = new URL('./programs/staging-thread.js', import.meta.url);
  const worker = new Worker(program, { workerData: space.handle });
  const [right] = await once(worker, 'message');
  assert.equal(right, true);
  assert.notEqual(space.find(NAME), null);
  await worker.terminate();
  // The manager looks which threads are left when another one comes.
  for (let tries = 0; space.find(NAME) !== null && tries < 50; tries++) {
    const other = new Worker(program, { workerData: null });
    other.postMessage(space.handle);
    await once(other, 'message');
    await other.terminate();
  }
  assert.equal(space.find(NAME), null);
});

test('the device is started again: what was kept for it is not used', async () => {
  await using space = await openSpace({ devices: [{ kind: 'process', memory: '32MiB' }] });
  const [device] = space.devices;
  const plain = new Int32Array(MIB);
  for (let run = 1; run <= 3; run++) {
    await device.run(add, { x: plain, by: 1 }, { size: plain.length });
    sameData(plain, () => run);
    await device.restart();
  }
});

await runTests();
