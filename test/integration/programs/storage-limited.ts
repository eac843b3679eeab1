/**
 * Writes more than host memory and storage have room for, in a process that may write no large
 * files, and then has all of it: by a stream, by files that are as large as it may write, and by
 * loads.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OnememError, openSpace } from '../../../src/index.js';

const MIB = 2 ** 20;
const [path, files] = process.argv.slice(2);
const space = await openSpace({ hostMemory: '32MiB', storage: { path, bytes: '256MiB' } });
execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${16 * MIB}`]);
const x = space.array(Int32Array, 24 * MIB, { name: 'x' });
const source = openSync(join(files, 'source'), 'w+');
let length = 0;
let refused: OnememError | null = null;
for (; refused === null && length < x.length; length += MIB) {
  const part = Int32Array.from({ length: MIB }, (_, i) => length + i);
  writeFileSync(join(files, 'source'), part);
  refused = await x
    .readFrom(source, { position: 0, begin: length, end: length + MIB })
    .then(() => null)
    .catch((error: OnememError) => error);
}
assert.ok(refused !== null);
console.log(`${refused.code} ${refused.message}`);
// What was refused has not come.
length -= MIB;
const { heldBytes, full } = space.stats().storage ?? { heldBytes: 0, full: false };
assert.ok(full && heldBytes > 0 && length * 4 > 32 * MIB);

let at = 0;
for await (const chunk of x.createReadStream({ begin: 0, end: length })) {
  const bytes = chunk as Buffer;
  for (let byte = (4 - (at % 4)) % 4; byte + 4 <= bytes.length; byte += 4)
    assert.equal(bytes.readInt32LE(byte), (at + byte) / 4);
  at += bytes.length;
}
assert.equal(at, length * 4);
console.log('streamed');

for (let begin = 0; begin < length; begin += 2 * MIB) {
  const end = Math.min(length, begin + 2 * MIB);
  const fd = openSync(join(files, 'part'), 'w+');
  assert.equal(await x.writeTo(fd, { position: 0, begin, end }), 4 * (end - begin));
  const saved = readFileSync(join(files, 'part'));
  for (let i = begin; i < end; i += 256) assert.equal(saved.readInt32LE(4 * (i - begin)), i);
}
await space.saveNpy(join(files, 'x.npy'), x.range(0, MIB));
assert.ok(statSync(join(files, 'x.npy')).size > 4 * MIB);
console.log('saved');

const tooLong = await space
  .saveNpy(join(files, 'all.npy'), x.range(0, length))
  .catch((error: OnememError) => error);
console.log(tooLong instanceof Error ? `${tooLong.code} ${tooLong.message}` : 'it was saved');

for (let i = 0; i < length; i += 512) assert.equal(x.data[i], i);
let random = 7;
for (let touch = 0; touch < 2000; touch++) {
  random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0;
  assert.equal(x.data[random % length], random % length);
}
console.log('loaded');
space.checkInvariants();
const [host] = space.stats().processors;
assert.ok(host.backedBytes <= host.budgetBytes + 4 * MIB);
await space.close();
console.log('closed');
