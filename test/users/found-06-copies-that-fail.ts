/**
 * Calls that read or write an array's pages by themselves fail by a code where pages cannot be had.
 */
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { inspect } from 'node:util';
import { type AddressSpace, kernel, type ManagedArray, openSpace, u32 } from '../../src/index.js';
import { openFailing } from '../harness/failing.js';
import {
  failsWith,
  filled,
  longTest,
  runTests,
  sameData,
  sleep,
  test,
  variantTest,
} from '../harness/suite.js';

const MIB = 2 ** 20;
const N = 8 * 1024;
const add = kernel({ x: u32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i]++;
});

type Words = ManagedArray<Uint32Array>;

/** An array of which some page cannot be had, and the code that says so. */
const withheld: Record<string, { code: string; make(space: AddressSpace): Promise<Words> }> = {
  'are protected': {
    code: 'ACCESS_DENIED',
    make: async (space) => {
      const x = space.array(Uint32Array, N, { name: 'x' });
      x.data.fill(1);
      await x.protect('none', { begin: 1024, end: 2048 });
      return x;
    },
  },
  'are lost': {
    code: 'DATA_LOST',
    make: async (space) => {
      const x = space.array(Uint32Array, N, { name: 'x' });
      x.data.fill(1);
      const [device] = space.devices;
      await device.run(add, { x }, { size: 5000 });
      device.kill();
      while (device.stats().alive) await sleep(5);
      return x;
    },
  },
  'are refused': {
    code: 'ACCESS_REFUSED',
    make: (space) =>
      space.providedArray(Uint32Array, N, {
        module: 'data:text/javascript,export default ({ refuse }) => refuse("no")',
        name: 'x',
      }),
  },
  'were freed': {
    code: 'USE_AFTER_FREE',
    make: async (space) => {
      const x = space.array(Uint32Array, N, { name: 'x' });
      x.free({ begin: 1024, end: 2048 });
      return x;
    },
  },
};

for (const [what, { code, make }] of Object.entries(withheld)) {
  variantTest(
    `toBuffer() of pages that ${what} throws ${code}, and the program goes on`,
    async () => {
      await using space = await openSpace({
        hostMemory: '32MiB',
        devices: [{ kind: 'process', memory: '8MiB', lossy: true }],
      });
      const x = await make(space);
      await failsWith(code, () => x.toBuffer({ end: 4000 }));
      assert.match(inspect(x), /ManagedArray/);
      assert.match(JSON.stringify(x), /"name":"x"/);
    },
  );
}

test('toBuffer() of many pieces copies each byte', async () => {
  await using space = await openSpace({ hostMemory: '32MiB' });
  const x = space.array(Uint32Array, 300_001);
  filled(x.data, (i) => i);
  const { buffer, byteOffset, length } = x.toBuffer({ begin: 1 });
  sameData(new Uint32Array(buffer, byteOffset, length / 4), (i) => i + 1);
});

/** Host memory is full of what cannot go, since the disk takes nothing. */
async function whileFull(action: (space: AddressSpace) => Promise<unknown>): Promise<void> {
  const failing = await openFailing('pwrite:ENOSPC:1-1000000', {
    hostMemory: '32MiB',
    storage: { path: tmpdir(), bytes: '256MiB' },
    devices: [{ kind: 'process', memory: '8MiB' }],
  });
  await using space = failing.space;
  const full = space.array(Uint32Array, (34 * MIB) / 4, { name: 'full' });
  failing.arm();
  const zero = await import('node:fs').then(({ openSync }) => openSync('/dev/zero', 'r'));
  await failsWith('OUT_OF_STORAGE', () => full.readFrom(zero));
  await action(space);
}

longTest('a launch over a plain array for whose copy there is no room rejects', () =>
  whileFull(async (space) => {
    const x = filled(new Uint32Array(MIB), (i) => i);
    const error = await failsWith('OUT_OF_STORAGE', () =>
      space.devices[0].run(add, { x }, { size: x.length }),
    );
    assert.match(error.message, /x of kernel add/);
    sameData(x, (i) => i);
  }),
);

longTest('verify rejects where elements cannot be copied', async () => {
  await using space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  const x = await withheld['are protected'].make(space);
  await failsWith('ACCESS_DENIED', () =>
    space.devices[0].run(add, { x }, { size: N, verify: true }),
  );
});

await runTests();
