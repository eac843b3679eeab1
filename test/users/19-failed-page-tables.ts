/**
 * Page tables that cannot be changed while a device's fault is served: tried again, or the device
 * says so. No launch waits for ever.
 */
import assert from 'node:assert/strict';
import { i32, kernel } from '../../src/index.js';
import { openFailing } from '../harness/failing.js';
import { failsWith, longTest, runTests, sameData, variantTest } from '../harness/suite.js';

const N = 3 << 19;
const increment = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});
const options = { devices: [{ kind: 'process', memory: '4MiB' }], hostMemory: '200MiB' } as const;

for (const uses of ['1', '20-25']) {
  const calls = ['COPY', 'ZEROPAGE', 'CONTINUE', 'WRITEPROTECT', 'WAKE'].map(
    (each) => `UFFDIO_${each}:ENOMEM:${uses}`,
  );
  variantTest(
    `every call finds no memory at its use ${uses}, and the launch is right`,
    async () => {
      const { space, arm, fired } = await openFailing(calls.join(), options);
      const x = space.array(Int32Array, N);
      x.data.fill(5);
      arm();
      // More than the device has: its pages come and go.
      for (let run = 0; run < 2; run++) await space.devices[0].run(increment, { x }, { size: N });
      sameData(x.data, () => 7);
      assert.ok(fired() > 0, 'no call has failed');
      await space.close();
    },
    60,
  );
}

longTest(
  'a device whose page tables cannot be changed is lost, with the call in its message, and nothing else is',
  async () => {
    const { space, arm, fired } = await openFailing('UFFDIO_WRITEPROTECT:EINVAL:1', options);
    const [device] = space.devices;
    const x = space.array(Int32Array, 1024);
    const other = space.array(Int32Array, 1 << 20);
    await device.run(increment, { x }, { size: x.length });
    arm();
    // The host reads what only the device may write: its right has to be taken first.
    assert.equal(x.data[3], 1);
    assert.equal(fired(), 1);
    const error = await failsWith('DEVICE_LOST', () =>
      device.run(increment, { x }, { size: x.length }),
    );
    assert.match(error.message, /UFFDIO_WRITEPROTECT.*EINVAL/);
    other.data.fill(4);
    assert.equal(x.data[1023], 1);
    await space.close();
  },
);

await runTests();
