/**
 * Files as arrays: NumPy's with their shape and type, names that are URLs, and sizes that are no
 * whole number of elements.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Dtype, npyHeader } from '../../src/files/npy.js';
import { type AddressSpace, f32, kernel, type OnememError } from '../../src/index.js';
import { openFailing } from '../harness/failing.js';
import { bytesFromFiles, sharedSpace } from '../harness/spaces.js';
import { failsWith, filled, longTest, runTests, sameData, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const folder = mkdtempSync(join(tmpdir(), 'onemem-npy-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

async function withSpace(action: (space: AddressSpace) => Promise<void>): Promise<void> {
  await using space = await sharedSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  await action(space);
  space.checkInvariants();
}

function write(name: string, ...parts: (Uint8Array | string)[]): string {
  const path = join(folder, name);
  writeFileSync(
    path,
    Buffer.concat(
      parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)),
    ),
  );
  return path;
}

function npy(
  name: string,
  type: Dtype,
  elements: NodeJS.TypedArray,
  shape: readonly number[],
): string {
  return write(name, npyHeader(type, shape), new Uint8Array(elements.buffer));
}

/** A file whose header says this of 12 elements of 8 bytes. */
function claimed(name: string, descr: string, fortran = 'False'): string {
  const text =
    `{'descr': ${descr}, 'fortran_order': ${fortran}, 'shape': (3, 4)}`.padEnd(117) + '\n';
  return write(
    name,
    `\x93NUMPY\x01\x00${String.fromCharCode(text.length)}\x00${text}`,
    Buffer.alloc(96),
  );
}

const leftovers = () => readdirSync(folder).filter((name) => name.endsWith('.onemem-tmp'));
const double = kernel({ x: f32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] *= 2;
});

longTest(
  'a .npy file larger than the device is an array with its shape, and is read where it is touched',
  () =>
    withSpace(async (space) => {
      const values = filled(new Float32Array(4 * MIB), (i) => i % 1000);
      const path = npy('matrix.npy', 'f32', values, [4096, 1024]);
      const { array, shape, dtype } = space.openNpy(path, { type: Float32Array, writable: true });
      assert.deepEqual([...shape], [4096, 1024]);
      assert.deepEqual([dtype, array.type, array.name], ['float32', 'f32', path]);
      const readBefore = bytesFromFiles(space);
      assert.equal(array.data[3000 * 1024 + 7], values[3000 * 1024 + 7]);
      const read = bytesFromFiles(space) - readBefore;
      assert.ok(read > 0 && read <= 2 * MIB, `${read} bytes were read for one element`);
      await space.devices[0].run(double, { x: array }, { size: array.length });
      sameData(array.data, (i) => (i % 1000) * 2);
      assert.ok(
        readFileSync(path).subarray(-values.byteLength).equals(Buffer.from(values.buffer)),
        'the file is as it was',
      );
    }),
);

test('a shared .npy file has what was written after a flush, behind the same header', () =>
  withSpace(async (space) => {
    const path = npy('shared.npy', 'f32', new Float32Array(5000).fill(3), [50, 100]);
    const { array } = space.openNpy(pathToFileURL(path), { type: Float32Array, shared: true });
    await space.devices[0].run(double, { x: array }, { size: array.length });
    await array.flush();
    const expected = Buffer.concat([
      npyHeader('f32', [50, 100]),
      Buffer.from(new Float32Array(5000).fill(6).buffer),
    ]);
    assert.ok(readFileSync(path).equals(expected));
  }));

test('NumPy names of types, and shapes of one number, a row and a cube', () =>
  withSpace(async (space) => {
    const bytes = write(
      'bool.npy',
      Buffer.from(npyHeader('u8', [3]))
        .toString('latin1')
        .replace("'|u1'", "'|b1'"),
      Buffer.of(1, 0, 1),
    );
    assert.deepEqual(
      { ...space.openNpy(bytes), array: null },
      { array: null, shape: [3], dtype: 'bool' },
    );
    const scalar = space.openNpy(npy('scalar.npy', 'i64', BigInt64Array.of(-5n), []));
    assert.deepEqual([[...scalar.shape], scalar.dtype, scalar.array.data[0]], [[], 'int64', -5n]);
    const cube = space.openNpy(npy('cube.npy', 'u16', new Uint16Array(24), [2, 3, 4]), {
      type: Uint16Array,
    });
    assert.deepEqual([[...cube.shape], cube.array.length], [[2, 3, 4], 24]);
  }));

