/** One suite for every test runner: what works by itself must work here. */

import { attachSpace, OnememError, openSpace } from 'onemem';
import { addOne, root } from './kernels.js';

let space;
beforeAll(async () => {
  space = await openSpace({ devices: [{ kind: 'process', memory: '16MiB' }] });
});
afterAll(() => space.close());

test('a launch over managed memory', async () => {
  const x = space.array(Float32Array, 1000);
  x.data.fill(1);
  await space.devices[0].run(addOne, { x }, { size: 1000 });
  expect(x.data).toBeInstanceOf(Float32Array);
  expect(Array.from(x.data.subarray(0, 2))).toEqual([2, 2]);
});

test('plain arrays as arguments, and a copy', async () => {
  const y = new Float32Array(1000).fill(4);
  await space.devices[0].run(root, { x: y }, { size: 1000 });
  expect(y[999]).toBe(2);
  const x = space.array(Float32Array, 1000);
  const stream = space.devices[0].stream();
  stream.copy(x, y);
  await stream.synchronize();
  expect(x.data[500]).toBe(2);
});

test('signals, handles, and what is disposed', async () => {
  const x = space.array(Float32Array, 1000);
  await space.devices[0].run(addOne, { x }, { size: 1000, signal: new AbortController().signal });
  expect(attachSpace(space.handle).handle.name).toBe(space.handle.name);
  const pin = await x.pin();
  pin[Symbol.dispose ?? Symbol.for('Symbol.dispose')]();
  await expect(
    space.devices[0].run(
      addOne,
      { x },
      { size: 1000, signal: AbortSignal.abort(new Error('no more')) },
    ),
  ).rejects.toMatchObject({ cause: { message: 'no more' } });
});

test('errors are those of this realm, and named', async () => {
  expect(() => space.array(Float32Array, -1)).toThrow(RangeError);
  expect(() => space.array(Array, 1)).toThrow(TypeError);
  const x = space.array(Float32Array, 8);
  x.free();
  expect(() => x.data[0]).toThrow(OnememError);
});
