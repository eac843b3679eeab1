/**
 * Large copies that no thread waits for are made by threads of their own, where there are CPUs for
 * them; here wherever this runs. What moves is the same byte for byte, faults are served meanwhile,
 * what such a thread cannot do the manager hears of, and one that ends is not lived with.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import {
  type Device,
  i32,
  kernel,
  type ManagedArray,
  openSpace,
  type SpaceOptions,
} from '../../src/index.js';
import { openFailing } from '../harness/failing.js';
import { goneWithin, Program, type Traces } from '../harness/processes.js';
import { failsWith, longTest, runTests, test } from '../harness/suite.js';

process.env.ONEMEM_COPY_THREADS = 'on';

const MIB = 2 ** 20;
const DEVICES: SpaceOptions = { devices: [{ kind: 'process', memory: '24MiB' }] };

const addIndex = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += i;
});

function fill({ data }: ManagedArray<Int32Array>, salt: number): void {
  for (let i = 0; i < data.length; i++) data[i] = Math.imul(i, 2_654_435_761) + salt;
}

async function move(
  array: ManagedArray,
  device: Device,
  to: Device | 'host' = device,
): Promise<void> {
  using stream = device.stream();
  await stream.prefetch(array.range(), to).synchronize();
}

function check({ data }: ManagedArray<Int32Array>, salt: number, added: 0 | 1): void {
  for (let i = 0; i < data.length; i++) {
    const expected = (Math.imul(i, 2_654_435_761) + salt + added * i) | 0;
    if (data[i] !== expected) assert.fail(`element ${i} is ${data[i]} instead of ${expected}`);
  }
}

/** The names of calls that threads of copies make, all of which count and none of which fails. */
const COUNTED = 'copy/UFFDIO_COPY:EINTR:1,copy/UFFDIO_CONTINUE:EINTR:1';

longTest(
  'prefetches, launches and evictions move every byte, and threads of copies move some of them',
  async () => {
    const { space, arm, fired } = await openFailing(COUNTED, DEVICES);
    await using _ = space;
    const [device] = space.devices;
    // Together twice what the device has.
    const arrays = Array.from({ length: 3 }, (_each, index) =>
      space.array(Int32Array, (16 * MIB) / 4, { name: `numbers ${index}` }),
    );
    arrays.forEach(fill);
    // The first prefetch starts the threads; the manager copies until they are there.
    await move(arrays[0], device);
    arm();
    for (let round = 0; round < 20 && fired() === 0; round++) {
      for (const array of arrays) await move(array, device);
      await move(arrays[round % 3], device, 'host');
    }
    assert.ok(fired() > 0, 'no thread of copies has mapped anything');
    for (const x of arrays) await device.run(addIndex, { x }, { size: x.length });
    arrays.forEach((array, salt) => {
      check(array, salt, 1);
    });
    space.checkInvariants();
  },
);

longTest('what a thread of copies gets no memory for comes in smaller pieces', async () => {
  // Blocks that cannot get their memory in one piece.
  const inject = { refuseLargerThanPages: 64 };
  const { space, arm, fired } = await openFailing('copy/UFFDIO_COPY:ENOMEM:1-3', {
    devices: [{ kind: 'process', memory: '24MiB', inject }],
  });
  await using _ = space;
  const [device] = space.devices;
  arm();
  for (let round = 0; round < 20 && fired() === 0; round++) {
    const x = space.array(Int32Array, (16 * MIB) / 4);
    fill(x, round);
    await move(x, device);
    await device.run(addIndex, { x }, { size: x.length });
    check(x, round, 1);
    x.free();
  }
  assert.ok(fired() > 0, 'no thread of copies was refused memory');
  space.checkInvariants();
});

longTest('faults elsewhere are served while a large copy runs', async () => {
  await using space = await openSpace(DEVICES);
  const [device] = space.devices;
  const large = space.array(Int32Array, (16 * MIB) / 4);
  const other = space.array(Int32Array, (64 * MIB) / 4);
  other.advise({ pattern: 'random' });
  fill(large, 1);
  await move(large, device);
  await move(large, device, 'host');
  const words = new SharedArrayBuffer(8);
  const workerData = { handle: other.handle, words };
  const touching = new Worker(new URL('./programs/touching-thread.js', import.meta.url), {
    workerData,
  });
  await once(touching, 'message');
  const signal = new Int32Array(words);
  let meanwhile = 0;
  for (let round = 0; round < 20 && meanwhile === 0; round++) {
    fill(large, 1);
    const before = Atomics.load(signal, 1);
    const moved = move(large, device);
    Atomics.store(signal, 0, 1);
    Atomics.notify(signal, 0);
    await moved;
    meanwhile = Atomics.load(signal, 1) - before;
    Atomics.store(signal, 0, 0);
  }
  await touching.terminate();
  assert.ok(meanwhile > 0, 'no page was touched while a prefetch ran');
  check(large, 1, 0);
});

longTest('a space is closed while copies run', async () => {
  const space = await openSpace(DEVICES);
  const [device] = space.devices;
  const x = space.array(Int32Array, (16 * MIB) / 4);
  fill(x, 1);
  await move(x, device);
  await move(x, device, 'host');
  fill(x, 2);
  const under = move(x, device).catch((error: { code?: string }) =>
    assert.equal(error.code, 'SPACE_CLOSED'),
  );
  await space.close();
  await under;
});

longTest("a device that is killed while copies run loses nothing that is the host's", async () => {
  await using space = await openSpace(DEVICES);
  const [device] = space.devices;
  const x = space.array(Int32Array, (16 * MIB) / 4);
  fill(x, 3);
  await move(x, device);
  await move(x, device, 'host');
  fill(x, 3);
  const under = move(x, device).catch((error: { code?: string }) =>
    assert.equal(error.code, 'DEVICE_LOST'),
  );
  process.kill(space.handle.devices[0].pid as number, 'SIGKILL');
  await under;
  check(x, 3, 0);
  space.checkInvariants();
});

longTest('a thread of copies that ends takes the space along, and is named', async () => {
  const program = new Program('copy-threads', [], { seconds: 60 });
  const traces = JSON.parse(await program.line('traces ')) as Traces;
  const { signal, stderr } = await program.outcome;
  assert.equal(signal, 'SIGKILL');
  const message =
    /^onemem: the memory manager ended: Error: the thread that copies to devices ended \(ended on purpose\).*Managed memory cannot be served/;
  assert.match(stderr, message);
  assert.deepEqual(await goneWithin(10_000, traces), []);
});

test('a setting that is neither on nor off is refused', async () => {
  process.env.ONEMEM_COPY_THREADS = 'yes';
  try {
    const error = await failsWith('INTERNAL', () => openSpace());
    assert.match(error.message, /ONEMEM_COPY_THREADS is on, off or auto, not yes/);
  } finally {
    process.env.ONEMEM_COPY_THREADS = 'on';
  }
});

await runTests();
