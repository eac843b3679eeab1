/**
 * Pages that cannot be had, in arrays and in clones of them, of several levels: every call ends,
 * with one code, and no device dies of it.
 */
import assert from 'node:assert/strict';
import { closeSync, openSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { type AddressSpace, kernel, type ManagedArray, openSpace, u32 } from '../../src/index.js';
import { runProgram } from '../harness/processes.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, longTest, runTests, sameData, test } from '../harness/suite.js';

const PAGE = 1024;
/** 1 MiB, of which the first quarter can be had. */
const LENGTH = 256 * PAGE;
const READABLE = LENGTH / 4;
const path = `${tmpdir()}/onemem-unreadable-${process.pid}.bin`;

const fill = kernel({ x: u32.out }, ({ x }, { begin, end }) => {
  x.fill(7, begin, end);
});
/** Looks at the first and the last element. */
const look = kernel({ x: u32.in, seen: u32.inout }, ({ x, seen }) => {
  seen[0] = x[0] + x[x.length - 1];
});

interface Source {
  readonly name: string;
  readonly code: string;
  make(space: AddressSpace): Promise<ManagedArray<Uint32Array>>;
  /** From now on the rest cannot be had. */
  spoil(): void;
}

function provided(name: string, code: string, then: string): Source {
  const text = `export default ({ refuse, begin, values }) => { values.fill(1); if (begin >= ${READABLE}) { ${then} } }`;
  const module = `data:text/javascript,${encodeURIComponent(text)}`;
  return {
    name,
    code,
    make: (space) =>
      space.providedArray(Uint32Array, LENGTH, { module, name: 'x', writable: true }),
    spoil: () => undefined,
  };
}

const sources: readonly Source[] = [
  provided('a provider that refuses', 'ACCESS_REFUSED', "refuse('not today')"),
  provided('a provider that throws', 'PROVIDER_FAILED', "throw new Error('broken')"),
  {
    name: 'a file that became shorter',
    code: 'FILE_CHANGED',
    make: async (space) => {
      writeFileSync(path, new Uint32Array(LENGTH).fill(1));
      return space.fileArray(Uint32Array, path, { name: 'x', writable: true });
    },
    spoil: () => truncateSync(path, READABLE * 4),
  },
];

type Arrays = Record<'x' | 'c' | 'cc', ManagedArray<Uint32Array>>;

async function withClones(
  source: Source,
  action: (space: AddressSpace, arrays: Arrays) => Promise<void>,
): Promise<void> {
  await using space = await sharedSpace({
    devices: [{ kind: 'process', memory: '16MiB' }],
    hostMemory: '256MiB',
    checkInvariants: true,
  });
  try {
    const x = await source.make(space);
    const c = await x.clone({ name: 'c' });
    const cc = await c.clone({ name: 'cc' });
    source.spoil();
    await action(space, { x, c, cc });
    assert.ok(space.devices[0].stats().alive, 'the device has died');
  } finally {
    rmSync(path, { force: true });
  }
}

/** What the clone of the clone has is what it had, and what it cannot have says so. */
async function unchanged(space: AddressSpace, { cc }: Arrays, code: string): Promise<void> {
  sameData(cc.data.subarray(0, READABLE), () => 1);
  const seen = space.array(Uint32Array, 1);
  await failsWith(code, () => space.devices[0].run(look, { x: cc, seen }, { size: 1 }));
}

const operations: Record<string, (space: AddressSpace, arrays: Arrays) => Promise<unknown>> = {
  discard: (_space, { c }) => c.discard(),
  'a resize to less': (_space, { c }) => c.resize(9000),
  'a resize to more, in a move': (_space, { c }) => c.resize(2 * LENGTH),
  'an out launch': (space, { c }) => space.devices[0].run(fill, { x: c }, { size: LENGTH }),
  'a copy into it': (space, { c }) =>
    space.devices[0].stream().copy(c, new Uint32Array(LENGTH)).synchronize(),
  free: async (_space, { c }) => c.free(),
};

for (const source of sources) {
  for (const [what, operation] of Object.entries(operations)) {
    test(`${what} on a clone in the middle, of ${source.name}, ends, and takes nothing from its clone`, () =>
      withClones(source, async (space, arrays) => {
        await operation(space, arrays);
        await unchanged(space, arrays, source.code);
      }));
  }

  test(`launches on clones of ${source.name} fail as on the array itself, and no device dies`, () =>
    withClones(source, async (space, arrays) => {
      const seen = space.array(Uint32Array, 1);
      for (const x of Object.values(arrays)) {
        const error = await failsWith(source.code, () =>
          space.devices[0].run(look, { x, seen }, { size: 1 }),
        );
        assert.match(error.message, new RegExp(`array ${x.name}[ ,]`));
      }
    }));

  test(`pins, copies, prefetches and transfers of clones of ${source.name} fail as those of the array itself`, () =>
    withClones(source, async (space, arrays) => {
      const stream = space.devices[0].stream();
      const zeros = openSync('/dev/zero', 'r');
      const nowhere = openSync('/dev/null', 'w');
      for (const x of Object.values(arrays)) {
        await failsWith(source.code, () => x.pin());
        await failsWith(source.code, () => x.writeTo(nowhere));
        await failsWith(source.code, () => x.readFrom(zeros));
        for (const begin of [
          () => stream.copy(new Uint32Array(LENGTH), x),
          () => stream.prefetch(x.range(), space.devices[0]),
          () => stream.prefetch(x.range(), 'host'),
        ]) {
          await failsWith(source.code, () => begin().synchronize());
          await stream.synchronize().catch(() => undefined);
        }
      }
      closeSync(zeros);
      closeSync(nowhere);
      // None of this has overwritten anything, so that nothing is lost.
      for (const x of Object.values(arrays))
        assert.ok(x.residency().runs.every(({ state }) => state !== 'lost'));
    }));
}

longTest(
  'standard error names what a clone has lost, and the code that its users are told',
  async () => {
    const { code, stderr } = await runProgram('clone-of-cut-file', []);
    assert.equal(code, 0);
    assert.match(
      stderr,
      /^onemem: warning: pages of a clone could not be copied \(FILE_CHANGED\) and are lost, the first in array c, /,
    );
  },
);

longTest(
  'what a clone could not be given before its source was overwritten says why, for good',
  () =>
    withClones(sources[0], async (space, arrays) => {
      await arrays.x.discard();
      sameData(arrays.x.data, () => 0);
      const states = arrays.c.residency().runs.map(({ begin, end, state }) => [begin, end, state]);
      assert.deepEqual(states.at(-1), [READABLE, LENGTH, 'lost']);
      await failsWith('ACCESS_REFUSED', () => arrays.c.pin());
      await failsWith('ACCESS_REFUSED', () => arrays.c.clone());
      await unchanged(space, arrays, 'ACCESS_REFUSED');
    }),
);

test('a clone of what is protected against all access, and was refused meanwhile, asks for it again', async () => {
  await using space = await openSpace({ checkInvariants: true });
  const refuses = new Int32Array(new SharedArrayBuffer(4));
  const text = `export default ({ refuse, values, data }) => { values.fill(1); if (data[0] === 1) refuse('not today'); }`;
  const module = `data:text/javascript,${encodeURIComponent(text)}`;
  const x = await space.providedArray(Uint32Array, LENGTH, {
    module,
    name: 'x',
    writable: true,
    data: refuses,
  });
  x.data.fill(2, 0, READABLE);
  const c = await x.clone({ name: 'c' });
  refuses[0] = 1;
  await x.protect('none');
  await failsWith('ACCESS_REFUSED', () => c.pin());
  assert.ok(c.residency().runs.every(({ state }) => state !== 'lost'));
  refuses[0] = 0;
  await c.pin({ begin: 0, end: LENGTH });
  sameData(c.data, (at) => (at < READABLE ? 2 : 1));
  await failsWith('ACCESS_DENIED', () => x.pin());
});

longTest('two devices that want pages of one block that are refused are both told', async () => {
  const device = { kind: 'process', memory: '16MiB' } as const;
  await using space = await openSpace({ devices: [device, device], checkInvariants: true });
  const x = await sources[0].make(space);
  const launches = space.devices.map((each) => {
    const seen = space.array(Uint32Array, 1);
    return failsWith('ACCESS_REFUSED', () => each.run(look, { x, seen }, { size: 1 }));
  });
  await Promise.all(launches);
});

await runTests();
