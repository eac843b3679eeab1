/** Files that an array makes: they are never read, and hold what was written and zeros. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AddressSpace, kernel, openSpace, u32 } from '../../src/index.js';
import { failsWith, longTest, runTests, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const LENGTH = 12 * MIB;
const folder = mkdtempSync(join(tmpdir(), 'onemem-created-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const fill = kernel({ y: u32.out }, ({ y }, { begin, end }) => {
  for (let i = begin; i < end; i++) y[i] = i * 3;
});

async function withSpace(use: (space: AddressSpace) => Promise<void>): Promise<void> {
  await using space = await openSpace({
    hostMemory: '32MiB',
    storage: false,
    devices: [{ kind: 'process', memory: '16MiB' }],
    checkInvariants: true,
  });
  await use(space);
}

/** Of the file, by all processors. */
function bytesRead(space: AddressSpace): number {
  return space.stats().processors.reduce((sum, { bytesFromFiles }) => sum + bytesFromFiles, 0);
}

function words(path: string, byteOffset: number): Uint32Array {
  const { buffer, byteOffset: at, length } = readFileSync(path);
  return new Uint32Array(buffer.slice(at + byteOffset, at + length));
}

longTest(
  'a file larger than host memory that threads and a device write is made, and nothing of it is read',
  () =>
    withSpace(async (space) => {
      const path = join(folder, 'made.bin');
      const y = space.fileArray(Uint32Array, path, { create: LENGTH, byteOffset: 4096 });
      assert.equal(statSync(path).size, 4096 + 4 * LENGTH);
      const { data } = y;
      for (let i = 0; i < LENGTH / 2; i++) data[i] = i * 5;
      await y.flush();
      assert.equal(bytesRead(space), 0);
      assert.equal(
        words(path, 4096).findIndex((word, i) => word !== (i < LENGTH / 2 ? i * 5 : 0)),
        -1,
      );
      await space.devices[0].run(fill, { y }, { size: LENGTH });
      await y.flush({ durable: true });
      assert.equal(
        words(path, 4096).findIndex((word, i) => word !== i * 3),
        -1,
      );
    }),
);

longTest('an old file is emptied, and reads as zeros where nothing is written', () =>
  withSpace(async (space) => {
    const path = join(folder, 'old.bin');
    writeFileSync(path, new Uint8Array(3 * MIB).fill(7));
    const y = space.fileArray(Uint8Array, path, { create: 2 * MIB + 5 });
    y.data[MIB] = 1;
    assert.equal(y.data[0] + y.data[2 * MIB + 4], 0);
    y.free();
    await space.close();
    const expected = Buffer.alloc(2 * MIB + 5);
    expected[MIB] = 1;
    assert.ok(readFileSync(path).equals(expected));
  }),
);

longTest('a .npy file is made with its header', () =>
  withSpace(async (space) => {
    const path = join(folder, 'made.npy');
    writeFileSync(path, 'old');
    const { array, shape, dtype } = space.openNpy(path, { create: [300, 7], type: Float64Array });
    assert.deepEqual([shape, dtype, array.length], [[300, 7], 'float64', 2100]);
    array.data[2099] = 0.5;
    await array.flush();
    assert.equal(bytesRead(space), 0);
    const found = space.openNpy(path, { type: Float64Array });
    assert.deepEqual(
      [found.shape, found.array.data[2098], found.array.data[2099]],
      [[300, 7], 0, 0.5],
    );
    const empty = space.openNpy(join(folder, 'empty.npy'), { create: [0, 7], type: Int8Array });
    assert.deepEqual(
      [empty.array.length, space.openNpy(join(folder, 'empty.npy')).shape],
      [0, [0, 7]],
    );
  }),
);

test('what contradicts it, or cannot be had, leaves the file as it was', () =>
  withSpace(async (space) => {
    const path = join(folder, 'kept.bin');
    writeFileSync(path, 'as it was');
    const make = (options: object) => () =>
      space.fileArray(Uint8Array, path, { create: 100, ...options });
    await failsWith('CREATE', make({ shared: false }));
    await failsWith('CREATE', make({ writable: false }));
    await failsWith('CREATE', make({ mapped: true }));
    await failsWith('CREATE', make({ length: 5 }));
    await failsWith('ARRAY_LENGTH', make({ create: 1.5 }));
    await failsWith('ARRAY_TYPE', () => space.openNpy(path, { create: [2] }));
    await failsWith('SHAPE', () => space.openNpy(path, { create: [-2], type: Int8Array }));
    await failsWith('FILE_KIND', () => space.fileArray(Uint8Array, '/dev/null', { create: 1 }));
    const shared = space.fileArray(Uint8Array, path, { shared: true });
    await failsWith('FILE_LOCKED', make({}));
    assert.equal(readFileSync(path, 'latin1'), 'as it was');
    shared.free();
  }));

await runTests();
