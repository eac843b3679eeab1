/**
 * Shares a file in a process of its own: with others, with a full disk, or with a limit on the size
 * of files.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OnememError, openSpace } from '../../../src/index.js';
import { say, wait } from './common.js';

const [way, path] = process.argv.slice(2);
const space = await openSpace();
const N = 2 ** 20;

function element(i: number): number {
  return 3 * i + 1;
}

function right(data: Int32Array): number {
  let count = 0;
  for (let i = 0; i < N; i++) if (data[i] === element(i)) count++;
  return count;
}

function fails(what: string, action: Promise<unknown>): Promise<void> {
  return action.then(
    () => say(`${what}: no error`),
    (error: OnememError) =>
      say(`${what}: ${error.code} ${String(error.details.errno)} ${error.message}`),
  );
}

function limitFileSize(bytes: string): void {
  const { status, stderr } = spawnSync('prlimit', [
    '--pid',
    String(process.pid),
    `--fsize=${bytes}:unlimited`,
  ]);
  if (status !== 0) throw new Error(String(stderr));
}

/** What runs into a wall must not be lost, and must go on when the wall is gone. */
async function runIntoWall(makeRoom: () => void): Promise<void> {
  const files = ['kept', 'freed'].map((name) => join(path, name));
  for (const file of files) {
    const fd = openSync(file, 'w');
    ftruncateSync(fd, 4 * N);
    closeSync(fd);
  }
  const [kept, freed] = files.map((file, index) =>
    space.fileArray(Int32Array, file, { shared: true, name: index === 0 ? 'ledger' : 'freed' }),
  );
  for (const { data } of [kept, freed]) for (let i = 0; i < N; i++) data[i] = element(i);
  if (way === 'limit') limitFileSize(String(2 ** 19));
  await fails('flush', kept.flush());
  freed.free();
  await fails('close', space.close());
  say(`elements are in memory: ${right(kept.data)}`);
  makeRoom();
  await kept.flush();
  say('flushed when there was room');
  await space.close();
  say('closed');
  const [first, second] = files.map((file) =>
    right(new Int32Array(readFileSync(file).buffer, 0, N)),
  );
  say(`elements are in the file: ${first}`);
  say(`elements of the freed array are in its file: ${second}`);
}

switch (way) {
  case 'try':
    try {
      space.fileArray(Uint8Array, path, { shared: true });
      say('shared');
    } catch (error) {
      say(`refused: ${(error as OnememError).code}`);
    }
    await space.close();
    break;
  case 'hold':
    space.fileArray(Uint8Array, path, { shared: true });
    say('shared');
    wait();
    break;
  case 'full': {
    const ballast = join(path, 'ballast');
    writeFileSync(ballast, Buffer.alloc(2 ** 19));
    await runIntoWall(() => {
      rmSync(ballast);
      // This file system is the process's own.
      const { status, stderr } = spawnSync('mount', ['-o', 'remount,size=64m', path]);
      if (status !== 0) throw new Error(String(stderr));
    });
    break;
  }
  case 'limit':
    // The signal that comes with the error would end the process.
    process.on('SIGXFSZ', () => undefined);
    await runIntoWall(() => limitFileSize('unlimited'));
    break;
  default:
    throw new Error(`no way '${way}'`);
}
