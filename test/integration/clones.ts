/**
 * Clones of arrays: each has what it was written, and nothing is copied before one is written or
 * touched.
 */
import assert from 'node:assert/strict';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import {
  type AddressSpace,
  i32,
  kernel,
  type ManagedArray,
  type SpaceOptions,
  type SpaceStats,
} from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import {
  failsWith,
  filled,
  LONG,
  longTest,
  note,
  runTests,
  sameData,
  sleep,
  test,
  variantTest,
} from '../harness/suite.js';

const MIB = 2 ** 20;
const PAGE = 1024;
const path = `${tmpdir()}/onemem-clones-${process.pid}`;

const add = kernel({ x: i32.inout, by: i32 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += by;
});
const sumBetween = kernel(
  { x: i32.in, result: i32.out, from: i32, to: i32 },
  ({ x, result, from, to }) => {
    for (let i = from; i < to; i++) result[0] = (result[0] + x[i]) | 0;
  },
);
const setBetween = kernel(
  { x: i32.inout, from: i32, to: i32, value: i32 },
  ({ x, from, to, value }, { begin, end }) => {
    for (let i = Math.max(begin, from); i < Math.min(end, to); i++) x[i] = value;
  },
);
const fill = kernel({ x: i32.out, value: i32 }, ({ x, value }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = value;
});

async function withSpace(
  devices: SpaceOptions['devices'],
  action: (space: AddressSpace) => Promise<void>,
): Promise<void> {
  await using space = await sharedSpace({
    devices,
    hostMemory: '256MiB',
    storage: false,
    checkInvariants: true,
  });
  await action(space);
  space.checkInvariants();
}

function counting(space: AddressSpace, length: number, name: string): ManagedArray<Int32Array> {
  const array = space.array(Int32Array, length, { name });
  for (let i = 0; i < length; i++) array.data[i] = i;
  return array;
}

/** Bytes that were moved for any reason, and that are in memory. */
function moved({ processors }: SpaceStats): number {
  return processors.reduce(
    (sum, each) => sum + each.bytesIn + each.bytesCloned + each.bytesZeroed,
    0,
  );
}
function cloned({ processors }: SpaceStats): number {
  return processors.reduce((sum, each) => sum + each.bytesCloned, 0);
}
function backed({ processors }: SpaceStats): number {
  return processors.reduce((sum, each) => sum + each.backedBytes, 0);
}

longTest('cloning copies nothing until somebody writes', () =>
  withSpace([{ kind: 'process', memory: '32MiB' }], async (space) => {
    const [device] = space.devices;
    const n = 4 * MIB;
    const x = counting(space, n, 'ledger');
    await device.run(add, { x, by: 1 }, { size: n });
    const before = space.stats();
    const y = await x.clone({ name: 'draft' });
    const after = space.stats();
    assert.equal(moved(after), moved(before), 'cloning copied something');
    assert.equal(backed(after), backed(before), 'cloning took memory');
    assert.equal(after.allocatedBytes - before.allocatedBytes, n * 4);
    assert.equal(y.name, 'draft');
    assert.ok(y.residency().runs.every(({ state }) => state === 'clone'));
    // Reading the source copies nothing for the clone either.
    const result = new Int32Array(1);
    await device.run(sumBetween, { x, result, from: 0, to: n }, { size: 1 });
    assert.equal(cloned(space.stats()), cloned(before));
    // A device that writes a page has its neighbours copied, too, but not more than a block.
    await device.run(setBetween, { x, from: 5000, to: 5001, value: -1 }, { size: n });
    const written = cloned(space.stats()) - cloned(before);
    assert.ok(
      written >= 4096 && written <= 2 * MIB,
      `${written} bytes were copied for one element`,
    );
    sameData(y.data, (i) => i + 1);
    assert.equal(x.data[5000], -1);
    assert.equal(x.data[4999], 5000);
  }),
);

