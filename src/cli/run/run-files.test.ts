import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ManagedArray } from '../../index.js';
import { parseFileName, ResultFiles } from './run-files.js';

/** A result without elements. */
function createIn(files: ResultFiles, path: string): void {
  const result = {
    parameter: path,
    path,
    from: null,
    header: Buffer.from('new'),
    bytes: 0,
    inPlace: false,
  };
  files.create(result);
  files.keepIn(path, { writeTo: async () => 0 } as unknown as ManagedArray);
}

test('a type or a shape at the end of a name is none of it', () => {
  const name = (path: string, raw: string | null = null, shape: number[] | null = null) => ({
    path,
    raw,
    shape,
  });
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
    for (const path of paths) {
      writeFileSync(path, 'old');
      createIn(files, path);
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
  try {
    using files = new ResultFiles();
    const paths = ['x', 'y', 'z'].map((name) => join(folder, name));
    const contents = (): string[] => paths.map((path) => readFileSync(path, 'utf8'));
    for (const path of paths) {
      writeFileSync(path, 'old');
      createIn(files, path);
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
