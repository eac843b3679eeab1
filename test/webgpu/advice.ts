/** Advice that a GPU cannot follow is kept, and named as without effect. */
import assert from 'node:assert/strict';
import { openSpace } from '../../src/index.js';
import { saxpy } from '../harness/gpu.js';
import { filled, runTests, sameData, test } from '../harness/suite.js';

const LENGTH = 100_000;

test('arrays that a GPU is to access in host memory migrate to it', async () => {
  await using space = await openSpace({
    devices: [{ kind: 'webgpu', memory: '8MiB', name: 'gpu' }],
    hostMemory: '64MiB',
  });
  const [device] = space.devices;
  assert.equal(device.capabilities.remoteAccess, false);
  const [x, y] = [space.array(Float32Array, LENGTH), space.array(Float32Array, LENGTH)];
  filled(x.data, (i) => i);
  x.advise({ accessedBy: device });
  await device.run(saxpy, { x, y, alpha: 2 }, { size: LENGTH });
  assert.deepEqual(x.attributes().runs[0].accessedBy, { gpu: 'migrates' });
  assert.ok(device.stats().bytesIn >= x.data.byteLength);
  sameData(y.data, (i) => 2 * i);
});

await runTests();