for (const kind of ['process', 'simulated'] as const) {
  test(`an array and its clone are written independently, by the CPU and a ${kind} device`, () =>
    withSpace([{ kind, memory: '8MiB' }], async (space) => {
      const [device] = space.devices;
      const n = 300 * PAGE + 17;
      const x = counting(space, n, 'first');
      const y = await x.clone();
      assert.equal(y.name, 'a clone of first');
      assert.notEqual(x.address, y.address);
      x.data.fill(-1, 0, 100 * PAGE);
      y.data.fill(-2, 50 * PAGE, 150 * PAGE);
      await device.run(add, { x, by: 1000 }, { size: n });
      await device.run(add, { x: y, by: 2000 }, { size: n });
      sameData(x.data, (i) => (i < 100 * PAGE ? -1 : i) + 1000);
      sameData(y.data, (i) => (i >= 50 * PAGE && i < 150 * PAGE ? -2 : i) + 2000);
      const z = await y.clone();
      await device.run(fill, { x: y, value: 5 }, { size: n });
      sameData(y.data, () => 5);
      sameData(z.data, (i) => (i >= 50 * PAGE && i < 150 * PAGE ? -2 : i) + 2000);
    }));
}

longTest(
  'a random history of clones of clones keeps every array as it was written',
  () =>
    withSpace(
      [
        { kind: 'process', memory: '6MiB' },
        { kind: 'simulated', memory: '6MiB' },
      ],
      async (space) => {
        let seed = Number(process.env.ONEMEM_SEED ?? Math.floor(Math.random() * 2 ** 31));
        note(`seed ${seed} (ONEMEM_SEED)`);
        const random = (below: number): number => {
          seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
          return Math.floor((seed / 0x80000000) * below);
        };
        const n = 700 * PAGE + 5;
        const known: { array: ManagedArray<Int32Array>; model: Int32Array }[] = [];
        known.push({
          array: counting(space, n, 'root'),
          model: filled(new Int32Array(n), (i) => i),
        });
        for (let step = 0; step < (LONG ? 240 : 50); step++) {
          const at = random(known.length);
          const { array, model } = known[at];
          const from = random(n);
          const to = Math.min(n, from + 1 + random(random(4) === 0 ? n : 3 * PAGE));
          const act = random(10);
          if (act < 2 && known.length < 6) {
            known.push({
              array: (await array.clone({ name: `step ${step}` })) as typeof array,
              model: model.slice(),
            });
          } else if (act === 2 && known.length > 1) {
            array.free();
            known.splice(at, 1);
          } else if (act === 3) {
            const whole = await array.discard({ begin: Math.min(from, n - 5) });
            model.fill(0, whole.begin, whole.end);
          } else if (act < 6) {
            array.data.fill(step, from, to);
            model.fill(step, from, to);
          } else if (act < 9) {
            const device = space.devices[random(2)];
            await device.run(setBetween, { x: array, from, to, value: -step }, { size: n });
            model.fill(-step, from, to);
          } else {
            await space.devices[random(2)].run(fill, { x: array, value: step }, { size: n });
            model.fill(step);
          }
          const look = known[random(known.length)];
          for (let i = random(PAGE); i < n; i += 7 * PAGE)
            assert.equal(look.array.data[i], look.model[i], `step ${step}`);
        }
        for (const { array, model } of known) sameData(array.data, (i) => model[i]);
        for (const { array } of known) array.free();
        while (backed(space.stats()) > 0) await sleep(5);
      },
    ),
  60,
);

test('a clone has everything when its source is freed first', () =>
  withSpace([{ kind: 'process', memory: '8MiB' }], async (space) => {
    const [device] = space.devices;
    const n = MIB;
    const x = counting(space, n, 'first');
    await device.run(add, { x, by: 3 }, { size: n });
    const y = await x.clone();
    const z = await y.clone();
    x.free();
    y.free();
    const next = space.array(Int32Array, n);
    next.data.fill(-1);
    sameData(z.data, (i) => i + 3);
    z.free();
    next.free();
    assert.equal(space.stats().allocatedBytes, 0);
    while (backed(space.stats()) > 0) await sleep(5);
  }));

