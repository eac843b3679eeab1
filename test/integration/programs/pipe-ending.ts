/**
 * Ends while an array is read from a pipe that nobody writes, or written to one that nobody reads.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSpace } from '../../../src/index.js';
import { say } from './common.js';

const [way, end] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'onemem-pipe-'));
process.on('exit', () => rmSync(folder, { recursive: true }));
const path = join(folder, 'pipe');
execFileSync('mkfifo', [path]);
const fd = openSync(path, 'r+');
const space = await openSpace({ hostMemory: '32MiB' });
const x = space.array(Uint8Array, 2 ** 20);
const transfer = way === 'read' ? x.readFrom(fd) : x.writeTo(fd);
transfer.catch(() => undefined);
// Its thread is up by then, and waits.
await sleep(300);
process.exitCode = 3;
say(end);
if (end === 'exit') process.exit();
await space.close();
