/** What launches on devices with page faults are estimated to be. */
import assert from 'node:assert/strict';
import { f32, kernel } from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, runTests, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const add = kernel({ x: f32.in, y: f32.inout }, ({ x, y }, { begin, end }) => {
  for (let i = begin; i < end; i++) y[i] += x[i];
});
const openSmall = () => sharedSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });

test('a launch on a device with page faults is direct, whether it fits or pages come by faults', async () => {
  await using space = await openSmall();
  const [device] = space.devices;
  for (const [mib, paging] of [
    [1, 'none'],
    [16, 'faults'],
  ] as const) {
    const [x, y] = [0, 1].map(() => space.array(Float32Array, (mib * MIB) / 4));
    const estimate = await device.estimate(add, { x, y }, { size: y.length });
    assert.deepEqual(estimate, {
      way: 'direct',
      parts: 1,
      paging,
      bytesIn: 2 * mib * MIB,
      bytesOut: mib * MIB,
      reason: null,
      error: null,
    });
  }
  assert.equal(device.stats().launches, 0);
});

test('what a launch would reject with is told, and wrong arguments reject', async () => {
  await using space = await openSmall();
  const [device] = space.devices;
  const [x, y] = [0, 1].map(() => space.array(Float32Array, 1024));
  x.protect('none');
  const launch = [add, { x, y }, { size: y.length }] as const;
  const { way, error } = await device.estimate(...launch);
  assert.deepEqual([way, error?.code], ['refused', 'ACCESS_DENIED']);
  const { message } = await failsWith('ACCESS_DENIED', () => device.run(...launch));
  assert.equal(error?.message, message);
  await failsWith('SIZE', () => device.estimate(add, { x, y }, { size: -1 }));
});

test('a device that is gone is told of', async () => {
  await using space = await openSmall();
  const [device] = space.devices;
  const [x, y] = [0, 1].map(() => space.array(Float32Array, 1024));
  device.kill();
  await failsWith('DEVICE_LOST', () => device.run(add, { x, y }, { size: y.length }));
  const { way, error } = await device.estimate(add, { x, y }, { size: y.length });
  assert.deepEqual([way, error?.code], ['refused', 'DEVICE_LOST']);
});

await runTests();
