/**
 * Arrays without elements, launches of no size, and copies of nothing are ordinary: nothing runs,
 * and nothing changes.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import {
  type AddressSpace,
  attachArray,
  f32,
  i32,
  kernel,
  type ManagedArray,
} from '../../src/index.js';
import { Folder } from '../harness/command.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, runTests, sameData, test } from '../harness/suite.js';
import { testWithValkey, ValkeyServer } from '../harness/valkey-server.js';

const count = kernel({ x: f32.in, y: i32.inout, z: f32.out }, ({ x, y, z }) => {
  y[0] += 1 + x.length + z.length;
});

async function withSpace(action: (space: AddressSpace) => Promise<void>): Promise<void> {
  const devices = (['process', 'simulated'] as const).map((kind) => ({ kind, memory: '8MiB' }));
  await using space = await sharedSpace({ devices });
  await action(space);
  space.checkInvariants();
}

/** What every array can, where it has no elements, or where a part has none. */
async function useNothing(array: ManagedArray, at: number): Promise<void> {
  const { space } = array;
  const part = { begin: at, end: at };
  const range = array.range(at, at);
  assert.equal(range.data.length, 0);
  assert.deepEqual(array.residency(part).runs, []);
  assert.deepEqual(
    [array.dirty(part), array.young(part), array.attributes(part).runs],
    [[], [], []],
  );
  assert.deepEqual(array.advise({ readMostly: true }, part), part);
  const fd = await open('/dev/null', 'r+');
  assert.deepEqual([await array.writeTo(fd.fd, part), await array.readFrom(fd.fd, part)], [0, 0]);
  await fd.close();
  assert.equal(array.toBuffer(part).length, 0);
  assert.equal((await buffer(array.createReadStream(part))).length, 0);
  assert.equal(
    (await new Response(array.toReadableStream(part) as never).arrayBuffer()).byteLength,
    0,
  );
  using hold = await array.hold(part);
  assert.equal(hold.bytes.length, 0);
  using notifier = await array.watch(part);
  assert.equal(notifier.isClosed, false);
  using pin = await array.pin(part);
  assert.equal(pin.bytes, 0);
  for (const device of space.devices) {
    using stream = device.stream();
    const events = [
      stream.prefetch(range),
      stream.prefetch(range, 'host'),
      stream.copy(range, new Uint8Array(0)),
      stream.copy(new Uint8Array(0), range),
    ];
    await stream.synchronize();
    assert.deepEqual(
      events.map(({ result, bytes, elements }) => [result, bytes, elements]),
      events.map(() => ['done', 0, null]),
    );
  }
}

test('an array without elements is an array like others', () =>
  withSpace(async (space) => {
    const x = space.array(Float32Array, 0, { name: 'none' });
    assert.deepEqual(
      [x.length, x.byteLength, x.data.length, x.data.constructor],
      [0, 0, 0, Float32Array],
    );
    assert.equal(x.data, x.data);
    await useNothing(x, 0);
    assert.deepEqual(
      [x.free({ begin: 0, end: 0 }), await x.discard()],
      [
        { begin: 0, end: 0 },
        { begin: 0, end: 0 },
      ],
    );
    assert.deepEqual(await x.protect('read'), { begin: 0, end: 0 });
    assert.match(
      (await failsWith('ARRAY_RANGE', () => x.addressOf(0))).message,
      /it has no elements/,
    );
    assert.equal(x.indexAt(x.address), -1);
    assert.equal(space.pointerAttributes(x.address), null);
    const clone = await x.clone();
    assert.equal(clone.data.length, 0);
    assert.equal(attachArray(x.handle).data.length, 0);
    x.free();
    await failsWith('USE_AFTER_FREE', () => x.data);
    assert.equal(space.bytes(0).length, 0);
  }));

test('parts without elements are parts like others', () =>
  withSpace(async (space) => {
    const x = space.array(Float32Array, 5000);
    x.data.fill(3);
    for (const at of [0, 7, 1024, 5000]) {
      await useNothing(x, at);
      const part = { begin: at, end: at };
      assert.deepEqual(
        [await x.protect('none', part), await x.discard(part), x.free(part)],
        [part, part, part],
      );
    }
    await failsWith('NO_WHOLE_PAGE', () => x.free({ begin: 7, end: 8 }));
    await failsWith('NOT_SHARED', () => x.flush({ begin: 7, end: 7 }));
    sameData(x.data, () => 3);
  }));

test('a resize to no elements forgets them, and one from there begins with zeros', () =>
  withSpace(async (space) => {
    const x = space.array(Int32Array, 3000, { maxLength: 9000 });
    x.data.fill(5);
    const { address } = x;
    await x.resize(0);
    assert.deepEqual([x.length, x.data.length, x.address], [0, 0, address]);
    await x.resize(9000);
    sameData(x.data, () => 0);
    x.data.fill(6);
    await x.resize(0);
    await x.resize(100_000);
    sameData(x.data, () => 0);
    const fresh = space.array(Float64Array, 0);
    await fresh.resize(2000);
    fresh.data.fill(1.5);
    await fresh.resize(2001);
    sameData(fresh.data, (i) => (i < 2000 ? 1.5 : 0));
  }));

