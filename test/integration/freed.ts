/** Arrays that are freed, wholly or in part, and programs that use them all the same. */
import assert from 'node:assert/strict';
import {
  type AddressSpace,
  i32,
  kernel,
  type ManagedArray,
  type OnememError,
} from '../../src/index.js';
import { runProgram } from '../harness/processes.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, longTest, runTests, sameData, test, variantTest } from '../harness/suite.js';

const MIB = 2 ** 20;
const PAGE = 4096;

const add = kernel({ x: i32.inout, by: i32 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += by;
});

async function withSpace(action: (space: AddressSpace) => Promise<void>): Promise<void> {
  await using space = await sharedSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  await action(space);
  space.checkInvariants();
}

const perPage = PAGE / 4;

/** An array of 4 MiB that a device has counted up by one. */
async function counted(space: AddressSpace): Promise<ManagedArray<Int32Array>> {
  const x = space.array(Int32Array, MIB, { name: 'holey' });
  for (let i = 0; i < x.length; i++) x.data[i] = i;
  await space.devices[0].run(add, { x, by: 1 }, { size: x.length });
  return x;
}

test('a part that has no whole page, or is none, is refused', () =>
  withSpace(async (space) => {
    const n = MIB;
    const x = space.array(Int32Array, n, { name: 'holey' });
    const { allocatedBytes } = space.stats();
    for (const [begin, end] of [
      [1, perPage - 1],
      [1, 2 * perPage - 1],
      [perPage - 1, perPage + 1],
    ]) {
      const error = await failsWith('NO_WHOLE_PAGE', () => x.free({ begin, end }));
      assert.match(
        error.message,
        /of array holey contain no whole page of 4096 bytes: .*1024 elements from a multiple of 1024/,
      );
    }
    for (const part of [
      { begin: 6, end: 5 },
      { begin: 0.5 },
      { end: n + 1 },
      { begin: -1 },
      { begin: 9, end: 3 },
      { end: Number.NaN },
    ]) {
      await failsWith('ARRAY_RANGE', () => x.free(part));
    }
    await failsWith('OPTIONS', () => x.free(5 as never));
    assert.equal(
      space.stats().allocatedBytes,
      allocatedBytes,
      'what was refused has freed nothing',
    );
  }));

test('a part is freed by whole pages, the rest stays as it is', () =>
  withSpace(async (space) => {
    const x = await counted(space);
    const before = space.stats();
    const freed = x.free({ begin: 10 * perPage - 1, end: 600 * perPage + 1 });
    assert.deepEqual(freed, { begin: 10 * perPage, end: 600 * perPage });
    const stats = space.stats();
    assert.equal(before.allocatedBytes - stats.allocatedBytes, 590 * PAGE);
    for (const [index, processor] of stats.processors.entries()) {
      assert.ok(processor.backedBytes <= before.processors[index].backedBytes);
    }
    await failsWith('USE_AFTER_FREE', () => x.free({ begin: 10 * perPage, end: 11 * perPage }));
    const runs = x.residency().runs.filter(({ state }) => state === 'freed');
    assert.deepEqual([runs[0].begin, runs[runs.length - 1].end], [freed.begin, freed.end]);
    for (let i = 0; i < freed.begin; i++) assert.equal(x.data[i], i + 1);
    for (let i = freed.end; i < x.length; i++) assert.equal(x.data[i], i + 1);
    x.free();
    assert.equal(space.stats().allocatedBytes, 0);
  }));

test('a launch that touches what was freed fails and says where; the rest can still be used', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const x = await counted(space);
    const n = x.length;
    const freed = x.free({ begin: 10 * perPage, end: 600 * perPage });
    const error = await failsWith('USE_AFTER_FREE', () =>
      device.run(add, { x, by: 1 }, { size: n }),
    );
    assert.match(error.message, /array holey, elements \d+ to \d+ .*which has been freed/);
    const begin = freed.end;
    const value = x.data[begin];
    await device.run(add, { x, by: 1 }, { size: n, begin, end: n });
    assert.equal(x.data[begin], value + 1);
    assert.equal(x.data[n - 1] - (n - 1), x.data[begin] - begin);
  }));

