import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transformSync } from 'rolldown/utils';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { AtomicFile } from './atomic-file.js';

/** Processes that are killed, each so much later than the one before it. */
const [ROUNDS, ROUND_MS] = process.env.ONEMEM_LONG === '1' ? [12, 7] : [4, 13];

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'onemem-atomic-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const leftovers = () => readdirSync(folder).filter((name) => name.endsWith('.onemem-tmp'));

test('a commit replaces the file and keeps its mode', async () => {
  const path = join(folder, 'result');
  writeFileSync(path, 'old');
  chmodSync(path, 0o640);
  const file = AtomicFile.create(path);
  writeSync(file.fd, 'new');
  expect(readFileSync(path, 'utf8')).toBe('old');
  await file.commit();
  expect(readFileSync(path, 'utf8')).toBe('new');
  expect(statSync(path).mode & 0o777).toBe(0o640);
  expect(leftovers()).toEqual([]);
  file.abort();
  expect(readFileSync(path, 'utf8')).toBe('new');
  await expect(file.commit()).rejects.toThrow(/already/);
});

test('giving up leaves the old file and nothing else', () => {
  const path = join(folder, 'result');
  writeFileSync(path, 'old');
  const file = AtomicFile.create(path);
  writeSync(file.fd, 'new');
  file[Symbol.dispose]();
  file.abort();
  expect(readFileSync(path, 'utf8')).toBe('old');
  expect(readdirSync(folder)).toEqual(['result']);
});

test('a failed commit leaves the old file and nothing else', async () => {
  const path = join(folder, 'result');
  const file = AtomicFile.create(path);
  // A folder that has taken the name in the meantime makes the rename fail.
  mkdirSync(path);
  await expect(file.commit()).rejects.toThrow();
  expect(statSync(path).isDirectory()).toBe(true);
  expect(leftovers()).toEqual([]);
});

test('links are followed, and stay', async () => {
  mkdirSync(join(folder, 'elsewhere'));
  const target = join(folder, 'elsewhere', 'result');
  const link = join(folder, 'link');
  symlinkSync('elsewhere/result', link);
  for (const content of ['first', 'second']) {
    const file = AtomicFile.create(link);
    writeSync(file.fd, content);
    await file.commit();
    expect(readFileSync(target, 'utf8')).toBe(content);
  }
  expect(readdirSync(folder).sort()).toEqual(['elsewhere', 'link']);
});

test('what is no regular file is refused', () => {
  expect(() => AtomicFile.create(folder)).toThrow(/folder/);
  expect(() => AtomicFile.create('/dev/null')).toThrow(/regular file/);
  expect(() => AtomicFile.create(join(folder, 'missing', 'result'))).toThrow(/ENOENT/);
});

test('a name of 255 bytes is possible', async () => {
  const path = join(folder, 'ü'.repeat(127));
  const file = AtomicFile.create(path);
  await file.commit();
  expect(existsSync(path)).toBe(true);
});

/** Starts a program that can import the module under test, compiled. */
function start(program: string, ...args: string[]) {
  const source = readFileSync(fileURLToPath(new URL('./atomic-file.ts', import.meta.url)), 'utf8');
  const { code } = transformSync('atomic-file.ts', source, { target: 'es2022' });
  const compiled = join(folder, 'atomic-file.mjs');
  writeFileSync(compiled, code);
  const main = join(folder, 'main.mjs');
  writeFileSync(
    main,
    `import { AtomicFile } from ${JSON.stringify(pathToFileURL(compiled).href)};\n${program}`,
  );
  return spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
}

test('process.exit and an uncaught error leave no temporary file', async () => {
  for (const end of ['process.exit(3)', "throw new Error('on purpose')"]) {
    const path = join(folder, 'result');
    writeFileSync(path, 'old');
    const child = start(`AtomicFile.create(process.argv[2]); ${end};`, path);
    await new Promise((done) => child.on('exit', done));
    expect(readFileSync(path, 'utf8')).toBe('old');
    expect(leftovers()).toEqual([]);
  }
});

test('kill -9 at any moment leaves one whole generation', async () => {
  const path = join(folder, 'result');
  const size = 2 * 1024 * 1024;
  const program = `
    import { writeSync } from 'node:fs';
    for (let generation = 1; ; generation++) {
      const file = AtomicFile.create(process.argv[2]);
      const piece = Buffer.alloc(65536, generation);
      for (let at = 0; at < ${size}; at += piece.length) writeSync(file.fd, piece, 0, piece.length, at);
      await file.commit();
      if (generation === 1) process.stdout.write('ready');
    }`;
  for (let round = 0; round < ROUNDS; round++) {
    const child = start(program, path);
    const exit = new Promise((done) => child.on('exit', (_, signal) => done(signal)));
    await new Promise((done) => child.stdout.once('data', done));
    await sleep((round * ROUND_MS) % 60);
    child.kill('SIGKILL');
    expect(await exit).toBe('SIGKILL');
    const content = readFileSync(path);
    expect(content.length).toBe(size);
    expect(content.equals(Buffer.alloc(size, content[0]))).toBe(true);
  }
  // A temporary file that was left shows that a kill did fall into the middle of a write.
  expect(leftovers().length).toBeGreaterThan(0);
}, 60_000);

test('a commit that is given up midway has happened, or never does', async () => {
  const path = join(folder, 'result');
  for (const ticks of [0, 1, 2, 3, 4, 5, 6, 8, 12, 20]) {
    writeFileSync(path, 'old');
    const file = AtomicFile.create(path);
    writeSync(file.fd, 'new');
    const commit = file.commit().catch(() => undefined);
    for (let tick = 0; tick < ticks; tick++) await new Promise(setImmediate);
    const stays = file.giveUp();
    expect(leftovers()).toEqual([]);
    expect(readFileSync(path, 'utf8')).toBe(stays ? 'old' : 'new');
    await commit;
    expect(readFileSync(path, 'utf8')).toBe(stays ? 'old' : 'new');
    expect(file.giveUp()).toBe(stays);
  }
});
