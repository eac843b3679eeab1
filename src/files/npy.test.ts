import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ArrayFileError, type Dtype, dtypes, npyHeader, rawLayout, readNpyLayout } from './npy.js';

/** A file of the given version around a header, which is padded as NumPy does. */
function npy(
  header: string,
  options: { version?: [number, number]; data?: number; claim?: number } = {},
): Buffer {
  const [major, minor] = options.version ?? [1, 0];
  const prefix = major === 1 ? 10 : 12;
  const text = `${header}${' '.repeat(63 - ((prefix + Buffer.byteLength(header)) % 64))}\n`;
  const body = Buffer.from(text, major === 3 ? 'utf8' : 'latin1');
  const start = Buffer.alloc(prefix);
  start.write('\x93NUMPY', 'latin1');
  start[6] = major;
  start[7] = minor;
  if (major === 1) start.writeUInt16LE(options.claim ?? body.length, 8);
  else start.writeUInt32LE(options.claim ?? body.length, 8);
  return Buffer.concat([start, body, Buffer.alloc(options.data ?? 0)]);
}

const plain = (descr: string, shape: string, fortran = 'False') =>
  `{'descr': '${descr}', 'fortran_order': ${fortran}, 'shape': ${shape}, }`;

function refusal(bytes: Uint8Array): ArrayFileError {
  try {
    readNpyLayout(bytes, 'x.npy');
  } catch (error) {
    expect(error).toBeInstanceOf(ArrayFileError);
    expect((error as Error).message).toMatch(/^x\.npy: /);
    return error as ArrayFileError;
  }
  throw new Error('the file was accepted');
}

