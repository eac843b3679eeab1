/**
 * What a clone has from its source, on the disk or in memory, stays when the source is forgotten
 * while storage takes nothing more.
 */
import { openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { type AddressSpace, kernel, type ManagedArray, u32 } from '../../src/index.js';
import { openFailing } from '../harness/failing.js';
import {
  failsWith,
  filled,
  longTest,
  runTests,
  sameData,
  sleep,
  variantTest,
} from '../harness/suite.js';

const MIB = 2 ** 20;
const N = (10 * MIB) / 4;
const HALF = N / 2;
const path = `${tmpdir()}/onemem-found-07-${process.pid}.bin`;
process.on('exit', () => rmSync(path, { force: true }));

const fill = kernel({ x: u32.out }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = 1;
});

interface Setting {
  readonly space: AddressSpace;
  readonly a: ManagedArray<Uint32Array>;
  readonly c: ManagedArray<Uint32Array>;
  /** The disk takes pages again, as is soon noticed. */
  heal(): Promise<void>;
}

type Make = (space: AddressSpace) => Promise<ManagedArray<Uint32Array>>;

const makePlain: Make = async (space) => {
  const a = space.array(Uint32Array, N, { name: 'a', maxLength: 2 * N });
  filled(a.data, (i) => i);
  return a;
};

/**
 * An array mostly in storage, with a clone, while host memory is full of others' data, and so is
 * the disk.
 */
async function whileFull(
  action: (setting: Setting) => Promise<unknown>,
  make = makePlain,
): Promise<void> {
  const failing = await openFailing('pwrite:ENOSPC:1-1000000', {
    hostMemory: '32MiB',
    storage: { path: tmpdir(), bytes: '512MiB' },
    devices: [{ kind: 'process', memory: '8MiB' }],
    checkInvariants: true,
  });
  await using space = failing.space;
  const a = await make(space);
  const c = await a.clone({ name: 'c' });
  const b = space.array(Uint32Array, (40 * MIB) / 4, { name: 'b' });
  b.data.fill(2, 0, (28 * MIB) / 4);
  failing.arm();
  await failsWith('OUT_OF_STORAGE', () => b.readFrom(openSync('/dev/zero', 'r')));
  const heal = async (): Promise<void> => {
    failing.disarm();
    while (space.stats().storage?.full === true) await sleep(10);
  };
  await action({ space, a, c, heal });
  sameData(c.data, (i) => i);
  space.checkInvariants();
}

/** Waits until the clone has nothing from its source any more behind an element. */
async function untilOwn(c: ManagedArray<Uint32Array>, begin = 0): Promise<void> {
  while (c.residency().runs.some(({ state, end }) => state === 'clone' && end > begin))
    await sleep(10);
}

const sources: Record<string, Make> = {
  'an array': makePlain,
  'an array over a file': async (space) => {
    writeFileSync(
      path,
      filled(new Uint32Array(N), (i) => i),
    );
    return space.fileArray(Uint32Array, path, { name: 'a', writable: true });
  },
};

for (const [source, make] of Object.entries(sources)) {
  variantTest(
    `${source} that is freed takes nothing from its clone, which can be read at once`,
    () =>
      whileFull(async ({ a, c, heal }) => {
        a.free();
        sameData(c.data, (i) => i);
        await heal();
        await untilOwn(c);
      }, make),
  );
}

longTest('a part that is freed takes nothing from a clone, and no call has it any more', () =>
  whileFull(async ({ a, c }) => {
    a.free({ end: HALF });
    sameData(c.data, (i) => i);
    await failsWith('USE_AFTER_FREE', () => a.hold({ begin: 0, end: 1024 }));
    await failsWith('USE_AFTER_FREE', () => a.clone());
    await failsWith('USE_AFTER_FREE', () => a.free({ end: HALF }));
  }),
);

const forgetting: Record<string, (setting: Setting) => Promise<unknown>> = {
  'a discard': ({ a }) => a.discard(),
  'an out launch': ({ space, a }) => space.devices[0].run(fill, { x: a }, { size: N }),
};

for (const [what, forget] of Object.entries(forgetting)) {
  variantTest(
    `${what} that clones stand in the way of is refused, and done when there is room`,
    () =>
      whileFull(async (setting) => {
        const { c, heal } = setting;
        await failsWith('OUT_OF_STORAGE', () => forget(setting));
        sameData(c.data, (i) => i);
        await heal();
        await forget(setting);
      }),
  );
}

longTest(
  'a resize to less takes nothing from a clone, and one to more waits until what it gave back has gone',
  () =>
    whileFull(async ({ a, c, heal }) => {
      await a.resize(HALF);
      sameData(c.data, (i) => i);
      await failsWith('OUT_OF_STORAGE', () => a.resize(N));
      await heal();
      await untilOwn(c, HALF);
      await a.resize(N);
      sameData(a.data, (i) => (i < HALF ? i : 0));
    }),
);

longTest('a resize that moves takes nothing from a clone, nor from the array', () =>
  whileFull(async ({ a, c }) => {
    await a.resize(3 * N);
    sameData(c.data, (i) => i);
    sameData(a.data, (i) => (i < N ? i : 0));
  }),
);

await runTests();
