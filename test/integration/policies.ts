/** Policies of a program's own: they decide, and a bad one makes nothing wrong. */
import assert from 'node:assert/strict';
import { type AddressSpace, f32, kernel, openSpace } from '../../src/index.js';
import type { PolicyChoices } from '../../src/policy/index.js';
import {
  failsWith,
  filled,
  longTest,
  runTests,
  sameData,
  test,
  variantTest,
} from '../harness/suite.js';

const MODULE = new URL('./programs/policies.js', import.meta.url);
const BLOCK = (2 * 1024 * 1024) / 4;

const twice = kernel({ data: f32.inout }, ({ data }, { begin, end }) => {
  for (let i = begin; i < end; i++) data[i] *= 2;
});

function open(policies: PolicyChoices): Promise<AddressSpace> {
  return openSpace({
    hostMemory: '128MiB',
    policies,
    devices: [{ kind: 'process', name: 'd', memory: '8MiB' }],
  });
}

/** Doubles 32 MiB, or so many blocks, on a device of 8 MiB; returns what the device says of it. */
async function run(policies: PolicyChoices, blocks = 16) {
  await using space = await open(policies);
  const array = space.array(Float32Array, blocks * BLOCK);
  filled(array.data, (i) => i);
  using stream = space.devices[0].stream();
  stream.launch(twice, { data: array }, { size: array.length });
  await stream.synchronize();
  sameData(array.data, (i) => i * 2);
  return space.devices[0].stats();
}

for (const eviction of ['lru', 'fifo'] as const) {
  variantTest(`a device of 8 MiB computes right over 32 MiB with ${eviction}`, async () => {
    const { evictions } = await run({ eviction });
    if (evictions < 12) throw new Error(`${evictions} blocks were evicted`);
  });
}

longTest('a policy of a module decides what a fault brings along', async () => {
  const alone = await run({ prefetch: { module: MODULE, export: 'single' }, readAhead: 'none' }, 2);
  const usual = await run({ readAhead: 'none' }, 2);
  if (alone.writeFaults + alone.readFaults < 20 * (usual.writeFaults + usual.readFaults))
    throw new Error(
      `${alone.writeFaults} faults with single pages, ${usual.writeFaults} otherwise`,
    );
});

longTest('a policy that throws in the middle of a fault costs its place, and no data', async () => {
  const { evictions } = await run({ eviction: { module: MODULE, export: 'throwing' } });
  if (evictions < 12) throw new Error(`${evictions} blocks were evicted`);
});

/** Host and device add to 64 pages in turns; returns the faults of the device. */
async function addInTurns(placement: 'advised' | 'uvm'): Promise<number> {
  await using space = await open({ placement });
  const array = space.array(Float32Array, 65_536);
  array.data.fill(1);
  for (let time = 0; time < 8; time++) {
    for (let page = 0; page < 64; page++) array.data[page * 1024]++;
    await space.devices[0].run(twice, { data: array }, { size: array.length });
  }
  // Each time (x + 1) * 2: 3 * 2 ** n - 2 after n times. The rest is doubled only.
  sameData(array.data, (i) => (i % 1024 === 0 ? 3 * 2 ** 8 - 2 : 2 ** 8));
  const { readFaults, writeFaults } = space.devices[0].stats();
  return readFaults + writeFaults;
}

test("placement 'uvm' has a device use in host memory what thrashes", async () => {
  const [usual, pinned] = [await addInTurns('advised'), await addInTurns('uvm')];
  if (pinned > usual * 0.7) throw new Error(`${pinned} faults, ${usual} without it`);
});

test('a policy that cannot be loaded is an error of openSpace with its name', async () => {
  await failsWith('POLICY', () => open({ eviction: { module: MODULE, export: 'nothing' } }));
  await failsWith('POLICY', () => open({ eviction: { module: './policies.js' } }));
  const none = new URL('./none.js', import.meta.url);
  const { message } = await failsWith('POLICY', () => open({ eviction: { module: none } }));
  assert.match(
    message,
    /policies\.eviction: .*none\.js cannot be loaded: there is no file .*none\.js; new URL/,
  );
  const { message: thrown } = await failsWith('POLICY', () =>
    open({ readAhead: { module: MODULE, export: 'several' } }),
  );
  assert.match(
    thrown,
    /policies\.readAhead: export 'several' of .*policies\.js threw Cannot destructure property 'blocks'/,
  );
  await failsWith('POLICY', () => open({ prefetch: { name: 'pattern', thresholdPercent: 500 } }));
  await failsWith('OPTIONS', () => open({ eviction: 'belady' } as unknown as PolicyChoices));
});

await runTests();
