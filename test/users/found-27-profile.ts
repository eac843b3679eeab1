/** What `device.stats()` tells of a device's memory and of the copies from and to it. */
import assert from 'node:assert/strict';
import { f32, kernel, openSpace, type ProcessorStats } from '../../src/index.js';
import { longTest, runTests, sameData, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const KIB_64 = 2 ** 14;
const add = kernel({ x: f32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i]++;
});

function total({ copies }: ProcessorStats): number {
  return copies.reduce((sum, { count }) => sum + count, 0);
}

longTest('copies are counted by size on both sides, with the time that they took', async () => {
  await using space = await openSpace({ devices: [{ kind: 'process', memory: '32MiB' }] });
  const [device] = space.devices;
  const x = space.array(Float32Array, 4 * MIB);
  x.data.fill(1);
  assert.deepEqual([total(device.stats()), device.stats().copyMs], [0, 0]);
  await device.run(add, { x }, { size: x.length });
  sameData(x.data, () => 2);
  const [host, own] = space.stats().processors;
  assert.deepEqual(
    own.copies.map(({ upToBytes }) => upToBytes),
    Array.from({ length: 10 }, (_, size) => 4096 << size),
  );
  assert.deepEqual(own.copies, host.copies);
  const most = own.copies.reduce((sum, { upToBytes, count }) => sum + upToBytes * count, 0);
  const moved = own.bytesIn + own.bytesOut;
  assert.ok(moved >= 32 * MIB && moved <= most && moved > most / 2, `${moved} of ${most} bytes`);
  assert.ok(own.copyMs > 0 && host.copyMs >= own.copyMs, `${own.copyMs} ms`);
  assert.match(space.metrics(), /onemem_copy_seconds_total\{[^}]*process0[^}]*\} [0-9.]*[1-9]/);
});

test('free memory that lies in many pieces is told, with the largest of them', async () => {
  await using space = await openSpace({ devices: [{ kind: 'simulated', memory: '8MiB' }] });
  const [device] = space.devices;
  const pieces = () => {
    const { freePieces, largestFreeBytes } = device.stats();
    return [freePieces, largestFreeBytes];
  };
  assert.deepEqual(pieces(), [1, 8 * MIB]);
  const x = space.array(Float32Array, MIB / 2);
  await device.run(add, { x }, { size: x.length });
  assert.deepEqual(pieces(), [1, 6 * MIB]);
  for (let begin = KIB_64; begin < x.length; begin += 2 * KIB_64)
    x.free({ begin, end: begin + KIB_64 });
  // The last piece that was freed lies before what was free already.
  assert.deepEqual(pieces(), [16, 6 * MIB + 4 * KIB_64]);
});

await runTests();
