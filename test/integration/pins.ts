/** Arrays that are pinned in host memory. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { type AddressSpace, i32, kernel, type ManagedArray } from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, note, runTests, sameData, sleep, test, variantTest } from '../harness/suite.js';

const MIB = 2 ** 20;
const PAGE = 1024;

const add = kernel({ x: i32.inout, by: i32 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += by;
});
const doubled = kernel({ x: i32.in, y: i32.out }, ({ x, y }, { begin, end }) => {
  for (let i = begin; i < end; i++) y[i] = 2 * x[i];
});
const fill = kernel({ x: i32.out, value: i32 }, ({ x, value }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = value;
});

async function withSpace(
  kind: 'process' | 'simulated',
  action: (space: AddressSpace) => Promise<void>,
): Promise<void> {
  await using space = await sharedSpace({
    devices: [{ kind, memory: '8MiB' }],
    hostMemory: '160MiB',
    storage: false,
    checkInvariants: true,
  });
  await action(space);
  space.checkInvariants();
}

/** Memory that this process has locked, by the kernel. */
function lockedKiB(): number {
  return Number(/^VmLck:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1]);
}

function hostOnly(array: ManagedArray, begin: number, end: number): boolean {
  return array
    .residency({ begin, end })
    .runs.every(({ nodes, pinned }) => nodes.includes('host') && pinned);
}

for (const kind of ['process', 'simulated'] as const) {
  variantTest(`pinned pages stay at home, whatever a ${kind} device does`, () =>
    withSpace(kind, async (space) => {
      const [device] = space.devices;
      const n = MIB;
      const x = space.array(Int32Array, n, { name: 'buffer' });
      const y = space.array(Int32Array, n, { name: 'result' });
      for (let i = 0; i < n; i++) x.data[i] = i;
      await device.run(add, { x, by: 1 }, { size: n });
      const part = { begin: 100 * PAGE + 1, end: 500 * PAGE - 1 };
      const pin = await x.pin(part);
      assert.equal(pin.bytes, 400 * 4096);
      assert.equal(space.stats().pinnedBytes, 400 * 4096);
      assert.ok(hostOnly(x, 100 * PAGE, 500 * PAGE));
      assert.ok(x.residency({ end: 100 * PAGE }).runs.every(({ pinned }) => !pinned));
      await device.run(doubled, { x, y }, { size: n });
      sameData(y.data, (i) => 2 * (i + 1));
      assert.ok(hostOnly(x, 100 * PAGE, 500 * PAGE), 'reading took a pinned page away');
      const error = await failsWith('PINNED', () => device.run(add, { x, by: 1 }, { size: n }));
      assert.match(
        error.message,
        /array buffer, elements \d+ to \d+ .*which is pinned in host memory; unpin it/,
      );
      await failsWith('PINNED', () => device.run(fill, { x, value: 1 }, { size: n }));
      for (let i = part.begin; i < part.end; i++) assert.equal(x.data[i], i + 1);
      x.data.fill(7, 100 * PAGE, 500 * PAGE);
      assert.ok(hostOnly(x, 100 * PAGE, 500 * PAGE));
      pin.unpin();
      assert.equal(space.stats().pinnedBytes, 0);
      await device.run(fill, { x, value: 9 }, { size: n });
      sameData(x.data, () => 9);
    }),
  );
}

test('pins are counted, and the last one lets go', () =>
  withSpace('process', async (space) => {
    const [device] = space.devices;
    const n = 64 * PAGE;
    const x = space.array(Int32Array, n, { name: 'buffer' });
    const before = lockedKiB();
    const all = await x.pin();
    const half = await x.pin({ begin: 0, end: 32 * PAGE });
    const middle = await x.pin({ begin: 16 * PAGE, end: 48 * PAGE, lock: false });
    assert.equal(middle.locked, false);
    assert.equal(space.stats().pinnedBytes, 64 * 4096);
    const canLock = all.locked;
    if (!canLock) note('this process may not lock memory');
    const locked = (): number => (canLock ? lockedKiB() - before : 0);
    const lockedPages = (pages: number): void => {
      if (!canLock) return;
      assert.equal(space.stats().lockedBytes, pages * 4096);
      assert.equal(locked(), pages * 4);
    };
    lockedPages(64);
    all.unpin();
    all.unpin();
    assert.equal(space.stats().pinnedBytes, 48 * 4096);
    lockedPages(32);
    const run = (begin: number, end: number) =>
      device.run(add, { x, by: 1 }, { size: n, begin, end });
    await failsWith('PINNED', () => run(0, PAGE));
    await run(48 * PAGE, n);
    half[Symbol.dispose]();
    lockedPages(0);
    await run(0, 16 * PAGE);
    await failsWith('PINNED', () => run(20 * PAGE, 21 * PAGE));
    middle.unpin();
    await run(0, n);
    sameData(x.data, (i) => (i < 16 * PAGE || i >= 48 * PAGE ? 2 : 1));
  }));

