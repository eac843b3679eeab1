/**
 * What the compiler knows of arrays: handles carry the type of the elements, and what may only be
 * read has no methods that write.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type ArrayHandle, attachArray, f32, kernel, type ManagedArray } from '../../src/index.js';
import { Folder } from '../harness/command.js';
import { sharedSpace } from '../harness/spaces.js';
import { runTests, sameData, test } from '../harness/suite.js';

test('an array that is attached has the type that its handle says, or none', async () => {
  await using space = await sharedSpace({ hostMemory: '160MiB' });
  const x = space.array(Float32Array, 8);
  const same: ManagedArray<Float32Array> = attachArray(x.handle);
  same.data.fill(3);
  const handle: ArrayHandle<Float32Array> = x.handle;
  // @ts-expect-error the elements are of 32 bits
  const wrong: ManagedArray<Float64Array> = attachArray(handle);
  assert.equal(wrong.length, 8);
  const untyped = JSON.parse('null') ?? (x.handle as unknown);
  assert.equal(attachArray<Float32Array>(untyped).data[7], 3);
  const worker = new Worker(new URL('./programs/attaching-thread.js', import.meta.url), {
    workerData: x.handle,
  });
  assert.deepEqual(await once(worker, 'message'), ['done']);
  sameData(x.data, () => 5);
  await worker.terminate();
});

test('arrays over NumPy files may only be read unless that was said', async () => {
  using folder = new Folder();
  const path = folder.file('x.npy');
  await using space = await sharedSpace({ hostMemory: '160MiB' });
  await space.saveNpy(path, space.array(Float32Array, 8));
  const { array } = space.openNpy(path, { type: Float32Array });
  const untyped = space.openNpy(path).array;
  const refused = (): void => {
    // @ts-expect-error an element of an array that may only be read
    array.data[0] = 1;
    // @ts-expect-error a method that changes elements
    array.data.fill(1);
    // @ts-expect-error the same, of elements of any type
    untyped.data.reverse();
  };
  assert.equal(typeof refused, 'function');
  space.openNpy(path, { type: Float32Array, writable: true }).array.data[0] = 1;
  const shared: ManagedArray<Float32Array> = space.openNpy(path, {
    type: Float32Array,
    shared: true,
  }).array;
  shared.data[0] = 2;
  await shared.flush();
  assert.deepEqual([array.data[0], array.data.length], [2, 8]);
});

test('arrays that may only be read', async () => {
  await using space = await sharedSpace({
    devices: [{ kind: 'simulated', memory: '8MiB' }],
    hostMemory: '160MiB',
  });
  const file = space.fileArray(Uint8Array, process.execPath, { length: 4096 });
  // What the compiler refuses would end the process: it is compiled, and not run.
  const refused = (): void => {
    // @ts-expect-error an element of an array that may only be read
    file.data[0] = 1;
    // @ts-expect-error a method that changes elements
    file.data.fill(1);
    // @ts-expect-error the same
    file.data.set([1]);
    // @ts-expect-error a thread that attaches may no more
    attachArray(file.handle).data.fill(1);
  };
  assert.equal(typeof refused, 'function');
  // It is a typed array wherever one is read, and its clone may be written.
  assert.deepEqual([...file.data.subarray(0, 4)], [0x7f, 0x45, 0x4c, 0x46]);
  const clone = await file.clone();
  clone.data.fill(9);
  const own = space.fileArray(Uint8Array, process.execPath, { length: 4096, writable: true });
  own.data[0] = 1;
  assert.deepEqual([clone.data[0], own.data[0], file.data[0]], [9, 1, 0x7f]);
  const module = new URL('../integration/programs/provider-functions.js', import.meta.url);
  const provided = await space.providedArray(Float32Array, 16, { module, export: 'fill' });
  // @ts-expect-error a provided array may only be read unless it is writable
  const store = (): number => (provided.data[0] = 1);
  assert.equal(typeof store, 'function');
  const read = kernel({ x: f32.in }, () => undefined);
  const launch = () => space.devices[0].run(read, { x: provided }, { size: 1 });
  assert.equal(typeof launch, 'function');
});

await runTests();
