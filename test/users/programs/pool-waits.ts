/**
 * Compresses parts of a provided array by asynchronous functions of Node.js: `WAY
 * HOW_MANY_AT_ONCE`.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { deflate, inflateSync } from 'node:zlib';
import { openSpace } from '../../../src/index.js';

const [way, count] = process.argv.slice(2);
const PART = 2 ** 16;
const folder = mkdtempSync(join(tmpdir(), 'onemem-pool-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const path = join(folder, 'file');
const content = Buffer.alloc(PART * 8, 'some text that compresses. ');
writeFileSync(path, content);
const space = await openSpace({ hostMemory: '64MiB' });
const array = await space.providedArray(Uint8Array, content.length, {
  name: 'pool',
  module: new URL('./pool-provider.js', import.meta.url),
  export: way,
  data: { path },
});
const compress = promisify(deflate);
const parts = Array.from({ length: Number(count) }, (_, part) =>
  array.data.subarray(part * PART, (part + 1) * PART),
);
const all = await Promise.all(parts.map((part) => compress(part)));
const same = all.every((bytes, part) =>
  inflateSync(bytes).equals(content.subarray(part * PART, (part + 1) * PART)),
);
console.log(same ? 'all is right' : 'something is wrong');
await space.close();