describe('readNpyLayout', () => {
  test.each([
    ['|i1', 'i8', 'int8', 1],
    ['|u1', 'u8', 'uint8', 1],
    ['|b1', 'u8', 'bool', 1],
    ['<i2', 'i16', 'int16', 2],
    ['<u2', 'u16', 'uint16', 2],
    ['<i4', 'i32', 'int32', 4],
    ['<u4', 'u32', 'uint32', 4],
    ['<i8', 'i64', 'int64', 8],
    ['<u8', 'u64', 'uint64', 8],
    ['<f4', 'f32', 'float32', 4],
    ['<f8', 'f64', 'float64', 8],
  ])('reads %s', (descr, dtype, numpyType, bytes) => {
    expect(readNpyLayout(npy(plain(descr, '(3, 5)'), { data: 15 * bytes }), 'x.npy')).toEqual({
      dtype,
      numpyType,
      shape: [3, 5],
      length: 15,
      dataOffset: 128,
      byteLength: 15 * bytes,
    });
  });

  test.each([
    [1, 0],
    [2, 0],
    [3, 0],
  ] as [number, number][])('reads version %i.%i', (...version) => {
    const layout = readNpyLayout(npy(plain('<f4', '(7,)'), { version, data: 28 }), 'x.npy');
    expect(layout.shape).toEqual([7]);
    expect(layout.dataOffset % 64).toBe(0);
  });

  test('reads shapes as other writers spell them', () => {
    const shape = (text: string, data: number) =>
      readNpyLayout(npy(plain('<f8', text), { data }), 'x.npy');
    expect(shape('()', 8)).toMatchObject({ shape: [], length: 1, byteLength: 8 });
    expect(shape('(0,)', 0)).toMatchObject({ shape: [0], length: 0, byteLength: 0 });
    expect(shape('(4L, 2L)', 64)).toMatchObject({ shape: [4, 2] });
    expect(shape('[2,3]', 48)).toMatchObject({ shape: [2, 3] });
    expect(shape('(0, 9007199254740991)', 0)).toMatchObject({ length: 0 });
  });

  test('takes quotes, order and spaces as they come', () => {
    const header = '{"shape":(2,),\n "fortran_order" : False , "descr":"<f8"}';
    expect(readNpyLayout(npy(header, { data: 16 }), 'x.npy')).toMatchObject({
      dtype: 'f64',
      shape: [2],
    });
  });

  test('allows bytes after the elements where it is asked to', () => {
    const bytes = npy(plain('<f8', '(2,)'), { data: 17 });
    expect(refusal(bytes)).toMatchObject({ code: 'TRAILING_BYTES' });
    expect(readNpyLayout(bytes, 'x.npy', true).byteLength).toBe(16);
  });

  test('takes Fortran order where it makes no difference', () => {
    expect(readNpyLayout(npy(plain('<f8', '(4,)', 'True'), { data: 32 }), 'x.npy').shape).toEqual([
      4,
    ]);
    expect(
      readNpyLayout(npy(plain('<f8', '(1, 4, 1)', 'True'), { data: 32 }), 'x.npy').shape,
    ).toEqual([1, 4, 1]);
    expect(refusal(npy(plain('<f8', '(2, 2)', 'True'), { data: 32 })).message).toContain(
      'ascontiguousarray',
    );
  });

  test.each([
    ['>f8', /big endian.*astype\('<f8'\)/],
    ['=f8', /byte order.*astype\('<f8'\)/],
    ['<f2', /float16.*float32/],
    ['<f16', /floats of 16 bytes.*float64/],
    ['<c16', /complex.*a\.imag/],
    ['|O', /Python objects/],
    ['<U12', /strings.*factorize/],
    ['|S4', /strings/],
    ['|V8', /untyped bytes.*view\('u1'\)/],
    ['<M8[us]', /dates.*view\('<i8'\)/],
    ['<i3', /type <i3/],
    ['nonsense!', /nonsense/],
  ])('refuses elements of type %s with a remedy', (descr, message) => {
    const error = refusal(npy(plain(descr, '(2,)'), { data: 64 }));
    expect(error.code).toBe('UNSUPPORTED_ARRAY_FILE');
    expect(error.message).toMatch(message);
  });

  test('refuses records', () => {
    const header =
      "{'descr': [('a', '<f4'), ('b', '<i8', (2,))], 'fortran_order': False, 'shape': (2,), }";
    expect(refusal(npy(header, { data: 64 })).message).toMatch(/named fields.*a\['field'\]/);
  });

  test('refuses what is no array file', () => {
    expect(refusal(new Uint8Array(0)).message).toContain('empty');
    expect(refusal(Buffer.from('a,b,c\n1,2,3\n')).message).toContain('numpy.save()');
    expect(refusal(Buffer.from('PK\x03\x04 and so on')).message).toContain('.npz');
    expect(refusal(npy(plain('<f8', '(1,)'), { version: [4, 0], data: 8 })).message).toContain(
      '4.0',
    );
    expect(refusal(npy(plain('<f8', '(1,)'), { version: [1, 1], data: 8 })).message).toContain(
      '1.1',
    );
  });

  test('refuses a file that is too short, and says by how much', () => {
    const whole = npy(plain('<f8', '(4,)'), { data: 32 });
    for (let length = 6; length < whole.length; length++) {
      const error = refusal(whole.subarray(0, length));
      expect(error.code).toBe('TRUNCATED_ARRAY_FILE');
    }
    expect(refusal(whole.subarray(0, whole.length - 1)).message).toMatch(/needs 32 bytes.*has 31/);
  });

  test('refuses a huge header without reading it', () => {
    const error = refusal(
      npy(plain('<f8', '(4,)'), { version: [2, 0], claim: 0xffff_ffff, data: 32 }),
    );
    expect(error.message).toContain('4294967295');
  });

  test.each([
    '(-1,)',
    '(-1, -4)',
    '(1.5,)',
    "('4',)",
    '(True,)',
    'None',
    '4',
    '(4)',
    '(9007199254740992,)',
    '(99999999999999999999999999999999,)',
    `(${'9'.repeat(5000)},)`,
    '(4294967296, 4294967296)',
    '(9007199254740991,)',
    `(${'1, '.repeat(65)})`,
    `${'('.repeat(5000)}`,
  ])('refuses the shape %s', (shape) => {
    expect(refusal(npy(plain('<f8', shape), { data: 64 })).code).toBe('NOT_AN_ARRAY_FILE');
  });

  test.each([
    '',
    '{}',
    '[]',
    "'descr'",
    "{'descr': '<f8', 'fortran_order': False}",
    "{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}",
    "{'descr': '<f8' 'fortran_order': False, 'shape': (1,)}",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (1 2)}",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} import os",
    "{'descr': __import__('os'), 'fortran_order': False, 'shape': (1,)}",
    "{'descr': '<f8",
    "{'descr': '<f8\\",
    '{,}',
    "{'descr'",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (1,",
  ])('refuses the header %s', (header) => {
    expect(refusal(npy(header, { data: 64 })).code).toBe('NOT_AN_ARRAY_FILE');
  });

  test('answers any bytes with a layout or an ArrayFileError', () => {
    const whole = npy(plain('<f8', '(4,)'), { data: 32 });
    const mutated = fc
      .array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 })
      .map((changes) => {
        const bytes = Buffer.from(whole);
        for (const [at, value] of changes) bytes[at] = value;
        return bytes;
      });
    fc.assert(
      fc.property(fc.oneof(mutated, fc.uint8Array({ maxLength: 200 })), (bytes) => {
        try {
          const layout = readNpyLayout(bytes, 'x.npy');
          expect(layout.dataOffset + layout.byteLength).toBeLessThanOrEqual(bytes.length);
          expect(layout.length * dtypes[layout.dtype].bytes).toBe(layout.byteLength);
        } catch (error) {
          expect(error).toBeInstanceOf(ArrayFileError);
        }
      }),
      { numRuns: 2000, seed: 20 },
    );
  });
});

