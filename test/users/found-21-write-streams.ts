/** Streams that fill arrays: what comes is written in order, and what has no place is refused. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, gzipSync } from 'node:zlib';
import { type AddressSpace, openSpace } from '../../src/index.js';
import { failsWith, longTest, runTests, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const folder = mkdtempSync(join(tmpdir(), 'onemem-write-streams-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

async function withSpace(use: (space: AddressSpace) => Promise<void>): Promise<void> {
  await using space = await openSpace({ hostMemory: '32MiB', storage: { path: folder } });
  await use(space);
}

function bytesOf(length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let i = 0; i < length; i++) bytes[i] = (i * 31 + (i >> 12)) & 255;
  return bytes;
}

/** In chunks of odd lengths, and one that is longer than a request. */
function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0, length = 1; at < bytes.length; at += length, length = (length * 7) % MIB) {
    yield bytes.subarray(at, at + length);
  }
}

longTest('chunks of any length fill an array, larger than host memory, byte for byte', () =>
  withSpace(async (space) => {
    const bytes = bytesOf(40 * MIB);
    const x = space.array(Float64Array, 5 * MIB);
    await pipeline(Readable.from(chunksOf(bytes)), x.createWriteStream());
    assert.ok(x.toBuffer().equals(bytes));
  }),
);

longTest('a part is filled, and what is around it stays', () =>
  withSpace(async (space) => {
    const x = space.array(Uint32Array, 3 * MIB);
    x.data.fill(5);
    const bytes = bytesOf(4 * MIB);
    await pipeline(
      Readable.from([gzipSync(bytes)]),
      createGunzip(),
      x.createWriteStream({ begin: 1001 }),
    );
    const expected = Buffer.alloc(12 * MIB);
    for (let i = 0; i < expected.length; i += 4) expected[i] = 5;
    bytes.copy(expected, 4004);
    assert.ok(x.toBuffer().equals(expected));
  }),
);

longTest('a file that is shared gets what came', () =>
  withSpace(async (space) => {
    const path = join(folder, 'made.bin');
    const bytes = bytesOf(3 * MIB + 1);
    const x = space.fileArray(Uint8Array, path, { create: bytes.length });
    await pipeline(Readable.from(chunksOf(bytes)), x.createWriteStream());
    await x.flush();
    assert.ok(readFileSync(path).equals(bytes));
  }),
);

test('bytes beyond the end, read-only and freed arrays fail the stream by a code', () =>
  withSpace(async (space) => {
    const x = space.array(Uint8Array, 100);
    const fill = (length: number, part = {}) =>
      pipeline(Readable.from([bytesOf(length)]), x.createWriteStream(part));
    await failsWith('ARRAY_RANGE', () => fill(101));
    await failsWith('ARRAY_RANGE', () => fill(11, { begin: 90 }));
    assert.deepEqual([...x.data], new Array(100).fill(0));
    await failsWith('ARRAY_RANGE', () => fill(1, { end: 101 }));
    const path = join(folder, 'kept.bin');
    writeFileSync(path, 'as it was');
    for (const mapped of [false, true]) {
      const kept = space.fileArray(Uint8Array, path, { mapped });
      await failsWith('ACCESS_DENIED', () =>
        pipeline(Readable.from([bytesOf(3)]), kept.createWriteStream()),
      );
      assert.equal(kept.toBuffer().toString('latin1'), 'as it was');
    }
    const stream = x.createWriteStream();
    x.free();
    await failsWith('USE_AFTER_FREE', () => pipeline(Readable.from([bytesOf(3)]), stream));
  }));

await runTests();
