/** What a run computes, over files of every kind, and what it says about it. */
import assert from 'node:assert/strict';
import { chmodSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import type { RunReport } from '../../src/cli/run/run.js';
import { COMMANDS_SECONDS, Folder, ramp, SAXPY, saxpy } from '../harness/command.js';
import { longTest, runTests, test } from '../harness/suite.js';
import { longTestWithValkey, ValkeyServer } from '../harness/valkey-server.js';

const MIB = 2 ** 20;

/** 32 MiB of arrays. */
const LENGTH = 4 * MIB;

function filesFor(folder: Folder): { x: Float32Array; y: Float32Array; expected: Buffer } {
  const x = ramp(LENGTH);
  const y = ramp(LENGTH, 7);
  folder.write('saxpy.js', SAXPY);
  folder.npy('x.npy', 'f32', x, [LENGTH]);
  folder.npy('y.npy', 'f32', y, [LENGTH]);
  const expected = folder.npy('expected.npy', 'f32', saxpy(x, y, 3), [LENGTH]);
  return { x, y, expected };
}

const ARGUMENTS = ['run', 'saxpy.js', '--in', 'x=x.npy', '--inout', 'y=y.npy', '--set', 'alpha=3'];

longTest(
  'files larger than the device: the file of an inout is replaced, and the report tells what happened',
  async () => {
    using folder = new Folder();
    const { expected } = filesFor(folder);
    chmodSync(folder.file('y.npy'), 0o640);
    const inode = statSync(folder.file('y.npy')).ino;
    const { stdout, stderr } = await folder.succeed(
      ...ARGUMENTS,
      '--device-memory',
      '8MiB',
      '--units',
      '2',
      '--paged',
    );
    assert.ok(folder.read('y.npy').equals(expected));
    const status = statSync(folder.file('y.npy'));
    assert.equal(status.mode & 0o777, 0o640);
    assert.notEqual(status.ino, inode, 'a new file took the name');
    assert.deepEqual(folder.temporaries, []);
    assert.match(stdout, /^4,194,304 work items in \S+ m?s \(64 launches: \S+ m?s\)$/m);
    assert.match(stdout, /^ +faults +moved in +moved out +from files +evictions +peak memory$/m);
    assert.match(stdout, /^ +process0 .* of 8 MiB$/m);
    assert.match(stdout, /^y: y\.npy \(16 MiB\)$/m);
    // No terminal: whole lines, and nothing that moves a cursor.
    assert.match(stderr, /^saxpy\.js: 0% \(0 of 4,194,304\) after /);
    assert.match(stderr, /\nsaxpy\.js: 100% \(4,194,304 of 4,194,304\) after .*\n$/);
    assert.doesNotMatch(stderr, /[\r\u001b]/);
  },
);

longTest('a size beyond all arrays runs, after a warning that names them', async () => {
  using folder = new Folder();
  folder.npy('x.npy', 'f32', ramp(100), [100]);
  folder.write(
    'double.js',
    `export default { params: { x: 'f32.in', y: 'f32.out' },
      kernel({ x, y }, { begin, end }) { for (let i = begin; i < end; i++) y[i] = 2 * x[i]; } };`,
  );
  const of = (...more: string[]) =>
    folder.succeed('run', 'double.js', '--in', 'x=x.npy', '--json', ...more);
  const beyond = await of('--out', 'y=y.npy', '--size', '200');
  assert.match(
    beyond.stderr,
    /^onemem: warning: --size is 200, and x has 100 elements: .* give it a smaller --size$/m,
  );
  assert.equal(JSON.parse(beyond.stdout).size, 200);
  // Rows of an array are fewer than its elements, and a result that is stated to be larger is
  // meant.
  assert.doesNotMatch((await of('--out', 'y=y.npy', '--size', '10')).stderr, /warning/);
  assert.doesNotMatch((await of('--out', 'y=y.npy:200', '--size', '200')).stderr, /warning/);
});

/** Runs a kernel whose result is half as large again as host memory, and looks at all of it. */
async function fillMore(folder: Folder, ...where: string[]): Promise<void> {
  folder.write(
    'fill.js',
    `export default { params: { y: 'u32.out' }, kernel({ y }, { begin, end }) { for (let i = begin; i < end; i++) y[i] = i * 3; } };`,
  );
  const sizes = [
    '--size',
    String(12 * MIB),
    '--host-memory',
    '32MiB',
    '--device-memory',
    '8MiB',
    '--paged',
  ];
  await folder.succeed('run', 'fill.js', '--out', 'y=y.bin:u32', ...sizes, ...where);
  const { buffer, byteOffset, length } = folder.read('y.bin');
  const result = new Uint32Array(buffer, byteOffset, length / 4);
  assert.equal(result.length, 12 * MIB);
  assert.equal(
    result.findIndex((value, i) => value !== i * 3),
    -1,
  );
}

longTest(
  'arrays that are larger than host memory go to storage, and the result is whole',
  async () => {
    using folder = new Folder();
    await fillMore(folder, '--storage', `${folder.file('')}:256MiB`);
  },
);

test('arrays that are larger than host memory go to slow memory, and the result is whole', async () => {
  using folder = new Folder();
  const slow = ['--slow-memory', 'bytes=64MiB,latencyUs=0.3,bandwidth=30GB'];
  await fillMore(folder, '--storage', 'none', ...slow);
});

longTestWithValkey(
  'arrays that are larger than host memory go to a server, and the result is whole',
  async () => {
    using folder = new Folder();
    await using server = await ValkeyServer.start();
    await fillMore(
      folder,
      '--storage',
      'none',
      '--behind',
      server.url,
      '--behind-memory',
      '256MiB',
    );
    assert.equal(await server.ask('DBSIZE'), 0);
    await folder.fail(
      2,
      /--behind URL and --behind-memory SIZE go together/,
      'run',
      'fill.js',
      '--behind',
      server.url,
    );
  },
);

test('of the servers of a cluster several may be named, and each that does not answer is', async () => {
  using folder = new Folder();
  folder.write('nothing.js', `export default { params: { y: 'u32.out' }, kernel() {} };`);
  const servers = [1, 2].flatMap((port) => ['--behind', `valkey://127.0.0.1:${port}`]);
  const run = [
    'run',
    'nothing.js',
    '--out',
    'y=y.npy',
    '--size',
    '100',
    '--behind-memory',
    '64MiB',
    ...servers,
  ];
  await folder.fail(
    1,
    /behind: none of 2 servers can be used: there is no connection to valkey:\/\/127\.0\.0\.1:1: .*; there is no connection to valkey:\/\/127\.0\.0\.1:2: /,
    ...run,
  );
});

longTest('the result of an inout elsewhere, and figures for programs', async () => {
  using folder = new Folder();
  const { expected } = filesFor(folder);
  const before = folder.read('y.npy');
  folder.write('sum.npy', 'what was there before');
  const { stdout, stderr } = await folder.succeed(
    ...ARGUMENTS,
    '--save',
    'y=sum.npy',
    '--device-memory',
    '8MiB',
    '--paged',
    '--json',
  );
  assert.ok(folder.read('sum.npy').equals(expected));
  assert.ok(folder.read('y.npy').equals(before));
  assert.equal(stderr, '');
  const report = JSON.parse(stdout) as RunReport;
  assert.deepEqual(report.results, [{ parameter: 'y', file: 'sum.npy', bytes: expected.length }]);
  assert.equal(report.size, LENGTH);
  assert.equal(report.launches, 64);
  assert.ok(report.launchMs > 0 && report.wallMs > report.launchMs);
  const [host, device] = report.processors;
  assert.equal(host.kind, 'host');
  assert.equal(device.budgetBytes, 8 * MIB);
  assert.ok(device.peakBytes > 0 && device.peakBytes <= device.budgetBytes, 'within its budget');
  assert.ok(device.faults > 0 && device.evictions > 0);
  // Every page of both files was read once, by the CPU or the device; every page of the result went
  // home.
  assert.equal(host.bytesFromFiles + device.bytesFromFiles, 32 * MIB);
  assert.equal(host.bytesIn, 16 * MIB);
});

longTest('a link stays a link', async () => {
  using folder = new Folder();
  const { expected } = filesFor(folder);
  symlinkSync('y.npy', folder.file('link.npy'));
  await folder.succeed(
    'run',
    'saxpy.js',
    '--in',
    'x=x.npy',
    '--inout',
    'y=link.npy',
    '--set',
    'alpha=3',
  );
  assert.ok(folder.read('y.npy').equals(expected));
});

longTest('other devices and other parts give the same bytes', async () => {
  using folder = new Folder();
  const { expected } = filesFor(folder);
  for (const options of [
    ['--chunks', '1'],
    ['--chunks', '7', '--units', '3'],
    ['--lossy', '--chunks', '1000'],
    // One launch is given while another ends: on a device without page faults its pages were then
    // held for ever.
    ['--device', 'simulated', '--chunks', '2', '--host-memory', 'auto'],
    ['--host-memory', '130MiB', '--device-memory', '4MiB', '--paged'],
    ['--host-memory', '130MiB', '--device-memory', '6MiB', '--chunks', '1', '--units', '2'],
  ]) {
    await folder.succeed(...ARGUMENTS, '--save', 'y=sum.npy', ...options);
    assert.ok(folder.read('sum.npy').equals(expected), options.join(' '));
  }
});

longTest('files are read where they are touched, and nowhere else', async () => {
  using folder = new Folder();
  const kernel = `export default {
    params: { x: 'f32.in', found: 'f32.out' },
    kernel({ x, found }, { begin }) { if (begin === 0) found[0] = x[5000000]; },
  };`;
  folder.write('one.js', kernel);
  folder.npy('x.npy', 'f32', ramp(16 * MIB), [16 * MIB]);
  const { stdout } = await folder.succeed(
    'run',
    'one.js',
    '--in',
    'x=x.npy',
    '--out',
    'found=found.bin:f32:1',
    '--size',
    '1',
    '--paged',
    '--json',
  );
  const { processors } = JSON.parse(stdout) as RunReport;
  const bytes = processors.reduce((sum, each) => sum + each.bytesFromFiles, 0);
  assert.ok(bytes > 0 && bytes <= 2 * MIB, `${bytes} bytes of 64 MiB were read`);
  assert.equal(folder.read('found.bin').readFloatLE(0), 0);
});

longTest(
  'results from nothing: shapes, raw files, and zeros where nothing was written',
  async () => {
    using folder = new Folder();
    folder.write(
      'even.js',
      `export default {
      params: { x: 'f64.in', twice: 'f64.out', sign: 'i8.out' },
      kernel({ x, twice, sign }, { begin, end }) {
        for (let i = begin; i < end; i++) if (i % 2 === 0) { twice[i] = 2 * x[i]; sign[i] = Math.sign(x[i]); }
      },
    };`,
    );
    const x = Float64Array.from({ length: 6000 }, (_, index) => index - 2999.5);
    const twice = x.map((value, index) => (index % 2 === 0 ? 2 * value : 0));
    const sign = Int8Array.from(x, (value, index) => (index % 2 === 0 ? Math.sign(value) : 0));
    folder.npy('x.npy', 'f64', x, [60, 100]);
    const run = ['run', 'even.js', '--in', 'x=x.npy'];
    // The shape of what it was computed from, unless another is asked for.
    await folder.succeed(...run, '--out', 'twice=twice.npy', '--out', 'sign=sign.npy:10x20x30');
    assert.ok(folder.read('twice.npy').equals(folder.npy('expected.npy', 'f64', twice, [60, 100])));
    assert.ok(folder.read('sign.npy').equals(folder.npy('expected.npy', 'i8', sign, [10, 20, 30])));
    await folder.succeed(...run, '--out', 'twice=twice.bin:f64', '--out', 'sign=sign.bin:i8:6000');
    assert.ok(folder.read('twice.bin').equals(Buffer.from(twice.buffer)));
    assert.ok(folder.read('sign.bin').equals(Buffer.from(sign.buffer)));
    // A result may be larger than the launch.
    await folder.succeed(
      ...run,
      '--size',
      '10',
      '--out',
      'twice=twice.bin:f64:12',
      '--out',
      'sign=sign.npy',
    );
    assert.deepEqual(
      [...new Float64Array(new Uint8Array(folder.read('twice.bin')).buffer)],
      [...twice.slice(0, 10), 0, 0],
    );
    assert.ok(
      folder.read('sign.npy').equals(folder.npy('expected.npy', 'i8', sign.slice(0, 10), [10])),
    );
  },
);

longTest('raw files in and out, and the header of a .npy file as it was', async () => {
  using folder = new Folder();
  const { x, y, expected } = filesFor(folder);
  folder.write('x.bin', Buffer.from(x.buffer));
  folder.write('y.bin', Buffer.from(y.buffer));
  await folder.succeed(
    'run',
    'saxpy.js',
    '--in',
    'x=x.bin:f32',
    '--inout',
    'y=y.bin:f32',
    '--set',
    'alpha=3',
  );
  assert.ok(folder.read('y.bin').equals(expected.subarray(-4 * LENGTH)));
  // Booleans are bytes to a kernel, and stay booleans in the file.
  folder.write(
    'flip.js',
    `export default { params: { b: 'u8.inout' }, kernel({ b }, { begin, end }) { for (let i = begin; i < end; i++) b[i] ^= 1; } };`,
  );
  const dictionary = "{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}\n";
  const header = `\x93NUMPY\x01\x00${String.fromCharCode(dictionary.length)}\x00${dictionary}`;
  const bools = Buffer.from(`${header}\x01\x00\x01`, 'latin1');
  folder.write('b.npy', bools);
  await folder.succeed('run', 'flip.js', '--inout', 'b=b.npy');
  assert.ok(folder.read('b.npy').equals(Buffer.from(`${header}\x00\x01\x00`, 'latin1')));
});

longTest('numbers of every type arrive as they were written', async () => {
  using folder = new Folder();
  folder.write(
    'numbers.js',
    `export default {
      params: { big: 'i64.out', real: 'f64.out', a: 'i64', b: 'u64', c: 'f64', d: 'f32', e: 'i16', f: 'f64', g: 'u8' },
      kernel({ big, real, a, b, c, d, e, f, g }) {
        big[0] = a; big[1] = BigInt.asIntN(64, b); real[0] = c; real[1] = d; real[2] = e; real[3] = f; real[4] = g;
      },
    };`,
  );
  const numbers = [
    'a=-9223372036854775808',
    'b=0xffffffffffffffff',
    'c=nan',
    'd=-Infinity',
    'e=-32768',
    'f=-0',
    'g=255',
  ];
  const outputs = ['--out', 'big=big.bin:i64:2', '--out', 'real=real.bin:f64:5'];
  await folder.succeed(
    'run',
    'numbers.js',
    '--size',
    '1',
    ...outputs,
    ...numbers.flatMap((each) => ['--set', each]),
  );
  const big = new BigInt64Array(new Uint8Array(folder.read('big.bin')).buffer);
  const real = new Float64Array(new Uint8Array(folder.read('real.bin')).buffer);
  assert.deepEqual([...big], [-(2n ** 63n), -1n]);
  assert.deepEqual([...real], [Number.NaN, -Infinity, -32768, -0, 255]);
});

longTest('i64 arrays, a kernel with imports, and a kernel that the library made', async () => {
  using folder = new Folder();
  folder.write('package.json', '{ "type": "module" }');
  folder.write('step.js', 'export const step = (value) => value * 3n - 1n;');
  folder.write(
    'collatz.js',
    `import { step } from './step.js';
     export default { params: { n: 'i64.inout' }, kernel({ n }, { begin, end }) { for (let i = begin; i < end; i++) n[i] = step(n[i]); } };`,
  );
  const library = new URL('../../src/index.js', import.meta.url).href;
  folder.write(
    'made.js',
    `import { i64, kernel } from ${JSON.stringify(library)};
     export default kernel({ n: i64.inout }, ({ n }, { begin, end }) => { for (let i = begin; i < end; i++) n[i] = n[i] * 3n - 1n; });`,
  );
  const n = BigInt64Array.from(
    { length: 5000 },
    (_, index) => BigInt(index) * 1_000_000_007n - 2n ** 40n,
  );
  const expected = folder.npy(
    'expected.npy',
    'i64',
    n.map((value) => value * 3n - 1n),
    [5000],
  );
  for (const kernel of ['collatz.js', 'made.js']) {
    folder.npy('n.npy', 'i64', n, [5000]);
    await folder.succeed('run', kernel, '--inout', 'n=n.npy');
    assert.ok(folder.read('n.npy').equals(expected), kernel);
  }
});

longTest('a file may be read and replaced in the same run', async () => {
  using folder = new Folder();
  const x = ramp(100_000);
  folder.write(
    'shift.js',
    `export default { params: { x: 'f32.in', y: 'f32.out' }, kernel({ x, y }, { begin, end, size }) { for (let i = begin; i < end; i++) y[i] = x[(i + 1) % size]; } };`,
  );
  folder.npy('x.npy', 'f32', x, [100_000]);
  await folder.succeed('run', 'shift.js', '--in', 'x=x.npy', '--out', 'y=x.npy');
  const shifted = x.map((_, index) => x[(index + 1) % x.length]);
  assert.ok(folder.read('x.npy').equals(folder.npy('expected.npy', 'f32', shifted, [100_000])));
});

longTest('a file that is cut off during the run is an error, and never wrong data', async () => {
  using folder = new Folder();
  folder.write(
    'cut.js',
    `import { truncateSync } from 'node:fs';
    import { fileURLToPath } from 'node:url';
    export default { params: { x: 'f32.in', y: 'f32.out' }, kernel({ x, y }, { begin, end }) {
      if (begin === 0) truncateSync(fileURLToPath(new URL('./x.npy', import.meta.url)), 5000000);
      for (let i = begin; i < end; i++) y[i] = x[i] + 1;
    } };`,
  );
  folder.npy('x.npy', 'f32', ramp(LENGTH), [LENGTH]);
  writeFileSync(folder.file('y.npy'), 'old');
  await folder.fail(1, /x\.npy/, 'run', 'cut.js', '--in', 'x=x.npy', '--out', 'y=y.npy');
  assert.equal(folder.read('y.npy').toString(), 'old');
});

await runTests(COMMANDS_SECONDS);
