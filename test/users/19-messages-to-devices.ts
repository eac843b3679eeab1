/**
 * A message to a device counts as delivered when it was, and a device that takes none stops only
 * itself.
 */
import assert from 'node:assert/strict';
import { i32, kernel } from '../../src/index.js';
import { openFailing } from '../harness/failing.js';
import { stopProcess } from '../harness/processes.js';
import { longTest, runTests, variantTest } from '../harness/suite.js';

const copyFirst = kernel({ x: i32.in, sum: i32.inout }, ({ x, sum }, { begin }) => {
  sum[begin] = x[0];
});
const touch = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = 1;
});

// The first message after the device has read x takes its page away; the second begins the next
// launch.
for (const [what, error, uses] of [
  ['a revocation', 'ENOBUFS', '1'],
  ['a launch', 'ENOMEM', '2'],
  ['every message for a while', 'EAGAIN', '1-5'],
]) {
  variantTest(
    `${what} that fails with ${error} is sent again, and the device reads what was written`,
    async () => {
      const devices = [{ kind: 'process', memory: '8MiB' }] as const;
      const { space, arm, fired } = await openFailing(`sendmsg:${error}:${uses}`, {
        devices,
        hostMemory: '200MiB',
      });
      const x = space.array(Int32Array, 1024);
      const sum = space.array(Int32Array, 1024);
      x.data[0] = 1;
      await space.devices[0].run(copyFirst, { x, sum }, { size: 1 });
      assert.equal(sum.data[0], 1);
      arm();
      x.data[0] = 2;
      await space.devices[0].run(copyFirst, { x, sum }, { size: 1 });
      assert.equal(sum.data[0], 2);
      assert.ok(fired() > 0, 'no call has failed');
      await space.close();
    },
  );
}

longTest(
  'a device that is stopped takes no messages, and other faults are served meanwhile',
  async () => {
    const devices = [{ kind: 'process', memory: '64MiB' }] as const;
    const { space } = await openFailing('', { devices, hostMemory: '512MiB' });
    const [device] = space.devices;
    const arrays = Array.from({ length: 450 }, () => space.array(Int32Array, 1024));
    const other = space.array(Int32Array, 8 << 20);
    const stream = device.stream();
    for (const x of arrays) stream.launch(touch, { x }, { size: 1024 });
    await stream.synchronize();
    await stopProcess(device.pid as number);
    const discarded = arrays.map((x) => x.discard());
    for (let i = 0; i < other.length; i += 1 << 19) other.data[i] = i;
    process.kill(device.pid as number, 'SIGCONT');
    await Promise.all(discarded);
    for (const x of arrays) assert.equal(x.data[7], 0);
    for (const x of arrays) stream.launch(touch, { x }, { size: 1024 });
    await stream.synchronize();
    for (const x of arrays) assert.equal(x.data[7], 1);
    await space.close();
  },
  60,
);

await runTests();
