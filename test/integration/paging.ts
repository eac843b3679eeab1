/**
 * Demand paging is real: what is not touched does not move, and a device's memory is no larger than
 * it was said to be.
 */
import assert from 'node:assert/strict';
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import {
  type AddressSpace,
  f64,
  i32,
  kernel,
  openSpace,
  type ProcessorStats,
  type SpaceOptions,
} from '../../src/index.js';
import { memoryFiles } from '../harness/processes.js';
import { bytesFromFiles, sharedSpace } from '../harness/spaces.js';
import { longTest, note, runTests, sameData, test, variantTest } from '../harness/suite.js';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const OPTIONS: SpaceOptions = {
  devices: [{ kind: 'process', memory: '64MiB' }],
  hostMemory: '4GiB',
};

/** Bytes that anything moved or made, on any processor. */
function moved(space: AddressSpace): number {
  const bytes = (each: ProcessorStats): number =>
    each.bytesIn + each.bytesZeroed + each.bytesFromFiles;
  return space.stats().processors.reduce((total, each) => total + bytes(each), 0);
}

const touch = kernel({ x: i32.inout, at: i32 }, ({ x, at }) => {
  x[at + 1] = x[at] + 1;
});
const look = kernel({ x: i32.in, at: i32, result: i32.out }, ({ x, at, result }) => {
  result[0] = x[at];
});

for (const kind of ['written by the CPU', 'never written'] as const) {
  test(`a kernel that touches one page of 1 GiB moves at most 2 MiB (${kind})`, async () => {
    await using space = await sharedSpace(OPTIONS);
    const [device] = space.devices;
    const x = space.array(Int32Array, GIB / 4);
    const at = 200_000_000;
    const before = kind === 'never written' ? 0 : 41;
    // Each quarter of the array has something in it, so that it is no empty one.
    if (before !== 0) for (let i = 0; i < 4; i++) x.data[at - i * 50_000_000] = before;
    const start = moved(space);
    await device.run(touch, { x, at }, { size: 1 });
    const bytes = moved(space) - start;
    assert.ok(bytes > 0 && bytes <= 2 * MIB, `${bytes} bytes moved`);
    assert.ok(
      device.stats().backedBytes <= 2 * MIB,
      `the device has ${device.stats().backedBytes} bytes`,
    );
    assert.equal(x.data[at + 1], before + 1);
    assert.equal(x.data[at], before);
    note(`${bytes} bytes moved`);
  });
}