for (const lossy of [false, true]) {
  variantTest(
    `a device that dies${lossy ? ' with its memory' : ''} takes from clones only what was there alone`,
    () =>
      withSpace(
        [
          { kind: 'process', memory: '8MiB', lossy },
          { kind: 'process', memory: '8MiB' },
        ],
        async (space) => {
          const [dying, device] = space.devices;
          const n = 512 * PAGE;
          const x = counting(space, n, 'first');
          const half = n / 2;
          await dying.run(setBetween, { x, from: 0, to: half, value: 9 }, { size: n });
          const y = await x.clone({ name: 'draft' });
          // The clone has its own pages here, and on the host.
          await dying.run(setBetween, { x: y, from: half, to: n, value: 4 }, { size: n });
          y.data[1] = 10;
          dying.kill();
          while (dying.stats().alive) await sleep(5);
          const result = new Int32Array(1);
          if (!lossy) {
            sameData(x.data, (i) => (i < half ? 9 : i));
            sameData(y.data, (i) => (i === 1 ? 10 : i < half ? 9 : 4));
            return;
          }
          assert.equal(y.data[1], 10);
          assert.equal(y.data[2], 9, 'a page that had been copied was lost');
          const own = await failsWith('DATA_LOST', () =>
            device.run(sumBetween, { x: y, result, from: half, to: half + 1 }, { size: 1 }),
          );
          assert.match(own.message, /array draft/);
          const inherited = await failsWith('DATA_LOST', () =>
            device.run(sumBetween, { x: y, result, from: half - 1, to: half }, { size: 1 }),
          );
          assert.match(inherited.message, /array draft/);
          await device.run(fill, { x, value: 1 }, { size: n });
          await device.run(fill, { x: y, value: 2 }, { size: n });
          sameData(x.data, () => 1);
          sameData(y.data, () => 2);
        },
      ),
  );
}

test('arrays of files are cloned, private and shared ones', () =>
  withSpace([{ kind: 'process', memory: '8MiB' }], async (space) => {
    const [device] = space.devices;
    const n = 64 * PAGE;
    const fd = openSync(path, 'w');
    writeSync(fd, new Uint8Array(filled(new Int32Array(n), (i) => i).buffer));
    closeSync(fd);
    try {
      const file = space.fileArray(Int32Array, path, { name: 'file' });
      const copy = await file.clone();
      await device.run(add, { x: copy, by: 1 }, { size: n });
      sameData(copy.data, (i) => i + 1);
      sameData(file.data, (i) => i);
      const shared = space.fileArray(Int32Array, path, { name: 'shared', shared: true });
      const before = await shared.clone();
      shared.data.fill(3);
      await shared.flush();
      sameData(before.data, (i) => i);
      const after = await shared.clone();
      await device.run(add, { x: after, by: 1 }, { size: n });
      shared.free();
      sameData(after.data, () => 4);
    } finally {
      rmSync(path);
    }
  }));

test('clones that cannot be had are refused, and change nothing', () =>
  withSpace([{ kind: 'process', memory: '8MiB' }], async (space) => {
    const n = 8 * PAGE;
    const x = counting(space, n, 'ledger');
    await x.protect('none', { begin: PAGE, end: 2 * PAGE });
    const denied = await failsWith('ACCESS_DENIED', () => x.clone());
    assert.match(
      denied.message,
      /cannot clone array ledger: .*elements 1024 to 2047 .*protected against all access/,
    );
    await x.protect('read');
    const y = await x.clone();
    y.data[0] = 5;
    assert.equal(x.data[0], 0);
    await x.protect('none');
    sameData(y.data, (i) => (i === 0 ? 5 : i));
    await x.protect('readwrite');
    x.free({ begin: 3 * PAGE, end: 4 * PAGE });
    const holey = await failsWith('USE_AFTER_FREE', () => x.clone());
    assert.match(holey.message, /elements 3072 to 4095/);
    const { handle } = x;
    x.free();
    await failsWith('USE_AFTER_FREE', () => x.clone());
    await failsWith('USE_AFTER_FREE', () => space.attachArray(handle).clone());
    await failsWith('NAME', () => y.clone({ name: 5 as unknown as string }));
    const large = space.array(Int32Array, 40 * MIB, { name: 'large' });
    const { allocatedBytes, ranges } = space.stats();
    const error = await failsWith('HOST_BUDGET', () => large.clone({ name: 'too much' }));
    assert.ok(error instanceof RangeError);
    assert.match(error.message, /cannot clone array large: it takes/);
    assert.equal(space.stats().allocatedBytes, allocatedBytes);
    // Addresses of arrays of earlier tests come back when their views are collected.
    assert.ok(space.stats().ranges <= ranges);
    assert.equal(large.data[40 * MIB - 1], 0);
  }));

await runTests();