for (const [name, descr, fortran, message] of [
  ['big-endian', "'>f8'", 'False', /big endian.*a\.astype\('<f8'\)/],
  [
    'fortran-order',
    "'<f8'",
    'True',
    /\(3, 4\) is in Fortran \(column-major\) order; save numpy\.ascontiguousarray\(a\)/,
  ],
  ['records', "[('x', '<f4'), ('y', '<f4')]", 'False', /records with named fields.*a\['field'\]/],
  ['strings', "'<U2'", 'False', /strings/],
  ['objects', "'|O'", 'False', /Python objects/],
  ['complex', "'<c16'", 'False', /a\.real and a\.imag/],
] as const) {
  test(`what cannot be used as it is says how NumPy converts it: ${name}`, () =>
    withSpace(async (space) => {
      const path = claimed(`${name}.npy`, descr, fortran);
      const error = await failsWith('UNSUPPORTED_ARRAY_FILE', () => space.openNpy(path));
      assert.equal(error.name, 'OnememError');
      assert.ok(error.message.startsWith(`${path}: `), error.message);
      assert.match(error.message, message);
    }));
}

test('files that are no arrays, are cut off, or go on', () =>
  withSpace(async (space) => {
    const whole = npyHeader('f32', [10]);
    const refused = async (code: string, message: RegExp, ...parts: (Uint8Array | string)[]) => {
      const error = await failsWith(code, () => space.openNpy(write('odd.npy', ...parts)));
      assert.match(error.message, message);
    };
    await refused('NOT_AN_ARRAY_FILE', /the file is empty/, '');
    await refused(
      'NOT_AN_ARRAY_FILE',
      /does not begin with.*space\.fileArray\(Float32Array, path\)/,
      'some text',
    );
    await refused('UNSUPPORTED_ARRAY_FILE', /zip archive/, 'PK\x03\x04 and more');
    await refused('TRUNCATED_ARRAY_FILE', /needs 40 bytes .* has 39/, whole, Buffer.alloc(39));
    await refused(
      'TRAILING_BYTES',
      /2 bytes follow the 40 .*allowTrailingBytes: true/,
      whole,
      Buffer.alloc(42),
    );
    const two = write('two.npy', whole, Buffer.alloc(40), whole, Buffer.alloc(40));
    assert.equal(space.openNpy(two, { allowTrailingBytes: true }).array.length, 10);
    const typed = await failsWith('ARRAY_TYPE', () =>
      space.openNpy(write('typed.npy', whole, Buffer.alloc(40)), { type: Float64Array }),
    );
    assert.match(typed.message, /holds float32, which is Float32Array and not Float64Array/);
    await failsWith('ENOENT', () => space.openNpy(join(folder, 'none.npy')));
    await failsWith('FILE_KIND', () => space.openNpy(folder));
  }));

test('an array that a device has, and a slice of it, are saved as NumPy files', () =>
  withSpace(async (space) => {
    const x = space.array(Float32Array, 3 * MIB, { name: 'x' });
    for (let i = 0; i < x.length; i++) x.data[i] = i % 999;
    await space.devices[0].run(double, { x }, { size: x.length });
    const values = filled(new Float32Array(x.length), (i) => (i % 999) * 2);
    const path = join(folder, 'saved.npy');
    writeFileSync(path, 'what was there before', { mode: 0o640 });
    const written = await space.saveNpy(path, x, { shape: [3, MIB] });
    const expected = Buffer.concat([npyHeader('f32', [3, MIB]), Buffer.from(values.buffer)]);
    assert.equal(written, expected.length);
    assert.ok(readFileSync(path).equals(expected));
    await space.saveNpy(pathToFileURL(path), x.range(1001, 5003));
    const slice = Buffer.from(values.buffer, 4 * 1001, 4 * 4002);
    assert.ok(readFileSync(path).equals(Buffer.concat([npyHeader('f32', [4002]), slice])));
    assert.deepEqual(leftovers(), []);
  }));

test('what openNpy gave is saved as it was: shape, and booleans', () =>
  withSpace(async (space) => {
    const header = Buffer.from(npyHeader('u8', [2, 3]))
      .toString('latin1')
      .replace("'|u1'", "'|b1'");
    const path = write('flags.npy', header, Buffer.of(1, 0, 1, 1, 1, 0));
    const before = readFileSync(path);
    const { array, ...as } = space.openNpy(path, { writable: true });
    array.data[1] = 1;
    await space.saveNpy(path, array, as);
    before[before.length - 5] = 1;
    assert.ok(readFileSync(path).equals(before));
    // The private array still looks at the file that it was opened over.
    sameData(array.data, (i) => [1, 1, 1, 1, 1, 0][i]);
  }));

