/** A device that cannot use host memory in place says so, and pages migrate to it as usual. */
import assert from 'node:assert/strict';
import { f32, kernel, openSpace } from '../../src/index.js';
import { runTests, sameData, test } from '../harness/suite.js';

const LENGTH = 2 ** 20;
const add = kernel({ x: f32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i]++;
});

test('advice of accessedBy is kept and named as without effect', async () => {
  await using space = await openSpace({
    devices: [
      { kind: 'simulated', memory: '8MiB', name: 'far' },
      { kind: 'process', memory: '8MiB', name: 'near' },
    ],
    checkInvariants: true,
  });
  const [far, near] = space.devices;
  assert.deepEqual([far.capabilities.remoteAccess, near.capabilities.remoteAccess], [false, true]);
  const x = space.array(Float32Array, LENGTH);
  x.data.fill(1);
  x.advise({ accessedBy: [far, near] });
  await far.run(add, { x }, { size: LENGTH });
  assert.equal(far.stats().bytesIn, x.data.byteLength);
  sameData(x.data, () => 2);
  await near.run(add, { x }, { size: LENGTH });
  assert.equal(near.stats().bytesIn, 0);
  assert.deepEqual(x.attributes().runs[0].accessedBy, { far: 'migrates', near: 'in place' });
  sameData(x.data, () => 3);
});

await runTests();