test('what is freed to its last part refuses every call, also about no elements', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const x = await counted(space);
    const same = space.attachArray(x.handle);
    const stream = device.stream();
    const middle = 100 * perPage;
    const none = { begin: 5, end: 5 };
    x.free({ begin: middle });
    assert.deepEqual(x.advise({ readMostly: true }, none), none);
    assert.deepEqual(x.free(none), none);
    x.free({ begin: 0, end: middle });
    const fresh = space.array(Int32Array, x.length);
    fresh.free({ begin: 0, end: fresh.length });
    for (const [what, call] of Object.entries<(array: typeof x) => unknown>({
      advise: (array) => array.advise({ readMostly: true }, none),
      attributes: (array) => array.attributes(none),
      residency: (array) => array.residency(none),
      dirty: (array) => array.dirty(none),
      young: (array) => array.young(none),
      free: (array) => array.free(none),
      protect: (array) => array.protect('read', none),
      discard: (array) => array.discard(none),
      flush: (array) => array.flush(none),
      pin: (array) => array.pin(none),
      hold: (array) => array.hold(none),
      toBuffer: (array) => array.toBuffer(none),
      createReadStream: (array) => array.createReadStream(none),
      writeTo: (array) => array.writeTo(1, none),
      prefetch: (array) => stream.prefetch(array.range(5, 5)),
      copy: (array) => stream.copy(array.range(5, 5), new Int32Array(0)),
      watch: (array) => array.watch(),
    })) {
      for (const array of [x, fresh, same]) {
        const error = await failsWith('USE_AFTER_FREE', () => call(array));
        assert.match(error.message, /freed/, what);
      }
    }
    await failsWith('USE_AFTER_FREE', () => fresh.data);
    await failsWith('USE_AFTER_FREE', () => stream.prefetch(x.data.subarray(5, 5)));
  }));

test('memory comes back and addresses are used again', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    for (let round = 0; round < 30; round++) {
      const x = space.array(Int32Array, MIB / 2);
      // Without a view nothing keeps the addresses, which are handed out in the order in which they
      // came back.
      await device.run(add, { x, by: round + 1 }, { size: MIB / 2 });
      const y = space.array(Int32Array, MIB / 2);
      await device.run(add, { x: y, by: -1 }, { size: MIB / 2 });
      assert.equal(x.data[MIB / 4], round + 1);
      sameData(y.data.subarray(0, 4096), () => -1);
      x.free();
      y.free();
    }
    const { processors, allocatedBytes } = space.stats();
    assert.equal(allocatedBytes, 0);
    for (const { name, backedBytes } of processors)
      assert.equal(backedBytes, 0, `${name} still has memory`);
  }));

test('an array is zero when its memory was another one before', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    for (let round = 0; round < 8; round++) {
      const x = space.array(Int32Array, MIB);
      const seen = new Int32Array(1);
      const count = kernel({ x: i32.inout, seen: i32.inout }, ({ x, seen }) => {
        for (let i = 0; i < x.length; i++) {
          if (x[i] !== 0) seen[0]++;
          x[i] = -1;
        }
      });
      await device.run(count, { x, seen }, { size: 1 });
      assert.equal(seen[0], 0);
      x.free();
    }
  }));

test('freeing an array while a launch uses it', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const n = 4 * MIB;
    const x = space.array(Int32Array, n, { name: 'hasty' });
    const y = space.array(Int32Array, 4096);
    using stream = device.stream();
    const event = stream.launch(add, { x, by: 1 }, { size: n });
    await new Promise((resolve) => setTimeout(resolve, 10));
    x.free();
    // The launch had touched everything already, or it fails; it never hangs.
    const error = await event
      .synchronize()
      .catch((reason: unknown) => reason as Error & { code: string });
    if (error !== undefined) assert.equal(error.code, 'USE_AFTER_FREE', error.stack);
    await stream.synchronize().catch(() => undefined);
    await device.run(add, { x: y, by: 2 }, { size: 4096 });
    sameData(y.data, () => 2);
  }));

