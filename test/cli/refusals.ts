/** What a run refuses: each time one line that says what to do, no result, and no file touched. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { COMMANDS_SECONDS, Folder, ramp, SAXPY } from '../harness/command.js';
import { longTest, runTests, test } from '../harness/suite.js';

const COUNT = 100_000;

function filesFor(folder: Folder): string[] {
  folder.write('saxpy.js', SAXPY);
  folder.npy('x.npy', 'f32', ramp(COUNT), [COUNT]);
  folder.npy('y.npy', 'f32', ramp(COUNT), [COUNT]);
  return ['run', 'saxpy.js', '--set', 'alpha=3'];
}

test('files that are none, or not what the kernel declares', async () => {
  using folder = new Folder();
  const run = filesFor(folder);
  const x = ['--in', 'x=x.npy'];
  const before = folder.read('y.npy');
  const refuse = (message: RegExp, y: string) =>
    folder.refuse(1, message, 'run', ...run.slice(1), ...x, '--inout', `y=${y}`);
  await folder.fail(1, /nope\.npy: there is no such file/, ...run, ...x, '--inout', 'y=nope.npy');
  await refuse(/nope\.npy: there is no such file/, 'nope.npy');
  await refuse(
    /saxpy\.js: not a \.npy file.*state the type of a file without a header/,
    'saxpy.js',
  );
  await refuse(/y\.npy is a \.npy file and states its type itself; leave out ':f32'/, 'y.npy:f32');
  folder.npy('double.npy', 'f64', new Float64Array(COUNT), [COUNT]);
  await refuse(
    /double\.npy holds f64, and the kernel declares y as f32; save the array as f32/,
    'double.npy',
  );
  folder.write('raw.bin', new Uint8Array(4 * COUNT));
  await refuse(/raw\.bin holds i32, and the kernel declares y as f32; state f32/, 'raw.bin:i32');
  folder.write('odd.bin', new Uint8Array(4 * COUNT + 1));
  await refuse(/odd\.bin: 400001 bytes are no whole number of f32 elements/, 'odd.bin:f32');
  folder.write('short.npy', before.subarray(0, 5000));
  await refuse(/short\.npy: .*needs 400000 bytes after the header.*Save it again/, 'short.npy');
  folder.write('big.npy', Buffer.from(before.toString('latin1').replace('<f4', '>f4'), 'latin1'));
  await refuse(/big\.npy: the elements are big endian.*astype/, 'big.npy');
  folder.npy('empty.npy', 'f32', new Float32Array(0), [0]);
  await refuse(/empty\.npy has no elements/, 'empty.npy');
  await refuse(/x\.npy: a shape can be stated for --out only/, 'x.npy:10x10');
  mkdirSync(folder.file('folder'));
  await refuse(/folder: not a regular file/, 'folder');
  assert.ok(folder.read('y.npy').equals(before));
});

test('pipes, which can be read once and not in parts', async () => {
  using folder = new Folder();
  const run = filesFor(folder);
  // The harness gives a command pipes for its output, and nobody writes this one.
  spawnSync('mkfifo', [folder.file('pipe')]);
  const refuse = (message: RegExp, x: string, y: string) =>
    folder.refuse(
      1,
      message,
      'run',
      ...run.slice(1),
      '--in',
      `x=${x}`,
      '--inout',
      'y=y.npy',
      '--save',
      `y=${y}`,
    );
  await refuse(/pipe: not a regular file.*write it to a file first/, 'pipe', 'z.npy');
  await refuse(/pipe: not a regular file.*write it to a file first/, 'pipe:f32', 'z.npy');
  await refuse(/pipe is no regular file and cannot be replaced by a result/, 'x.npy', 'pipe');
  await refuse(
    /\/dev\/stdout is no regular file and cannot be replaced by a result/,
    'x.npy',
    '/dev/stdout',
  );
});

const SCALED = `override wide: u32;
@id(7) override factor: f32;
override negate = false;
@group(0) @binding(0) var<storage, read_write> data: array<f32>;
@compute @workgroup_size(wide) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (!negate) { data[id.x] *= factor; }
}`;

test('constants that a module in WGSL lacks, or has otherwise', async () => {
  using folder = new Folder();
  folder.write('scaled.wgsl', SCALED);
  folder.npy('data.npy', 'f32', ramp(COUNT), [COUNT]);
  const refuse = (message: RegExp, ...constants: string[]) =>
    folder.refuse(
      1,
      message,
      'run',
      'scaled.wgsl',
      ...constants.flatMap((each) => ['--constant', each]),
    );
  await refuse(
    /needs a value for override wide \(u32\), factor \(f32\), which has no default; add --constant wide=VALUE --constant factor=VALUE/,
  );
  await refuse(/needs a value for override factor \(f32\)/, 'wide=64');
  await refuse(
    /--constant factor=half: this is not a number \(factor is f32\)/,
    'wide=64',
    'factor=half',
  );
  await refuse(/--constant factor=1e400: this is not a finite number/, 'wide=64', 'factor=1e400');
  await refuse(
    /--constant negate=1: this is not true or false \(negate is bool\)/,
    'wide=64',
    '7=1',
    'negate=1',
  );
  await refuse(
    /WGSL 1:1: constant wide: it is u32: a whole number from 0 to 4294967295, not 6\.4/,
    'wide=6.4',
    '7=1',
  );
  await refuse(/constant factor: it is given twice, as .*7/, 'wide=64', '7=1', 'factor=1');
  await refuse(/scaled\.wgsl has no override widht.*wide/, 'widht=64', '7=1');
});

test('a size that does not say how large a module of several dimensions is', async () => {
  using folder = new Folder();
  const module = (size: string) => `@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@group(0) @binding(1) var<uniform> width: u32;
@compute @workgroup_size(${size}) fn main(@builtin(global_invocation_id) id: vec3u) { y[id.y * width + id.x] += 1.0; }`;
  folder.write('tile.wgsl', module('8, 8'));
  folder.write('line.wgsl', module('64'));
  folder.npy('flat.npy', 'f32', ramp(1024), [1024]);
  folder.npy('y.npy', 'f32', ramp(1024), [32, 32]);
  const refuse = (code: number, message: RegExp, file: string, ...more: string[]) =>
    folder.refuse(code, message, 'run', file, '--set', 'width=32', ...more);
  const flat = ['--inout', 'y=flat.npy'];
  await refuse(
    1,
    /tile\.wgsl has 2 dimensions \(WGSL 3:1\), and the arrays do not .*\(y has shape 1024\); write --size WIDTHxHEIGHT$/,
    'tile.wgsl',
    ...flat,
  );
  await refuse(
    1,
    /line\.wgsl has 2 dimensions \(WGSL 3:84\).*or --size N for a single row$/,
    'line.wgsl',
    ...flat,
  );
  const y = ['--inout', 'y=y.npy'];
  await refuse(
    1,
    /and --size 1024 says one; write --size WIDTHxHEIGHT, or --size 1024x1/,
    'tile.wgsl',
    ...y,
    '--size',
    '1024',
  );
  await refuse(
    2,
    /'2x2x2x2'; it has three dimensions at most/,
    'tile.wgsl',
    ...y,
    '--size',
    '2x2x2x2',
  );
  folder.write('saxpy.js', SAXPY);
  const saxpy = [
    'saxpy.js',
    '--in',
    'x=flat.npy',
    '--inout',
    'y=flat.npy',
    '--set',
    'alpha=3',
    '--size',
    '32x32',
  ];
  await folder.refuse(2, /--size is 32x32, and a function is called for parts/, 'run', ...saxpy);
});

test('a module in WGSL is for GPUs, which have at least two blocks of memory', async () => {
  using folder = new Folder();
  folder.write('scaled.wgsl', SCALED);
  folder.npy('data.npy', 'f32', ramp(COUNT), [COUNT]);
  const run = [
    'scaled.wgsl',
    '--inout',
    'data=data.npy',
    '--constant',
    'wide=64',
    '--constant',
    '7=1',
  ];
  const process =
    /--device is 'process', which runs functions, and KERNEL\.wgsl is for GPUs; leave --device out/;
  await folder.refuse(2, process, 'run', ...run, '--device', 'process');
  const memory =
    /--device-memory is '1MiB'; it must be 4MiB or more, two blocks of 2 MiB for a GPU/;
  await folder.fail(2, memory, 'run', ...run, '--device-memory', '1MiB');
});

test('names that the kernel does not know, or knows otherwise', async () => {
  using folder = new Folder();
  filesFor(folder);
  const refuse = (message: RegExp, ...args: string[]) =>
    folder.refuse(1, message, 'run', 'saxpy.js', ...args);
  const y = ['--inout', 'y=y.npy'];
  const x = ['--in', 'x=x.npy'];
  const alpha = ['--set', 'alpha=3'];
  await refuse(
    /has no parameter q; it has x \(--in\), y \(--inout\), alpha \(--set\)/,
    '--in',
    'q=x.npy',
    ...y,
    ...alpha,
  );
  await refuse(
    /declares y as f32\.inout; give it by --inout, not --in/,
    ...x,
    '--in',
    'y=y.npy',
    ...alpha,
  );
  await refuse(
    /declares alpha as a number \(f32\); give it by --set, not --in/,
    '--in',
    'alpha=x.npy',
    ...y,
  );
  await refuse(/needs alpha \(f32\); add --set alpha=NUMBER/, ...x, ...y);
  await refuse(/needs x \(f32\); add --in x=FILE/, ...y, ...alpha);
  await refuse(/--save x=\.\.\. is for an --inout/, ...x, ...y, ...alpha, '--save', 'x=z.npy');
  for (const text of ['x', '', ' ', '1,5'])
    await refuseNumber(folder, 'f32', text, /this is no number|write --set/);
  await refuseNumber(
    folder,
    'f32',
    '1e39',
    /more than f32 can hold, which is 3\.4028235e38 at most; write Infinity/,
  );
  await refuseNumber(folder, 'f64', '-1e400', /more than f64 can hold/);
  for (const text of ['1.5', '1e3', 'x'])
    await refuseNumber(folder, 'i32', text, /this is no whole number/);
  await refuseNumber(folder, 'u8', '256', /it must be from 0 to 255 \(n is u8\)/);
  await refuseNumber(
    folder,
    'i64',
    '9223372036854775808',
    /from -9223372036854775808 to 9223372036854775807/,
  );
});

/** Kernels that were loaded stay loaded: each is another file. */
let files = 0;