test('a kernel that touches one page of a file of 1 GiB reads at most 2 MiB', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-paging-'));
  try {
    const path = join(folder, 'large');
    const fd = openSync(path, 'w');
    ftruncateSync(fd, GIB);
    const at = 123_456_789;
    writeSync(fd, new Int32Array([77]), 0, 4, 4 * at);
    closeSync(fd);
    await using space = await sharedSpace(OPTIONS);
    const x = space.fileArray(Int32Array, path);
    const before = bytesFromFiles(space);
    const result = new Int32Array(1);
    await space.devices[0].run(look, { x, at, result }, { size: 1 });
    assert.equal(result[0], 77);
    const bytes = bytesFromFiles(space) - before;
    assert.ok(bytes > 0 && bytes <= 2 * MIB, `${bytes} bytes were read`);
    note(`${bytes} bytes read`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

interface Samples {
  readonly count: number;
  readonly largest: number;
  readonly smallest: number;
}

/**
 * Looks at the memory of a file as often as it can, from a thread that has nothing to do with the
 * manager, and has done so once before `action` begins.
 * @param action is told how often that was
 */
async function sampling(
  name: string,
  action: (count: () => number) => Promise<void>,
): Promise<Samples> {
  const [file] = memoryFiles().filter((each) => each.name === name);
  assert.ok(file !== undefined, `no memory file ${name}`);
  const words = new Int32Array(new SharedArrayBuffer(8));
  const sampler = new Worker(new URL('./programs/sampler.js', import.meta.url), {
    workerData: { path: file.path, words },
  });
  const samples = new Promise<Samples>((resolve, reject) => {
    sampler.once('message', resolve);
    sampler.once('error', reject);
  });
  try {
    while (Atomics.load(words, 1) === 0) await sleep(1);
    await action(() => Atomics.load(words, 1));
  } finally {
    Atomics.store(words, 0, 1);
  }
  return samples;
}

for (const units of [1, 2]) {
  variantTest(
    `the device's memory stays within its budget with four times as much data (${units} units)`,
    async () => {
      const budget = 8 * MIB;
      await using space = await openSpace({
        devices: [{ kind: 'process', memory: budget, units, name: 'small' }],
      });
      const [device] = space.devices;
      const n = (2 * budget) / 8;
      const x = space.array(Float64Array, n);
      const y = space.array(Float64Array, n);
      for (let i = 0; i < n; i++) x.data[i] = i;
      y.data.fill(0.5);
      const add = kernel({ x: f64.in, y: f64.inout }, ({ x, y }, { begin, end }) => {
        for (let i = begin; i < end; i++) y[i] += x[i];
      });
      const gather = kernel({ x: f64.in, y: f64.inout }, ({ x, y }, { begin, end, size }) => {
        for (let i = begin; i < end; i++) y[i] += x[(i * 65_537) % size];
      });
      let rounds = 0;
      const samples = await sampling('onemem-small', async (count) => {
        // Where the machine has much else to do, the sampler gets to look seldom.
        for (; rounds < 3 || count() <= 100; rounds++) await device.run(add, { x, y }, { size: n });
        await device.run(gather, { x, y }, { size: n, begin: 0, end: 20_000 });
      });
      note(
        `${samples.count} samples: from ${samples.smallest} to ${samples.largest} of ${budget} bytes`,
      );
      assert.ok(
        samples.largest <= budget,
        `the device had ${samples.largest} bytes, and its budget is ${budget}`,
      );
      // Had the sampler looked at something else, it would not have seen the memory empty and then
      // filled. How many sizes it sees between says nothing: the device gets its memory in a few
      // large pieces, and keeps it.
      assert.equal(samples.smallest, 0);
      assert.ok(
        samples.largest > budget / 2,
        `the device had no more than ${samples.largest} bytes`,
      );
      const { evictions, peakBytes } = device.stats();
      assert.ok(evictions > 0 && peakBytes <= budget);
      sameData(y.data, (i) => 0.5 + rounds * i + (i < 20_000 ? (i * 65_537) % n : 0));
      sameData(x.data, (i) => i);
      space.checkInvariants();
    },
  );
}

longTest(
  'a touch that a device must answer for does not wait for all that moves just then',
  async () => {
    // The manager moves it: threads of copies would leave it nothing that a touch could wait for.
    process.env.ONEMEM_COPY_THREADS = 'off';
    await using space = await openSpace({
      hostMemory: '512MiB',
      devices: [{ kind: 'process', memory: '256MiB' }],
    });
    delete process.env.ONEMEM_COPY_THREADS;
    const [device] = space.devices;
    const long = space.array(Int32Array, (96 * MIB) / 4);
    const x = space.array(Int32Array, (2 * MIB) / 4);
    /** Which part of the time that the prefetch takes the touch waits. */
    const part = async (): Promise<number> => {
      for (let at = 0; at < long.length; at += 1024) long.data[at] = at;
      await device.run(touch, { x, at: 0 }, { size: 1 });
      using stream = device.stream();
      const began = performance.now();
      stream.prefetch(long.range());
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3);
      const asked = performance.now();
      x.data[0]++;
      const waited = performance.now() - asked;
      await stream.synchronize();
      return waited / (performance.now() - began);
    };
    const parts = [await part(), await part(), await part(), await part()];
    note(
      `the touch waited ${parts.map((each) => each.toFixed(3)).join(', ')} of the prefetch's time`,
    );
    assert.ok(Math.min(...parts) < 0.2);
  },
);

test('an array that nobody touched takes no memory anywhere', async () => {
  await using space = await sharedSpace(OPTIONS);
  const x = space.array(Uint8Array, 3 * GIB);
  assert.equal(x.data.length, 3 * GIB);
  assert.deepEqual(x.residency({ begin: GIB, end: 2 * GIB }).bytes, {});
  for (const { backedBytes } of space.stats().processors) assert.equal(backedBytes, 0);
});

await runTests();