test('a launch of no size runs nothing, and empties nothing', () =>
  withSpace(async (space) => {
    const x = space.array(Float32Array, 9);
    const y = space.array(Int32Array, 1);
    const z = new Float32Array(9).fill(4);
    for (const device of space.devices) {
      await device.run(count, { x, y, z }, { size: 0 });
      await device.run(count, { x, y, z }, { size: 9, begin: 9, end: 9 });
      await device.run(count, { x, y, z }, { size: [3, 0] });
      await device.run(count, { x, y, z }, { size: 0, verify: true });
      const { message } = await failsWith('SIZE', () =>
        device.run(count, { x, y, z }, { size: -1 }),
      );
      assert.match(message, /a whole number of 0 or more/);
    }
    assert.equal(y.data[0], 0);
    sameData(z, () => 4);
  }));

test('a launch of no size keeps its place in the stream', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const y = space.array(Int32Array, 1);
    const args = { x: new Float32Array(0), y, z: new Float32Array(0) };
    using stream = device.stream();
    stream.launch(count, args, { size: 1 });
    const nothing = stream.launch(count, args, { size: 0 });
    await nothing.synchronize();
    assert.equal(y.data[0], 1);
    stream.call(() => Promise.reject(new Error('no')));
    const behind = stream.launch(count, args, { size: 0 });
    await failsWith('CALLBACK_ERROR', () => stream.synchronize());
    assert.equal(behind.result, 'cancelled');
  }));

test('kernels see arrays without elements, of the space and others', () =>
  withSpace(async (space) => {
    const none = space.array(Float32Array, 0);
    const whole = space.array(Float32Array, 3000);
    for (const device of space.devices) {
      const y = space.array(Int32Array, 1);
      await device.run(count, { x: none, y, z: new Float32Array(0) }, { size: 1 });
      await device.run(
        count,
        { x: whole.range(7, 7), y, z: whole.data.subarray(2000, 2000) },
        { size: 1 },
      );
      await device.run(count, { x: whole.range(7, 9), y, z: none }, { size: 1 });
      const calls = y.data[0] - 2;
      // Each unit runs the kernel, for its part of one item.
      assert.ok(calls >= 3 && calls <= 3 * device.units + 2 * (device.units - 1), `${calls} calls`);
    }
  }));

test('an array whose memory was transferred is none without elements', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    using stream = device.stream();
    const y = space.array(Int32Array, 1);
    const taken = new Float32Array(5);
    structuredClone(taken.buffer, { transfer: [taken.buffer] });
    const { message } = await failsWith('PLAIN_ARRAY_GONE', () =>
      device.run(count, { x: taken, y, z: taken }, { size: 1 }),
    );
    assert.match(
      message,
      /kernel count, parameter x: the memory of the typed array was transferred/,
    );
    await failsWith('PLAIN_ARRAY_GONE', () => stream.copy(taken, y));
  }));

test('files without elements', () =>
  withSpace(async (space) => {
    using folder = new Folder();
    const path = folder.file('empty.bin');
    writeFileSync(path, '');
    for (const options of [{}, { mapped: true }, { writable: true }, { shared: true as const }]) {
      const array: ManagedArray = space.fileArray(Float64Array, path, options);
      await useNothing(array, 0);
      await array.reload();
      if ('shared' in options) assert.equal(await array.flush({ durable: true }), 0);
      array.free();
      const y = space.array(Int32Array, 1);
      const x = space.fileArray(Float32Array, path, options);
      for (const device of space.devices)
        await device.run(count, { x, y, z: new Float32Array(0) }, { size: 1 });
      x.free();
    }
    writeFileSync(path, 'abcdefgh');
    const end = space.fileArray(Float64Array, path, { byteOffset: 8 });
    assert.equal(end.length, 0);
    await failsWith('NOT_RESIZABLE', () => end.resize(1));
    await failsWith('FILE_TOO_SHORT', () => space.fileArray(Float64Array, path, { byteOffset: 9 }));
    assert.equal(space.fileArray(Uint8Array, path, { length: 0 }).length, 0);
  }));

test('NumPy files of no rows', () =>
  withSpace(async (space) => {
    using folder = new Folder();
    const path = folder.file('x.npy');
    await space.saveNpy(path, space.array(Float32Array, 0), { shape: [0, 5] });
    assert.match(readFileSync(path, 'latin1'), /'shape': \(0, 5\)/);
    const { array, shape } = space.openNpy(path, { type: Float32Array });
    assert.deepEqual([array.length, shape], [0, [0, 5]]);
    await useNothing(array as ManagedArray, 0);
    await space.saveNpy(path, space.array(Int8Array, 9).range(4, 4));
    assert.deepEqual(space.openNpy(path).shape, [0]);
  }));

test('provided arrays without elements', () =>
  withSpace(async (space) => {
    const module = new URL('../integration/programs/provider-functions.js', import.meta.url);
    const array = await space.providedArray(Int32Array, 0, { module, export: 'fill' });
    await useNothing(array as ManagedArray, 0);
    assert.equal((await array.clone()).length, 0);
    await failsWith('PROVIDER_MODULE', () =>
      space.providedArray(Int32Array, 0, { module: './none.js' }),
    );
  }));

testWithValkey('shared arrays without elements', async () => {
  await using server = await ValkeyServer.start();
  await using space = await sharedSpace({ hostMemory: '160MiB' });
  const on = { url: server.url };
  const array = await space.sharedArray(Float32Array, 0, { name: 'nothing', on });
  assert.deepEqual([array.length, array.data.length], [0, 0]);
  await array.fence();
  await array.barrier('all', 1);
  await failsWith('SHARED_MISMATCH', () =>
    space.sharedArray(Float32Array, 1, { name: 'nothing', on }),
  );
  array.free();
});

await runTests();
