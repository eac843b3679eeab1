/**
 * `onemem run` on a process device: kernels read and write the kernel's own memory of the files.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import type { RunReport } from '../../src/cli/run/run.js';
import { COMMANDS_SECONDS, Folder, ramp, SAXPY, saxpy } from '../harness/command.js';
import { longTest, runTests, test } from '../harness/suite.js';

const LENGTH = 3_000_001;
const X = ramp(LENGTH);
const Y = ramp(LENGTH, 5);
const SAXPY_RUN = ['run', 'saxpy.js', '--in', 'x=x.npy', '--inout', 'y=y.npy', '--set', 'alpha=3'];

function prepared(): Folder {
  const folder = new Folder();
  folder.write('saxpy.js', SAXPY);
  folder.npy('x.npy', 'f32', X, [LENGTH]);
  folder.npy('y.npy', 'f32', Y, [LENGTH]);
  return folder;
}

longTest('no page of a file moves, and the result of an inout is right', async () => {
  using folder = prepared();
  const { stdout } = await folder.succeed(
    ...SAXPY_RUN,
    '--save',
    'y=sum.npy',
    '--units',
    '2',
    '--json',
  );
  const { processors } = JSON.parse(stdout) as RunReport;
  assert.deepEqual(
    processors.map(({ bytesFromFiles, bytesIn, faults }) => [bytesFromFiles, bytesIn, faults]),
    [
      [0, 0, 0],
      [0, 0, 0],
    ],
  );
  const expected = folder.npy('expected.npy', 'f32', saxpy(X, Y, 3), [LENGTH]);
  assert.ok(folder.read('sum.npy').equals(expected));
  assert.deepEqual(
    folder.read('y.npy').subarray(-4 * LENGTH),
    Buffer.from(Y.buffer, Y.byteOffset, 4 * LENGTH),
  );
  assert.deepEqual(folder.temporaries, []);
});

longTest('elements at odd places, with a result beside, are copied as pages', async () => {
  using folder = prepared();
  // A header of an odd length, as other programs than NumPy may write one.
  const content = folder.read('y.npy');
  const odd = Buffer.concat([content.subarray(0, 127), Buffer.from(' \n'), content.subarray(128)]);
  odd.writeUInt16LE(content.readUInt16LE(8) + 1, 8);
  folder.write('y.npy', odd);
  await folder.succeed(...SAXPY_RUN);
  const expected = saxpy(X, Y, 3);
  const result = folder.read('y.npy');
  assert.ok(result.subarray(0, 129).equals(odd.subarray(0, 129)));
  assert.ok(
    result
      .subarray(129)
      .equals(Buffer.from(expected.buffer, expected.byteOffset, expected.byteLength)),
  );
});

longTest(
  'a result that is written in part is 0 elsewhere, and all parts of a launch see the old content',
  async () => {
    using folder = prepared();
    folder.write(
      'far.js',
      `export default { params: { y: 'f32.inout', z: 'f32.out' }, kernel({ y, z }, { begin, end, size }) {
      for (let i = begin; i < end; i++) if (i % 1000 === 7) z[i] = y[size - 1 - i];
      for (let i = begin; i < end; i++) if (i % 1000 === 7) y[i] = -1;
    } };`,
    );
    await folder.succeed('run', 'far.js', '--inout', 'y=y.npy', '--out', 'z=z.npy', '--units', '2');
    const { buffer, byteOffset } = folder.read('z.npy');
    const z = new Float32Array(buffer.slice(byteOffset + 128));
    assert.equal(z.length, LENGTH);
    assert.equal(
      z.findIndex((value, i) => value !== (i % 1000 === 7 ? Y[LENGTH - 1 - i] : 0)),
      -1,
    );
  },
);

test('an input that is cut within its last page fails the run, and changes nothing', async () => {
  using folder = prepared();
  const before = folder.read('y.npy');
  const slow = SAXPY.replace('kernel(', 'async kernel(').replace(
    'for (',
    `const { truncateSync } = await import('node:fs');
     if (begin === 0) truncateSync(new URL('./x.npy', import.meta.url), ${128 + 4 * LENGTH - 4});
     for (`,
  );
  folder.write('saxpy.js', slow);
  const message =
    /onemem: x\.npy became shorter during the run: it has 12000128 bytes.*; no file was changed$/;
  await folder.fail(1, message, ...SAXPY_RUN, '--chunks', '1');
  assert.ok(folder.read('y.npy').equals(before));
  assert.deepEqual(readdirSync(folder.path).sort(), ['saxpy.js', 'x.npy', 'y.npy']);
});

longTest(
  'a kernel that writes to an input fails the run, and --paged names the place',
  async () => {
    using folder = prepared();
    folder.write('saxpy.js', SAXPY.replace('for (', 'x[begin] = 1; for ('));
    await folder.fail(1, /no file was changed: run it again$/, ...SAXPY_RUN);
    await folder.fail(1, /wrote array x from x\.npy, elements 0 to 1023/, ...SAXPY_RUN, '--paged');
  },
);

await runTests(COMMANDS_SECONDS);
