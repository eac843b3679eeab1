/**
 * Programs that use a GPU: their engine ends with them, however they end, and commands run modules
 * over files.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Folder, ramp, saxpy } from '../harness/command.js';
import { runProgram, until } from '../harness/processes.js';
import { longTest, runTests, test, variantTest } from '../harness/suite.js';

const SAXPY = `
struct Numbers { begin: u32, end: u32, alpha: f32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> numbers: Numbers;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = numbers.begin + id.x;
  if (i < numbers.end) { y[i] += numbers.alpha * x[i]; }
}`;

for (const [how, code] of [
  ['return', 0],
  ['exit', 0],
  ['throw', 1],
  ['worker', 0],
] as const) {
  variantTest(
    `a program that ends by ${how} with launches pending ends at once, and its engine with it`,
    async () => {
      const ended = await runProgram('ending', [how], { seconds: 60 });
      assert.equal(ended.signal, null, ended.stderr);
      assert.equal(ended.code, code, ended.stderr);
      const [, engine] = /^engine (\d+)$/m.exec(ended.stdout) ?? [];
      assert.ok(Number(engine) > 0, ended.stdout);
      await until(`engine ${engine} has ended`, () => !existsSync(`/proc/${engine}`));
    },
  );
}

longTest('a launch of many rounds says so once, with its place and what to do', async () => {
  const ended = await runProgram('rounds', [], { seconds: 60 });
  assert.equal(ended.stdout, 'true\n', ended.stderr);
  const lines = ended.stderr.split('\n').filter((line) => line.includes('kernel follow'));
  assert.equal(lines.length, 1, ended.stderr);
  assert.match(
    lines[0],
    /warning: kernel follow on gpu has run 64 times for pages that it lacked, and moved \d+ bytes of arrays of 16777216: it cannot be cut into parts: WGSL 5:\d+: .*; give the device more memory/,
  );
});

test('a command that is run on a GPU in software runs where its caller is', () => {
  const script = fileURLToPath(new URL('../../../scripts/software-gpu.mjs', import.meta.url));
  using folder = new Folder();
  const command = [script, process.execPath, '--print', 'process.cwd()'];
  const { stdout } = spawnSync(process.execPath, command, {
    cwd: folder.file('.'),
    encoding: 'utf8',
  });
  assert.equal(stdout.trim(), realpathSync(folder.file('.')));
});

longTest(
  'onemem run takes a module and files, and replaces the file of what is read and written',
  async () => {
    using folder = new Folder();
    const [x, y] = [ramp(100_000), ramp(100_000, 7)];
    folder.write('saxpy.wgsl', SAXPY);
    folder.npy('x.npy', 'f32', x, [100_000]);
    folder.npy('y.npy', 'f32', y, [100_000]);
    const expected = folder.npy('expected.npy', 'f32', saxpy(x, y, 3), [100_000]);
    const args = [
      'run',
      'saxpy.wgsl',
      '--in',
      'x=x.npy',
      '--inout',
      'y=y.npy',
      '--set',
      'alpha=3',
      '--chunks',
      '3',
    ];
    const { stdout } = await folder.succeed(...args, '--device-memory', '8MiB');
    assert.ok(folder.read('y.npy').equals(expected));
    assert.match(stdout, /^100,000 work items in .*3 launches/m);
    await folder.fail(
      2,
      /--units and --lossy are for devices that run functions/,
      ...args,
      '--units',
      '2',
    );
  },
);

const SCALED = `
override wide: u32;
@id(7) override factor: f32;
override negate = false;
@group(0) @binding(0) var<storage, read_write> data: array<f32>;
@compute @workgroup_size(wide) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&data)) { data[id.x] *= select(factor, -factor, negate); }
}`;

longTest(
  "onemem run gives a module's overrides their values, by name or number, on a GPU whose memory is not said",
  async () => {
    using folder = new Folder();
    folder.write('scaled.wgsl', SCALED);
    folder.npy('data.npy', 'f32', ramp(1000), [1000]);
    const expected = folder.npy(
      'expected.npy',
      'f32',
      ramp(1000).map((each) => -2.5 * each),
      [1000],
    );
    const constants = ['wide=32', '7=2.5', 'negate=true'].flatMap((each) => ['--constant', each]);
    await folder.succeed('run', 'scaled.wgsl', '--inout', 'data=data.npy', ...constants);
    assert.ok(folder.read('data.npy').equals(expected));
  },
);

const INCREMENT = `
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> width: u32;
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.y * width + id.x;
  if (id.x < width && i < arrayLength(&y)) { y[i] = x[i] + 1.0; }
}`;

longTest(
  'onemem run gives a module of two dimensions the shape of its arrays, or that of --size',
  async () => {
    using folder = new Folder();
    folder.write('increment.wgsl', INCREMENT);
    folder.npy('x.npy', 'f32', ramp(1200), [40, 30]);
    folder.npy('flat.npy', 'f32', ramp(1200), [1200]);
    const sums = ramp(1200).map((each) => each + 1);
    const run = [
      'run',
      'increment.wgsl',
      '--set',
      'width=30',
      '--out',
      'y=y.npy',
      '--device-memory',
      '8MiB',
      '--json',
    ];
    const { stdout } = await folder.succeed(...run, '--in', 'x=x.npy');
    assert.ok(folder.read('y.npy').equals(folder.npy('expected.npy', 'f32', sums, [40, 30])));
    const { size, launches } = JSON.parse(stdout) as { size: number; launches: number };
    assert.deepEqual([size, launches], [1200, 1]);
    await folder.succeed(...run, '--in', 'x=flat.npy', '--size', '30x40');
    assert.ok(folder.read('y.npy').equals(folder.npy('expected.npy', 'f32', sums, [1200])));
  },
);

const SHIFTED = `
struct Params { size: vec2u, by: f32 }
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.y * params.size.x + id.x;
  if (all(id.xy < params.size)) { y[i] = x[i] + params.by; }
}`;

longTest(
  'onemem run sets vectors and structures, and takes what a module does not write for an --in',
  async () => {
    using folder = new Folder();
    folder.write('shifted.wgsl', SHIFTED);
    folder.npy('x.npy', 'f32', ramp(1200), [40, 30]);
    const expected = folder.npy(
      'expected.npy',
      'f32',
      ramp(1200).map((each) => each + 2),
      [40, 30],
    );
    const run = [
      'run',
      'shifted.wgsl',
      '--in',
      'x=x.npy',
      '--out',
      'y=y.npy',
      '--device-memory',
      '8MiB',
    ];
    for (const set of [['size=30,40', 'params.by=2'], ['params={"size":[30,40],"by":2}']]) {
      await folder.succeed(...run, ...set.flatMap((each) => ['--set', each]));
      assert.ok(folder.read('y.npy').equals(expected), set.join(' '));
    }
    await folder.fail(
      1,
      /--set size=30;40: write numbers with commas/,
      ...run,
      '--set',
      'size=30;40',
      '--set',
      'by=2',
    );
  },
);

const COUNTED = `
struct Numbers { size: u32, begin: u32, scale: f32 }
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@group(0) @binding(1) var<uniform> numbers: Numbers;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= numbers.begin && id.x < numbers.size) { y[id.x] = numbers.scale; }
}`;

longTest(
  "onemem run sets a module's own size and begin, which are those of the launch where nothing is said",
  async () => {
    using folder = new Folder();
    folder.write('counted.wgsl', COUNTED);
    const run = ['run', 'counted.wgsl', '--out', 'y=y.npy', '--size', '100', '--set', 'scale=2'];
    const expect = (begin: number, end: number) => {
      const own = Float32Array.from({ length: 100 }, (_, i) => (i >= begin && i < end ? 2 : 0));
      assert.ok(folder.read('y.npy').equals(folder.npy('expected.npy', 'f32', own, [100])));
    };
    await folder.succeed(...run);
    expect(0, 100);
    await folder.succeed(...run, '--set', 'size=80', '--set', 'begin=7');
    expect(7, 80);
  },
);

longTest(
  'demo runs the flights on a GPU, in parts, and finds them where they should be',
  async () => {
    using folder = new Folder();
    const { stdout } = await folder.succeed('demo', '--device', 'webgpu');
    assert.match(
      stdout,
      /^3,000,000 flights: 149 MiB of arrays on a device that has 32 MiB of memory\.$/m,
    );
    assert.match(stdout, /The launch was cut into \d+ parts; 114 MiB came in/);
    assert.match(stdout, /^The result is right: all 3,000,000 flights end within \d\.\d{3} miles/m);
  },
);

longTest('bandwidth measures a GPU, whose small writes of the CPU go to it together', async () => {
  using folder = new Folder();
  const options = ['--device', 'webgpu', '--size', '4MiB', '--passes', '1'];
  const { stdout } = await folder.succeed('bandwidth', ...options);
  for (const memory of ['pageable', 'pinned', 'write-combined', 'managed'])
    assert.match(stdout, new RegExp(`^  ${memory} +host to device +\\d.*/s$`, 'm'));
  assert.match(stdout, /^ {2}mapped +host to device +no: kernels of this device do not use/m);
});

longTest('doctor names the GPU, its memory and its limits', async () => {
  using folder = new Folder();
  const { stdout } = await folder.succeed('doctor');
  assert.match(
    stdout,
    /^ok +GPU by WebGPU +\S.*: \d.* of (the host's )?memory.*\(.*`memory` .* said.*\), buffers to .*, bindings to .* at once, workgroups of \d+.*, timestamp-query/m,
  );
  const without = new Folder({ VK_DRIVER_FILES: '/dev/null', VK_ICD_FILENAMES: '/dev/null' });
  const { stdout: other } = await without.succeed('doctor');
  assert.match(other, /^absent +GPU by WebGPU +no GPU was found\n +remedy: .*apt-get install/m);
  without[Symbol.dispose]();
});

await runTests();
