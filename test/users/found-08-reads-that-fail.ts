/**
 * A disk that fails to read for a moment is asked again; one that goes on failing is told of by
 * name.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type AddressSpace, kernel, type ManagedArray, u32 } from '../../src/index.js';
import { openFailing, startHealer } from '../harness/failing.js';
import { failsWith, filled, longTest, runTests, sameData, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const N = (40 * MIB) / 4;
/** Shorter than a read is tried again. */
const MOMENT_MS = 1000;

const add = kernel({ x: u32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i]++;
});

interface Setting {
  readonly space: AddressSpace;
  /** Its first half is in storage. */
  readonly a: ManagedArray<Uint32Array>;
  /** From now on each read of the spill file fails. */
  fail(): void;
  heal(): void;
}

async function withFailingDisk(action: (setting: Setting) => Promise<unknown>): Promise<void> {
  const failing = await openFailing('io/pread:EIO:1-1000000,ioUringSetup:ENOSYS:1-1000000', {
    hostMemory: '32MiB',
    storage: { path: tmpdir(), bytes: '256MiB' },
    devices: [{ kind: 'process', memory: '8MiB' }],
  });
  await using space = failing.space;
  const a = space.array(Uint32Array, N, { name: 'a' });
  filled(a.data, (i) => i);
  await action({ space, a, fail: failing.arm, heal: failing.disarm });
  space.checkInvariants();
}

/** Another thread heals the disk in a moment, whatever this one waits for. */
async function healSoon(space: AddressSpace): Promise<void> {
  (await startHealer(space)).after(MOMENT_MS);
}

longTest('a load waits while the disk fails for a moment, and gets what was stored', () =>
  withFailingDisk(async ({ space, a, fail }) => {
    fail();
    await healSoon(space);
    assert.equal(a.data[5000], 5000);
    assert.equal(a.data[9_000], 9_000);
  }),
);

longTest('a launch waits while the disk fails for a moment, and so does a prefetch', () =>
  withFailingDisk(async ({ space, a, fail }) => {
    const [device] = space.devices;
    fail();
    await healSoon(space);
    await Promise.all([
      device.run(add, { x: a }, { size: 100_000 }),
      device.stream().prefetch(a.range(1_000_000, 2_000_000), 'host').synchronize(),
    ]);
    assert.ok(device.stats().alive);
    sameData(a.data.subarray(0, 200_000), (i) => (i < 100_000 ? i + 1 : i));
  }),
);

test('a load of a file array waits while its disk fails for a moment', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'onemem-found-08-')), 'file');
  writeFileSync(
    path,
    filled(new Uint32Array(MIB), (i) => i),
  );
  const failing = await openFailing('io/pread:EIO:1-1000000,manager/preadv2:EAGAIN:1-1000000', {
    hostMemory: '32MiB',
  });
  await using space = failing.space;
  const a = space.fileArray(Uint32Array, path);
  failing.arm();
  await healSoon(space);
  assert.equal(a.data[5000], 5000);
  rmSync(dirname(path), { recursive: true });
});

longTest('a launch that needs what cannot be read is refused by name, and its device lives', () =>
  withFailingDisk(async ({ space, a, fail, heal }) => {
    const [device] = space.devices;
    fail();
    const started = performance.now();
    const error = await failsWith('COPY_FAILED', () =>
      device.run(add, { x: a }, { size: 100_000 }),
    );
    const took = performance.now() - started;
    assert.match(error.message, /array a, elements .*could not be read .*EIO/);
    assert.ok(took > 1000 && took < 12_000, `${took} ms`);
    assert.ok(device.stats().alive);
    heal();
    sameData(a.data.subarray(0, 100), (i) => i);
    await device.run(add, { x: a }, { begin: 200_000, end: 300_000, size: N });
    sameData(a.data.subarray(200_000, 400_000), (i) => i + 200_000 + (i < 100_000 ? 1 : 0));
  }),
);

await runTests();