describe('npyHeader', () => {
  test('writes what it reads, aligned', () => {
    const dtype = fc.constantFrom(...(Object.keys(dtypes) as Dtype[]));
    fc.assert(
      fc.property(dtype, fc.array(fc.nat(9), { maxLength: 5 }), (type, shape) => {
        const header = npyHeader(type, shape);
        expect(header.length % 64).toBe(0);
        const byteLength = shape.reduce((a, b) => a * b, 1) * dtypes[type].bytes;
        const layout = readNpyLayout(Buffer.concat([header, Buffer.alloc(byteLength)]), 'x.npy');
        expect(layout).toMatchObject({ dtype: type, shape, byteLength, dataOffset: header.length });
      }),
      { seed: 20 },
    );
  });

  test('writes the bytes that NumPy writes', () => {
    const text = Buffer.from(npyHeader('f32', [3])).toString('latin1');
    expect(text).toMatch(
      /^\x93NUMPY\x01\x00v\x00\{'descr': '<f4', 'fortran_order': False, 'shape': \(3,\), \} +\n$/,
    );
  });

  test('refuses shapes that no file can have', () => {
    for (const shape of [
      [-1],
      [1.5],
      [Number.NaN],
      [2 ** 53],
      [2 ** 30, 2 ** 30],
      new Array(65).fill(1),
    ]) {
      expect(() => npyHeader('f64', shape)).toThrow(RangeError);
    }
    expect(() => npyHeader('f16' as Dtype, [1])).toThrow(TypeError);
  });
});

describe('files', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'onemem-npy-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function withFile<T>(content: Uint8Array, use: (fd: number) => T): T {
    const path = join(folder, 'file');
    writeFileSync(path, content);
    const fd = openSync(path, 'r');
    try {
      return use(fd);
    } finally {
      closeSync(fd);
    }
  }

  test('a descriptor gives what the bytes give', () => {
    const bytes = npy(plain('<i2', '(5, 2)'), { data: 20 });
    expect(withFile(bytes, (fd) => readNpyLayout(fd, 'x.npy'))).toEqual(
      readNpyLayout(bytes, 'x.npy'),
    );
    expect(() => withFile(bytes.subarray(0, -1), (fd) => readNpyLayout(fd, 'x.npy'))).toThrow(
      /needs 20 bytes.*has 19/,
    );
  });

  test('raw files are elements only', () => {
    expect(withFile(Buffer.alloc(24), (fd) => rawLayout(fd, 'f64', 'x.bin'))).toEqual({
      dtype: 'f64',
      numpyType: 'float64',
      shape: [3],
      length: 3,
      dataOffset: 0,
      byteLength: 24,
    });
    expect(() => rawLayout(Buffer.alloc(10), 'f32', 'x.bin')).toThrow(/x\.bin: 10 bytes.*f32/);
  });

  test('a folder is no file', () => {
    const fd = openSync(folder, 'r');
    try {
      expect(() => readNpyLayout(fd, 'x.npy')).toThrow(/regular file/);
    } finally {
      closeSync(fd);
    }
  });
});