test('a launch ends as soon as it touches an array that was freed while it ran', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const endless = kernel({ x: i32.inout, y: i32.out }, ({ x, y }) => {
      y[0] = 1;
      for (;;) for (let i = 0; i < x.length; i++) x[i]++;
    });
    const x = space.array(Int32Array, 4 * MIB, { name: 'hasty' });
    const y = space.array(Int32Array, 4096);
    const ended = failsWith('USE_AFTER_FREE', () => device.run(endless, { x, y }, { size: 1 }));
    while (y.data[0] === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    x.free();
    const error = (await ended) as OnememError;
    assert.match(
      error.message,
      /array hasty, elements \d+ to \d+ .*has been freed; the launch was ended, and arrays that it was writing/,
    );
    assert.deepEqual(
      error.ranges.map(({ parameter }) => parameter),
      ['x', 'y'],
    );
    assert.equal(y.indeterminate, true);
    await device.run(add, { x: y, by: 2 }, { size: 4096 });
    assert.equal(y.data[1], 2);
  }));

test('the addresses of a freed array stay free while an operation that was given it waits for its turn', async () => {
  const bytes = 8 * MIB;
  await using space = await sharedSpace({
    devices: [{ kind: 'process', memory: '12MiB' }],
    addressSpace: 3 * bytes,
    checkInvariants: true,
  });
  const [device] = space.devices;
  const n = bytes / 4;
  using stream = device.stream();
  let open = (): void => undefined;
  stream.call(() => new Promise<void>((resolve) => (open = resolve)));
  const x = space.array(Int32Array, n, { name: 'early' });
  const event = stream.launch(add, { x, by: 1 }, { size: n });
  const { address } = x;
  x.free();
  space.array(Int32Array, n);
  space.array(Int32Array, n);
  await failsWith('ADDRESS_SPACE', () => space.array(Int32Array, n));
  await new Promise((resolve) => setTimeout(resolve, 20));
  open();
  await failsWith('USE_AFTER_FREE', () => event.synchronize());
  const next = space.array(Int32Array, n);
  assert.equal(next.address, address);
  sameData(next.data, () => 0);
});

longTest('a late read warns once and gives zeros', async () => {
  const { code, signal, stdout, stderr } = await runProgram('late-use', ['read']);
  assert.equal(signal, null, stderr);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^sum 0$/m);
  const lines = stderr.trimEnd().split('\n');
  assert.equal(lines.length, 1, stderr);
  assert.match(
    lines[0],
    /^onemem: warning: the program read array late, elements 0 to 1023 \(address 0x[0-9a-f]+\), which has been freed; it reads as zero$/,
  );
});

for (const how of ['write', 'write after read', 'write in a thread']) {
  variantTest(`a late ${how} ends the process with a message`, async () => {
    const { code, signal, stdout, stderr } = await runProgram('late-use', [how]);
    assert.ok(code !== 0, 'it ended as if nothing had been');
    assert.ok(
      signal === 'SIGBUS' || signal === 'SIGKILL' || signal === 'SIGSEGV',
      `${signal} ${code}`,
    );
    assert.doesNotMatch(stdout, /^survived/m);
    assert.match(
      stderr,
      /^onemem: denied access: thread \d+ wrote array late, elements \d+ to \d+ .*which has been freed\. The process ends\.$/m,
    );
  });
}

longTest('an access outside of all arrays ends the process with a message', async () => {
  const { signal, stdout, stderr } = await runProgram('late-use', ['outside']);
  assert.notEqual(signal, null);
  assert.doesNotMatch(stdout, /^survived/m);
  assert.match(
    stderr,
    /^onemem: denied access: thread \d+ read address 0x[0-9a-f]+, which belongs to no array\./m,
  );
});

await runTests();
