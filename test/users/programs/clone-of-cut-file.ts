/**
 * Overwrites an array whose file has become shorter, so that a clone of it loses what it still had
 * from there.
 */
import { rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSpace } from '../../../src/index.js';

const path = join(tmpdir(), `onemem-cut-${process.pid}.bin`);
writeFileSync(path, new Uint8Array(65_536));
process.on('exit', () => rmSync(path));
const space = await openSpace({ hostMemory: '32MiB' });
const x = space.fileArray(Uint8Array, path, { name: 'x', writable: true });
await x.clone({ name: 'c' });
truncateSync(path, 4096);
await x.discard();
await space.close();