test('what cannot be saved leaves the old file and nothing beside it', () =>
  withSpace(async (space) => {
    const x = space.array(Float32Array, 1000, { name: 'x' });
    const path = write('kept.npy', 'old');
    const shape = await failsWith('SHAPE', () => space.saveNpy(path, x, { shape: [3, 300] }));
    assert.match(shape.message, /shape \(3, 300\) has 900 elements, and 1000 are to be saved/);
    const dtype = await failsWith('DTYPE', () => space.saveNpy(path, x, { dtype: 'float64' }));
    assert.match(
      dtype.message,
      /x of Float32Array can be saved as 'float32', not as "float64": nothing is converted/,
    );
    await failsWith('ARRAY', () => space.saveNpy(path, new Float32Array(4) as never));
    await failsWith('ARRAY_RANGE', () => space.saveNpy(path, { array: x, begin: 5, end: 1001 }));
    await x.protect('none');
    await failsWith('ACCESS_DENIED', () => space.saveNpy(path, x));
    await x.protect('readwrite');
    const nowhere = await failsWith('FILE_NOT_WRITABLE', () =>
      space.saveNpy(join(folder, 'none/x.npy'), x),
    );
    assert.match(nowhere.message, /cannot write .*none\/x\.npy: there is no such folder/);
    await failsWith('NOT_A_REGULAR_FILE', () => space.saveNpy(folder, x));
    x.free();
    await failsWith('USE_AFTER_FREE', () => space.saveNpy(path, x));
    assert.equal(readFileSync(path, 'utf8'), 'old');
    assert.deepEqual(leftovers(), []);
  }));

test('a file that a shared array has is not replaced, since what that one writes later would be lost', () =>
  withSpace(async (space) => {
    const path = npy('held.npy', 'f32', new Float32Array(10), [10]);
    const { array } = space.openNpy(path, { shared: true });
    const error = await failsWith('FILE_LOCKED', () => space.saveNpy(path, array));
    assert.match(error.message, /cannot replace .*held\.npy: a shared array has it/);
    await array.flush();
    array.free();
    const x = space.array(Float32Array, 2);
    await space.saveNpy(path, x);
    assert.ok(readFileSync(path).equals(Buffer.concat([npyHeader('f32', [2]), Buffer.alloc(8)])));
  }));

test('a disk that gets full while a file is saved is told by the file, with what helps, and leaves what was there', async () => {
  const failing = await openFailing('pwrite:ENOSPC:1-100', {});
  await using space = failing.space;
  const path = npy('full.npy', 'f32', new Float32Array(10), [10]);
  const before = readFileSync(path);
  failing.arm();
  const error = (await failsWith('FILE_IO', () =>
    space.saveNpy(path, space.array(Float32Array, MIB)),
  )) as OnememError;
  failing.disarm();
  assert.match(
    error.message,
    /^cannot save .*full\.npy: ENOSPC; make room on its disk, or save elsewhere/,
  );
  assert.deepEqual(error.details, { errno: constants.errno.ENOSPC, bytes: 0, path });
  assert.ok(readFileSync(path).equals(before));
  assert.deepEqual(leftovers(), []);
});

test('a file is named by its path or its URL, and by nothing else', () =>
  withSpace(async (space) => {
    const path = write('a file #1.bin', Buffer.from(Int32Array.of(1, 2, 3).buffer));
    const x = space.fileArray(Int32Array, pathToFileURL(path));
    assert.deepEqual([x.name, ...x.data], [path, 1, 2, 3]);
    const web = await failsWith('FILE_PATH', () =>
      space.fileArray(Int32Array, new URL('https://localhost/x.bin')),
    );
    assert.match(web.message, /"https:\/\/localhost\/x\.bin" is no file: URL/);
    for (const wrong of [5, '', null, {}, Buffer.from(path)]) {
      await failsWith('FILE_PATH', () => space.fileArray(Int32Array, wrong as never));
    }
  }));

test('bytes behind the last whole element are an error', () =>
  withSpace(async (space) => {
    const path = write('odd.bin', Buffer.alloc(4002));
    const error = await failsWith('TRAILING_BYTES', () => space.fileArray(Int32Array, path));
    assert.match(
      error.message,
      /has 4002 bytes, which are 1000 elements of Int32Array and 2 bytes; .*`length: 1000`/,
    );
    assert.equal(space.fileArray(Int32Array, path, { length: 1000 }).length, 1000);
    assert.equal(space.fileArray(Int32Array, path, { byteOffset: 2 }).length, 1000);
    assert.equal(space.fileArray(Uint8Array, path).length, 4002);
    const tiny = await failsWith('TRAILING_BYTES', () =>
      space.fileArray(Float64Array, path, { byteOffset: 4000 }),
    );
    assert.match(tiny.message, /2 bytes from byte 4000 on.* too short for one element/);
    await failsWith('FILE_TOO_SHORT', () =>
      space.fileArray(Int32Array, path, { byteOffset: 5000 }),
    );
  }));

await runTests();
