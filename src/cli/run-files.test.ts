import { expect, test } from 'vitest';
import { parseFileName } from './run-files.js';

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