test('what pinned pages forbid is refused, and leaves them as they are', () =>
  withSpace('process', async (space) => {
    const [device] = space.devices;
    const n = 64 * PAGE;
    const x = space.array(Int32Array, n, { name: 'buffer' });
    const y = space.array(Int32Array, n, { name: 'zeros' });
    x.data.fill(5);
    const pin = await x.pin({ begin: 8 * PAGE, end: 16 * PAGE });
    const error = await failsWith('PINNED', () => x.free());
    assert.match(
      error.message,
      /cannot free array buffer, elements 8192 to 9215 .*which is pinned; unpin it first/,
    );
    assert.equal(x.isFreed, false);
    await failsWith('PINNED', () => x.free({ begin: 9 * PAGE, end: 10 * PAGE }));
    await failsWith('PINNED', () => x.discard());
    assert.deepEqual(x.free({ begin: 16 * PAGE, end: 32 * PAGE }), {
      begin: 16 * PAGE,
      end: 32 * PAGE,
    });
    assert.deepEqual(await x.discard({ end: 8 * PAGE }), { begin: 0, end: 8 * PAGE });
    for (let i = 8 * PAGE; i < 16 * PAGE; i++) assert.equal(x.data[i], 5);
    // Copies write pinned pages where they are, zeros among them.
    using stream = device.stream();
    await stream.copy(x.range(0, 16 * PAGE), y.range(0, 16 * PAGE)).synchronize();
    assert.ok(hostOnly(x, 8 * PAGE, 16 * PAGE), 'a copy of zeros took a pinned page away');
    for (let i = 0; i < 16 * PAGE; i++) assert.equal(x.data[i], 0);
    for (const part of [{ begin: 6, end: 5 }, { end: n + 1 }, { begin: Number.NaN }]) {
      await failsWith('ARRAY_RANGE', () => x.pin(part));
    }
    await failsWith('OPTIONS', () => x.pin({ lock: 'always' as 'require' }));
    await failsWith('USE_AFTER_FREE', () => x.pin());
    assert.equal(space.stats().pinnedBytes, 8 * 4096);
    pin.unpin();
    x.free();
    await failsWith('USE_AFTER_FREE', () => x.pin());
    assert.equal(space.stats().pinnedBytes, 0);
    assert.equal(space.stats().lockedBytes, 0);
  }));

test('pins of what may only be read count against the host budget', () =>
  withSpace('process', async (space) => {
    const file = space.fileArray(Uint8Array, process.execPath, { name: 'node', length: 60 * MIB });
    const pin = await file.pin({ end: 30 * MIB });
    await failsWith('HOST_BUDGET', () => space.bytes(140 * MIB));
    pin.unpin();
    const large = space.bytes(140 * MIB, { name: 'large' });
    const error = await failsWith('HOST_BUDGET', () => file.pin());
    assert.match(error.message, /cannot pin 62914560 bytes of array node/);
    assert.equal(space.stats().pinnedBytes, 0);
    large.free();
    await (await file.pin()).unpin();
  }));

test('the pins of a thread that was terminated are gone', () =>
  withSpace('process', async (space) => {
    const x = space.array(Int32Array, 64 * PAGE, { name: 'buffer' });
    const worker = new Worker(new URL('./programs/pinning-thread.js', import.meta.url), {
      workerData: x.handle,
    });
    await once(worker, 'message');
    assert.equal(space.stats().pinnedBytes, 64 * 4096);
    await failsWith('PINNED', () => x.free());
    await worker.terminate();
    // The manager looks which threads are left when another one comes.
    for (let tries = 0; space.stats().pinnedBytes > 0 && tries < 100; tries++) {
      const other = new Worker(new URL('./programs/pinning-thread.js', import.meta.url), {
        workerData: null,
      });
      other.postMessage(space.handle);
      await once(other, 'message');
      await other.terminate();
      await sleep(5);
    }
    assert.equal(space.stats().pinnedBytes, 0);
    x.free();
  }));

await runTests();
