/**
 * Mapped arrays are streamed and written out from their files: nothing of them goes through host
 * memory.
 */
import assert from 'node:assert/strict';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type AddressSpace, openSpace } from '../../src/index.js';
import { failsWith, longTest, runTests, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const LENGTH = 12 * MIB + 5;
const folder = mkdtempSync(join(tmpdir(), 'onemem-mapped-streams-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const path = join(folder, 'data.bin');
const content = Buffer.alloc(LENGTH + 24);
for (let i = 0; i < content.length / 4; i++)
  content.writeUInt32LE((i * 2_654_435_761) >>> 0, (i * 4) % (LENGTH + 20));
const elements = content.subarray(24);

async function withSpace(use: (space: AddressSpace) => Promise<void>): Promise<void> {
  writeFileSync(path, content);
  await using space = await openSpace({ hostMemory: '32MiB', checkInvariants: true });
  await use(space);
}

/** Nothing of an array that is in use is pushed out, and nothing comes from the file by pages. */
async function withoutPages(space: AddressSpace, action: () => Promise<void>): Promise<void> {
  const before = space.stats().processors[0];
  await action();
  const { bytesFromFiles, bytesOut, evictions } = space.stats().processors[0];
  assert.deepEqual(
    [bytesFromFiles, bytesOut, evictions],
    [before.bytesFromFiles, before.bytesOut, before.evictions],
  );
}

test('by streams of Node.js and of the web, whole and in part', () =>
  withSpace(async (space) => {
    const a = space.fileArray(Uint8Array, path, { mapped: true, byteOffset: 24 });
    await withoutPages(space, async () => {
      assert.ok((await buffer(a.createReadStream())).equals(elements));
      const part = { begin: 4095, end: 3 * MIB + 1 };
      assert.ok(
        (await buffer(a.toReadableStream(part))).equals(elements.subarray(part.begin, part.end)),
      );
    });
  }));

longTest('by writeTo and saveNpy, at a position and where the file stands', () =>
  withSpace(async (space) => {
    const a = space.fileArray(Uint8Array, path, { mapped: true, byteOffset: 24 });
    const copy = join(folder, 'copy.bin');
    await withoutPages(space, async () => {
      const fd = openSync(copy, 'w+');
      assert.equal(await a.writeTo(fd, { begin: 1, end: 2 * MIB + 3 }), 2 * MIB + 2);
      assert.equal(await a.writeTo(fd, { position: 3 * MIB }), LENGTH);
      closeSync(fd);
      await space.saveNpy(join(folder, 'copy.npy'), a);
    });
    const written = readFileSync(copy);
    assert.ok(written.subarray(0, 2 * MIB + 2).equals(elements.subarray(1, 2 * MIB + 3)));
    assert.ok(written.subarray(3 * MIB).equals(elements));
    assert.ok(readFileSync(join(folder, 'copy.npy')).subarray(-LENGTH).equals(elements));
  }),
);

longTest('a file that became shorter fails them by its code, and a freed array too', () =>
  withSpace(async (space) => {
    const a = space.fileArray(Uint8Array, path, { mapped: true, byteOffset: 24 });
    truncateSync(path, 5 * MIB);
    const fd = openSync('/dev/null', 'w');
    await failsWith('FILE_CHANGED', () => a.writeTo(fd));
    await failsWith('FILE_CHANGED', () => buffer(a.createReadStream()));
    const stream = a.createReadStream();
    const writing = a.writeTo(fd, { end: 4 * MIB }).catch(({ code }) => code);
    a.free();
    assert.ok([4 * MIB, 'USE_AFTER_FREE'].includes(await writing));
    await failsWith('USE_AFTER_FREE', () => buffer(stream));
    closeSync(fd);
  }),
);

await runTests();