function refuseNumber(
  folder: Folder,
  type: string,
  text: string,
  message: RegExp,
): Promise<string> {
  const file = `number-${files++}.js`;
  folder.write(file, `export default { params: { n: '${type}' }, kernel() {} };`);
  return folder.refuse(
    text === '' ? 2 : 1,
    message,
    'run',
    file,
    '--size',
    '1',
    '--set',
    `n=${text}`,
  );
}

test('kernel files that cannot be used', async () => {
  using folder = new Folder();
  folder.write('package.json', '{ "type": "module" }');
  const refuse = (content: string, message: RegExp): Promise<string> => {
    const file = `k${files++}.js`;
    folder.write(file, content);
    return folder.refuse(1, message, 'run', file, '--size', '1');
  };
  await folder.refuse(1, /nope\.js: there is no such kernel file/, 'run', 'nope.js', '--size', '1');
  await refuse('export default { params: {', /k\d+\.js cannot be loaded: .*node --check k\d+\.js/);
  await refuse('export const kernel = 1;', /k\d+\.js has no default export; write export default/);
  await refuse('export default () => {};', /exports a function as its default/);
  await refuse('export default { params: {} };', /has no function 'kernel'/);
  await refuse('export default { kernel() {} };', /has no 'params'/);
  await refuse(
    "export default { params: { x: 'f16.in' }, kernel() {} };",
    /parameter x: "f16\.in" is no parameter type/,
  );
  await refuse(
    'export default { params: { x: 3 }, kernel() {} };',
    /parameter x of a kernel has no type/,
  );
  const throws = "function go() { throw new Error('on purpose'); }\ngo();";
  assert.match(
    await refuse(throws, /k\d+\.js cannot be loaded: on purpose/),
    /at go \(.*k\d+\.js:1:/,
  );
});

longTest('a kernel that throws: its own stack, and the files as before', async () => {
  using folder = new Folder();
  filesFor(folder);
  folder.write(
    'throws.js',
    `function check(i) {
      if (i === 50000) throw new RangeError('value ' + i + ' is out of range');
    }
    export default {
      params: { y: 'f32.inout' },
      kernel({ y }, { begin, end }) { for (let i = begin; i < end; i++) { check(i); y[i] = 0; } },
    };`,
  );
  const before = folder.read('y.npy');
  const run = ['run', 'throws.js', '--inout', 'y=y.npy'];
  const stack = await folder.fail(
    1,
    /kernel throws\.js threw RangeError: value 50000 is out of range/,
    ...run,
  );
  assert.match(
    stack,
    /^ {2}at check \(.*throws\.js:2:\d+\)\n {2}at kernel \(.*throws\.js:6:\d+\)\n$/,
  );
  assert.ok(folder.read('y.npy').equals(before));
  const { stdout, code } = await folder.run(...run, '--json');
  assert.equal(code, 1);
  const { error } = JSON.parse(stdout) as { error: { code: string; message: string } };
  assert.equal(error.code, 'KERNEL_ERROR');
  assert.match(error.message, /value 50000/);
  // --debug is for a look into the command itself: its stack is shown, too.
  assert.match(
    await folder.fail(1, /value 50000/, ...run, '--debug'),
    /CommandError[\s\S]*cli\/main\.js/,
  );
});

longTest('limits are named with the option that raises them', async () => {
  using folder = new Folder();
  folder.write('big.js', `export default { params: { y: 'u8.out' }, kernel() {} };`);
  const big = ['run', 'big.js', '--out', 'y=big.bin:u8', '--size', `${2 ** 28}`];
  await folder.fail(
    1,
    /cannot allocate array y: .*host budget.*\(--host-memory SIZE, --storage FOLDER\)/,
    ...big,
    '--host-memory',
    '130MiB',
    '--storage',
    'none',
    '--paged',
  );
  await folder.fail(
    1,
    /kernel big\.js needs 16777216 bytes at once on simulated0, which has no page faults and 8388608 bytes/,
    'run',
    'big.js',
    '--out',
    'y=big.bin:u8',
    '--size',
    `${2 ** 24}`,
    '--device',
    'simulated',
    '--device-memory',
    '8MiB',
  );
});

longTest('places where no result can be written', async () => {
  using folder = new Folder();
  filesFor(folder);
  const run = ['run', 'saxpy.js', '--in', 'x=x.npy', '--inout', 'y=y.npy', '--set', 'alpha=3'];
  await folder.fail(
    1,
    /cannot write nope\/z\.npy: there is no such folder/,
    ...run,
    '--save',
    'y=nope/z.npy',
  );
  await folder.fail(1, /\. is a folder and cannot be replaced/, ...run, '--save', 'y=.');
  await folder.fail(1, /\/dev\/null is no regular file/, ...run, '--save', 'y=/dev/null');
  folder.write('two.js', `export default { params: { a: 'f32.out', b: 'f32.out' }, kernel() {} };`);
  await folder.fail(
    1,
    /a and b would both be written to \.\/z\.npy/,
    'run',
    'two.js',
    '--size',
    '5',
    '--out',
    'a=z.npy',
    '--out',
    'b=./z.npy',
  );
  await folder.fail(
    1,
    /--save z\.npy: type and shape are those of y\.npy/,
    ...run,
    '--save',
    'y=z.npy:5',
  );
  await folder.fail(
    2,
    /differ in length \(a has 6 elements, b has 7 elements\); say by --size N/,
    ...['run', 'two.js', '--out', 'a=z.npy:2x3', '--out', 'b=b.npy:7'],
  );
});

await runTests(COMMANDS_SECONDS);
