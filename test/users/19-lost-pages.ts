/**
 * Pages that were lost with a device: every call that needs their content says so, and no call says
 * so of pages that are there.
 */
import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { type AddressSpace, kernel, type ManagedArray, openSpace, u32 } from '../../src/index.js';
import { Folder } from '../harness/command.js';
import { failsWith, LONG, longTest, runTests, sameData, sleep, test } from '../harness/suite.js';

const LENGTH = 200_000;
/** Of the tests that kill a device at some moment. */
const ROUNDS = LONG ? 3 : 2;

const increment = kernel({ x: u32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i]++;
});

async function killed(space: AddressSpace): Promise<void> {
  space.devices[0].kill();
  while (space.devices[0].stats().alive) await sleep(1);
}

/** An array that only the first device had, which is gone, and a clone that was made before. */
async function withLost(
  action: (
    space: AddressSpace,
    x: ManagedArray<Uint32Array>,
    clone: ManagedArray<Uint32Array>,
  ) => Promise<void>,
): Promise<void> {
  const device = { kind: 'process', memory: '8MiB' } as const;
  await using space = await openSpace({
    devices: [{ ...device, lossy: true }, device],
    checkInvariants: true,
  });
  const x = space.array(Uint32Array, LENGTH, { name: 'x' });
  x.data.fill(1);
  await space.devices[0].run(increment, { x }, { size: LENGTH });
  const clone = await x.clone({ name: 'clone' });
  await killed(space);
  await action(space, x, clone);
}

longTest(
  'every call that needs the content of lost pages says DATA_LOST, of an array and of its clone',
  () =>
    withLost(async (space, x, clone) => {
      const [, device] = space.devices;
      const stream = device.stream();
      const nowhere = openSync('/dev/null', 'w');
      for (const array of [x, clone]) {
        for (const begin of [
          () => stream.prefetch(array.range(), device),
          () => stream.prefetch(array.range(), 'host'),
          () => stream.exclusive(array.range()),
          () => stream.copy(new Uint32Array(LENGTH), array),
        ]) {
          await failsWith('DATA_LOST', () => begin().synchronize());
          await stream.synchronize().catch(() => undefined);
        }
        await failsWith('DATA_LOST', () => array.pin());
        await failsWith('DATA_LOST', () => array.clone());
        await failsWith('DATA_LOST', () => array.writeTo(nowhere));
        await failsWith('DATA_LOST', () => device.run(increment, { x: array }, { size: LENGTH }));
      }
      closeSync(nowhere);
    }),
);

longTest('residency() and pointerAttributes() know what a clone has lost with its source', () =>
  withLost(async (space, _x, clone) => {
    assert.deepEqual(
      clone.residency().runs.map(({ begin, end, state }) => [begin, end, state]),
      [[0, LENGTH, 'lost']],
    );
    assert.equal(space.pointerAttributes(clone.address)?.state, 'lost');
  }),
);

longTest('what needs no content goes through: rights, a new length, a discard, which heals', () =>
  withLost(async (_space, x, clone) => {
    await x.protect('read');
    await x.protect('readwrite');
    await x.resize(2 * LENGTH);
    assert.equal(x.residency().runs[0].state, 'lost');
    for (const array of [x, clone]) {
      await array.discard();
      sameData(array.data, () => 0);
    }
  }),
);

longTest(
  'changes of a file array that were lost: reload() says so, and with `discard` the file is there again',
  async () => {
    using folder = new Folder();
    const path = folder.write('x.bin', new Uint8Array(LENGTH * 4).fill(5));
    await using space = await openSpace({
      devices: [{ kind: 'process', memory: '8MiB', lossy: true }],
      checkInvariants: true,
    });
    const x = space.fileArray(Uint32Array, path, { writable: true, name: 'x' });
    await x.reload();
    await space.devices[0].run(increment, { x }, { size: LENGTH });
    await killed(space);
    const error = await failsWith('DATA_LOST', () => x.reload());
    assert.match(
      error.message,
      /^cannot reload array x from .*, elements 0 to 1023 .* reload\(\{ discard: true \}\)/,
    );
    assert.equal(x.residency().runs[0].state, 'lost');
    await x.reload({ discard: true });
    sameData(x.data, () => 0x05050505);
    assert.equal(x.indeterminate, false);
  },
);

for (const lossy of [false, true]) {
  for (const what of ['prefetch', 'exclusive'] as const) {
    const tested = lossy === (what === 'prefetch') ? test : longTest;
    tested(
      `${what} to a ${lossy ? 'lossy ' : ''}device that is killed meanwhile says DEVICE_LOST, and nothing is lost`,
      async () => {
        await using space = await openSpace({
          devices: [{ kind: 'process', memory: '64MiB', lossy }],
        });
        const [device] = space.devices;
        for (let round = 0; round < ROUNDS; round++) {
          if (round > 0) await device.restart();
          const x = space.array(Uint32Array, 8 * 2 ** 20, { name: 'x' });
          x.data.fill(7);
          const stream = device.stream();
          const event =
            what === 'prefetch' ? stream.prefetch(x.range(), device) : stream.exclusive(x.range());
          const ended = event.synchronize().then(
            () => 'ok',
            (error: { code: string }) => error.code,
          );
          await sleep(1 + 3 * round);
          await killed(space);
          const code = await ended;
          assert.ok(code === 'DEVICE_LOST' || code === 'ok', `it says ${code}`);
          // Exclusive pages that a lossy device had got by then are gone with it.
          if (lossy && what === 'exclusive') continue;
          assert.ok(x.residency().runs.every(({ state }) => state !== 'lost'));
          assert.equal(
            x.data.findIndex((value) => value !== 7),
            -1,
          );
          x.free();
        }
      },
      60,
    );
  }
}

await runTests();
