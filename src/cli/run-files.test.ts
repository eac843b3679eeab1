import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseFileName, type Result, ResultFiles } from './run-files.js';

test('a type or a shape at the end of a name is none of it', () => {
  const name = (path: string, raw: string | null = null, shape: number[] | null = null) => ({ path, raw, shape });
  expect(parseFileName('x.npy')).toEqual(name('x.npy'));
  expect(parseFileName('x.bin:f32')).toEqual(name('x.bin', 'f32'));
  expect(parseFileName('x.npy:100x20')).toEqual(name('x.npy', null, [100, 20]));
  expect(parseFileName('x.bin:i64:7')).toEqual(name('x.bin', 'i64', [7]));
  expect(parseFileName('a:b/c:d.npy')).toEqual(name('a:b/c:d.npy'));
  expect(parseFileName('./x:f32:f32')).toEqual(name('./x:f32', 'f32'));
  expect(parseFileName(':f32')).toEqual(name(':f32'));
  expect(() => parseFileName('x.bin:f16')).toThrow(/'f16' is no element type.*f32, f64/);
});

test('who interrupts a run is told which files have their results', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-run-files-'));
  try {
    using files = new ResultFiles();
    expect(files.giveUp()).toBe('nothing was written');
    const paths = ['y', 'z'].map((name) => join(folder, name));
    const array = { byteLength: 0, writeTo: async () => 0 } as unknown as Result['array'];
    for (const path of paths) {
      writeFileSync(path, 'old');
      files.create({ parameter: path, path, array, header: Buffer.from('new') });
    }
    await files.write(() => undefined);
    expect(files.giveUp()).toBe(`${paths.join(', ')} have their results`);
    expect(paths.map((path) => readFileSync(path, 'utf8'))).toEqual(['new', 'new']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('results are put in place together, also by a run that is interrupted meanwhile', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-run-files-'));
  const array = { byteLength: 0, writeTo: async () => 0 } as unknown as Result['array'];
  try {
    using files = new ResultFiles();
    const paths = ['x', 'y', 'z'].map((name) => join(folder, name));
    const contents = (): string[] => paths.map((path) => readFileSync(path, 'utf8'));
    for (const path of paths) {
      writeFileSync(path, 'old');
      files.create({ parameter: path, path, array, header: Buffer.from('new') });
    }
    const writing = files.write(() => undefined).catch(() => undefined);
    while (contents()[0] === 'old') await new Promise(setImmediate);
    expect(files.giveUp()).toBe(`${paths.join(', ')} have their results`);
    expect(contents()).toEqual(['new', 'new', 'new']);
    await writing;
    expect(contents()).toEqual(['new', 'new', 'new']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
