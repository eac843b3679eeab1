/**
 * What a kernel may not read it does not see, although the device has had it before: zeros stand in
 * for it, and the launch fails.
 */
import assert from 'node:assert/strict';
import { type Device, kernel, type ManagedArray, u8 } from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, runTests, test } from '../harness/suite.js';

const PAGE = 4096;
const LENGTH = 8 * PAGE;
const add = kernel({ x: u8.inout, by: u8 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += by;
});
const look = kernel({ x: u8.in, seen: u8.inout }, ({ x, seen }, { begin, end }) => {
  for (let i = begin; i < end; i++) seen[i] = x[i];
});

async function seenOf(
  between: (x: ManagedArray<Uint8Array>, device: Device) => unknown,
): Promise<number[]> {
  await using space = await sharedSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  const [device] = space.devices;
  const x = space.array(Uint8Array, LENGTH);
  const seen = space.array(Uint8Array, LENGTH);
  x.data.fill(10);
  await device.run(add, { x, by: 4 }, { size: LENGTH });
  await between(x, device);
  await x.protect('none', { begin: PAGE, end: 2 * PAGE });
  await failsWith('ACCESS_DENIED', () => device.run(look, { x, seen }, { size: LENGTH }));
  await x.protect('readwrite');
  return [seen.data[0], seen.data[PAGE], x.data[PAGE]];
}

test('what the CPU has written since: not even what was there before', async () => {
  assert.deepEqual(await seenOf((x) => x.data.fill(19)), [19, 0, 19]);
});

test('what both have', async () => {
  assert.deepEqual(await seenOf((x) => x.data[PAGE]), [14, 0, 14]);
});

test('what only the device has', async () => {
  assert.deepEqual(await seenOf(() => undefined), [14, 0, 14]);
});

await runTests();
