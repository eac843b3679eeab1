/** Arrays that get longer and shorter. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { closeSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type AddressSpace, i32, kernel, type ManagedArray } from '../../src/index.js';
import { runProgram } from '../harness/processes.js';
import { sharedSpace } from '../harness/spaces.js';
import {
  failsWith,
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
const path = `${tmpdir()}/onemem-resizing-${process.pid}`;

const add = kernel({ x: i32.inout, by: i32 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += by;
});
const setBetween = kernel(
  { x: i32.inout, from: i32, to: i32, value: i32 },
  ({ x, from, to, value }, { begin, end }) => {
    for (let i = Math.max(begin, from); i < Math.min(end, to); i++) x[i] = value;
  },
);
const fill = kernel({ x: i32.out, value: i32 }, ({ x, value }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = value;
});

type Kind = 'process' | 'simulated';
async function withSpace(
  kinds: readonly Kind[],
  action: (space: AddressSpace) => Promise<void>,
): Promise<void> {
  await using space = await sharedSpace({
    devices: kinds.map((kind) => ({ kind, memory: '8MiB' })),
    hostMemory: '160MiB',
    storage: false,
    checkInvariants: true,
  });
  await action(space);
  space.checkInvariants();
}

function counting(
  space: AddressSpace,
  length: number,
  options: { name?: string; maxLength?: number },
): ManagedArray<Int32Array> {
  const array = space.array(Int32Array, length, options);
  for (let i = 0; i < length; i++) array.data[i] = i;
  return array;
}

for (const kind of ['process', 'simulated'] as const) {
  variantTest(`an array grows in place up to its maxLength, on the CPU and a ${kind} device`, () =>
    withSpace([kind], async (space) => {
      const [device] = space.devices;
      const n = 10 * PAGE + 5;
      const x = counting(space, n, { name: 'list', maxLength: 2000 * PAGE });
      const before = space.stats().allocatedBytes;
      const { address } = x;
      await device.run(add, { x, by: 1 }, { size: n });
      for (const length of [n + 1, 11 * PAGE, 700 * PAGE + 3, 2000 * PAGE]) {
        const old = x.length;
        await x.resize(length);
        assert.equal(x.address, address);
        assert.equal(x.length, length);
        assert.equal(x.byteLength, 4 * length);
        assert.equal(x.data.length, length);
        sameData(x.data, (i) => (i < n ? i + 1 : i < old ? i : 0));
        await device.run(setBetween, { x, from: old, to: length, value: 0 }, { size: length });
        for (let i = old; i < length; i++) x.data[i] = i;
      }
      assert.equal(space.stats().allocatedBytes, before + 1989 * 4096);
      await device.run(add, { x, by: 5 }, { size: x.length });
      sameData(x.data, (i) => (i < n ? i + 1 : i) + 5);
      using stream = device.stream();
      const event = stream.prefetch(x.range(), 'host');
      await event.synchronize();
      assert.deepEqual(event.elements, { begin: 0, end: x.length });
    }),
  );

  variantTest(
    `what was given back reads as zero when the array grows again, on a ${kind} device, too`,
    () =>
      withSpace([kind], async (space) => {
        const [device] = space.devices;
        const n = 600 * PAGE;
        const x = counting(space, n, { name: 'list', maxLength: n });
        const whole = x.data;
        await device.run(fill, { x, value: 7 }, { size: n });
        const { allocatedBytes } = space.stats();
        await x.resize(100 * PAGE + 10);
        assert.equal(space.stats().allocatedBytes, allocatedBytes - 499 * 4096);
        sameData(x.data, () => 7);
        // An older view writes behind the end, in the page that the array ends in.
        whole[100 * PAGE + 500] = -1;
        await x.resize(500 * PAGE);
        sameData(x.data, (i) => (i < 100 * PAGE + 10 ? 7 : 0));
        await device.run(add, { x, by: 2 }, { size: x.length });
        sameData(x.data, (i) => (i < 100 * PAGE + 10 ? 9 : 2));
        await x.resize(1);
        await x.resize(n);
        sameData(x.data, (i) => (i === 0 ? 9 : 0));
        assert.equal(space.stats().allocatedBytes, allocatedBytes);
        x.free();
        while (space.stats().processors.some(({ backedBytes }) => backedBytes > 0)) await sleep(5);
        const left = space.stats();
        assert.equal(left.allocatedBytes, 0);
        for (const { name, backedBytes } of left.processors)
          assert.equal(backedBytes, 0, `${name} still has memory`);
      }),
  );

  variantTest(`an array that outgrows its addresses moves, from a ${kind} device, too`, () =>
    withSpace([kind], async (space) => {
      const [device] = space.devices;
      const n = 700 * PAGE + 7;
      const x = counting(space, n, { name: 'list' });
      await device.run(setBetween, { x, from: 100, to: 400 * PAGE, value: -3 }, { size: n });
      const { address } = x;
      const old = x.data;
      await x.resize(2 * n);
      assert.notEqual(x.address, address);
      assert.equal(space.stats().allocatedBytes, Math.ceil((2 * n) / PAGE) * 4096);
      const expected = (i: number): number => (i >= n ? 0 : i >= 100 && i < 400 * PAGE ? -3 : i);
      sameData(x.data, expected);
      await device.run(add, { x, by: 10 }, { size: x.length });
      sameData(x.data, (i) => expected(i) + 10);
      if (old.length > 0) assert.equal(old[5], 0, 'an old view shows what is not its own any more');
      await x.resize(n);
      sameData(x.data, (i) => expected(i) + 10);
    }),
  );
}

longTest(
  'a random history of lengths keeps what was written, and shows zeros for what is new',
  () =>
    withSpace(['process', 'simulated'], async (space) => {
      let seed = Number(process.env.ONEMEM_SEED ?? Math.floor(Math.random() * 2 ** 31));
      note(`seed ${seed} (ONEMEM_SEED)`);
      const random = (below: number): number => {
        seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
        return Math.floor((seed / 0x80000000) * below);
      };
      const most = 1500 * PAGE;
      const x = counting(space, 700, { name: 'list', maxLength: 600 * PAGE });
      let model = Int32Array.from({ length: 700 }, (_, i) => i);
      const clones: { clone: ManagedArray<Int32Array>; model: Int32Array }[] = [];
      for (let step = 1; step < (LONG ? 200 : 50); step++) {
        const n = x.length;
        const from = random(n);
        const to = Math.min(n, from + 1 + random(100 * PAGE));
        const act = random(8);
        if (act < 3) {
          const length = random(2) === 0 ? 1 + random(most) : Math.max(1, n - 2000 + random(4000));
          await x.resize(length);
          const next = new Int32Array(length);
          next.set(model.subarray(0, length));
          model = next;
        } else if (act < 5) {
          x.data.fill(step, from, to);
          model.fill(step, from, to);
        } else if (act < 7) {
          await space.devices[random(2)].run(
            setBetween,
            { x, from, to, value: -step },
            { size: n },
          );
          model.fill(-step, from, to);
        } else if (clones.length < 3) clones.push({ clone: await x.clone(), model: model.slice() });
        else clones.splice(random(3), 1)[0].clone.free();
        if (step % 10 === 0) sameData(x.data, (i) => model[i]);
      }
      sameData(x.data, (i) => model[i]);
      for (const { clone, model } of clones) sameData(clone.data, (i) => model[i]);
    }),
  60,
);

longTest('rights, advice and holes travel with an array that moves', () =>
  withSpace(['process'], async (space) => {
    const [device] = space.devices;
    const n = 600 * PAGE;
    const x = counting(space, n, { name: 'list' });
    await x.protect('read', { begin: 10 * PAGE, end: 20 * PAGE });
    await x.protect('none', { begin: 30 * PAGE, end: 40 * PAGE });
    x.free({ begin: 50 * PAGE, end: 60 * PAGE });
    x.advise({ readMostly: true });
    await x.resize(n + 1);
    await failsWith('ACCESS_DENIED', () =>
      device.run(add, { x, by: 1 }, { size: n, begin: 10 * PAGE, end: 11 * PAGE }),
    );
    const rights = (page: number) =>
      x.residency({ begin: page * PAGE, end: (page + 1) * PAGE }).runs[0];
    assert.equal(rights(9).rights, 'readwrite');
    assert.equal(rights(10).rights, 'read');
    assert.equal(rights(35).rights, 'none');
    assert.equal(rights(55).state, 'freed');
    assert.equal(rights(60).rights, 'readwrite');
    assert.ok(
      x
        .attributes()
        .runs.some(({ begin, end, readMostly }) => readMostly && begin === 0 && end >= n),
    );
    await x.protect('read', { begin: 30 * PAGE, end: 40 * PAGE });
    for (let i = 0; i < 50 * PAGE; i++) assert.equal(x.data[i], i);
    for (let i = 60 * PAGE; i <= n; i++) assert.equal(x.data[i], i < n ? i : 0);
    // In place, the last page keeps its right.
    const y = counting(space, PAGE + 5, { name: 'short', maxLength: n });
    await y.protect('read');
    await y.resize(3 * PAGE);
    sameData(y.data, (i) => (i < PAGE + 5 ? i : 0));
    assert.equal(y.residency({ end: 2 * PAGE }).runs[0].rights, 'read');
    assert.equal(y.residency({ begin: 2 * PAGE }).runs[0].rights, 'readwrite');
  }),
);

test('lengths that cannot be had are refused, and nothing is lost', () =>
  withSpace(['process'], async (space) => {
    const x = counting(space, MIB, { name: 'list', maxLength: 50 * MIB });
    for (const length of [
      -1,
      1.5,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      '5' as unknown as number,
    ]) {
      await failsWith('ARRAY_LENGTH', () => x.resize(length));
    }
    await failsWith('VIEW_SIZE', () => x.resize(2 ** 52));
    for (const maxLength of [0, 9, 10.5, Number.NaN]) {
      await failsWith('MAX_LENGTH', () => space.array(Int32Array, 10, { maxLength }));
    }
    sameData(x.data, (i) => i);
    const file = space.fileArray(Uint8Array, process.execPath, { name: 'node' });
    await failsWith('NOT_RESIZABLE', () => file.resize(5));
    x.free();
    await failsWith('USE_AFTER_FREE', () => x.resize(5));
  }));

test('a length that host memory has no room for is refused, in place and elsewhere', () =>
  withSpace(['process'], async (space) => {
    const x = counting(space, MIB, { name: 'list', maxLength: 50 * MIB });
    const inPlace = await failsWith('HOST_BUDGET', () => x.resize(45 * MIB));
    assert.ok(inPlace instanceof RangeError);
    assert.match(
      inPlace.message,
      /cannot resize array list: it takes \d+ bytes, and of the host budget/,
    );
    const moving = space.array(Int32Array, 20 * MIB, { name: 'other' });
    await failsWith('HOST_BUDGET', () => moving.resize(25 * MIB));
    sameData(x.data, (i) => i);
    const { allocatedBytes } = space.stats();
    moving.free();
    assert.ok(space.stats().allocatedBytes < allocatedBytes);
  }));

test('an array that is pinned, or that a launch uses, is not resized', () =>
  withSpace(['process'], async (space) => {
    const [device] = space.devices;
    const n = MIB;
    const x = counting(space, n, { name: 'list', maxLength: 2 * MIB });
    const pin = await x.pin({ end: 5 });
    const pinned = await failsWith('PINNED', () => x.resize(n + 1));
    assert.match(pinned.message, /cannot resize array list, .*unpin it first/);
    pin.unpin();
    const event = device.stream().launch(add, { x, by: 1 }, { size: n });
    const used = await failsWith('ARRAY_IN_USE', () => x.resize(n + 1));
    assert.match(used.message, /cannot resize array list: a launch/);
    await event.synchronize();
    sameData(x.data, (i) => i + 1);
  }));

test('an array that is being resized can be used for nothing else until it is through', () =>
  withSpace(['process'], async (space) => {
    const small = counting(space, MIB, { name: 'small' });
    const both = small.resize(2 * MIB);
    // Until the program has heard of the new place, nothing can be done to the old one, which may
    // have gone already.
    const acts = [
      () => small.resize(3 * MIB),
      () => small.clone(),
      () => small.pin(),
      () => small.protect('read'),
      async () => small.free(),
    ];
    for (const result of await Promise.allSettled(acts.map((act) => act()))) {
      assert.ok(result.status === 'rejected');
      const { code } = result.reason as { code: string };
      assert.ok(code === 'ARRAY_IN_USE' || code === 'STALE_HANDLE', code);
    }
    await both;
    assert.equal(small.length, 2 * MIB);
    sameData(small.data, (i) => (i < MIB ? i : 0));
  }));

test('a thread that has the handle of an array that moved is told so', () =>
  withSpace(['process'], async (space) => {
    const x = counting(space, 5000, { name: 'list' });
    const { handle } = x;
    const worker = new Worker(new URL('./programs/resized-thread.js', import.meta.url), {
      workerData: handle,
    });
    assert.deepEqual((await once(worker, 'message'))[0], 4999);
    await x.resize(2 * MIB);
    worker.postMessage('moved');
    const [codes] = (await once(worker, 'message')) as [Record<string, string>];
    for (const [what, code] of Object.entries(codes)) assert.equal(code, 'STALE_HANDLE', what);
    assert.ok(Object.keys(codes).length > 4);
    await failsWith('STALE_HANDLE', () => space.attachArray(handle).data);
    assert.equal(space.attachArray(x.handle).data[4999], 4999);
    const y = counting(space, 5000, { name: 'short', maxLength: 10_000 });
    const early = y.handle;
    await y.resize(6000);
    await failsWith('STALE_HANDLE', () => space.attachArray(early));
    await worker.terminate();
  }));

test('transfers, copies and flushes use the new length', () =>
  withSpace(['process'], async (space) => {
    const x = counting(space, 1000, { name: 'list', maxLength: 100_000 });
    const fd = openSync(path, 'w+');
    try {
      await x.resize(50_000);
      assert.equal(await x.writeTo(fd, { position: 0 }), 200_000);
      await x.resize(100);
      assert.equal(await x.readFrom(fd, { position: 4 }), 400);
      sameData(x.data, (i) => i + 1);
      await failsWith('ARRAY_RANGE', () => x.range(0, 101));
      const copy = new Int32Array(100);
      await space.devices[0].stream().copy(copy, x).synchronize();
      sameData(copy, (i) => i + 1);
    } finally {
      closeSync(fd);
      rmSync(path);
    }
  }));

if (Number(process.versions.node.split('.')[0]) < 22) {
  for (const way of ['moved', 'shorter']) {
    variantTest(
      `a late write to a view of an array that is ${way} ends the process with a message`,
      async () => {
        const { code, signal, stdout, stderr } = await runProgram('resized', [way]);
        assert.ok(code !== 0 && signal === 'SIGBUS', `${signal} ${code} ${stderr}`);
        assert.equal(stdout.trim(), 'read 0');
        const lines = stderr.trim().split('\n');
        assert.equal(lines.length, 2, stderr);
        assert.match(
          lines[0],
          /^onemem: warning: the program read array list, .*(has been freed|has moved to other addresses; take array\.data anew); it reads as zero$/,
        );
        assert.match(
          lines[1],
          /^onemem: denied access: thread \d+ wrote array list, .*(been freed|take array\.data anew)\. The process ends\.$/,
        );
      },
    );
  }
}

await runTests();
