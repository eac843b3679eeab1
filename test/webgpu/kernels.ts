/**
 * Kernels in WGSL: how arguments reach the module, what is refused, and that results are those of
 * plain JavaScript, byte for byte.
 */
import assert from 'node:assert/strict';
import {
  bytes,
  f32,
  i32,
  type KernelParameters,
  kernel,
  openSpace,
  u32,
  uniform,
} from '../../src/index.js';
import { gpuWith, inSpaceWith, saxpy } from '../harness/gpu.js';
import { failsWith, filled, longTest, runTests, sameData, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const GPU = gpuWith('16MiB');
const withGpu = inSpaceWith(GPU);

/** An entry point that does something at the index `i`. */
function main(declarations: string, body: string, workgroup = 64): string {
  return `${declarations}
@compute @workgroup_size(${workgroup})
fn main(@builtin(global_invocation_id) id: vec3<u32>) { let i = id.x; ${body} }`;
}

const double = kernel(
  { data: u32.inout },
  {
    wgsl: main(
      '@group(0) @binding(0) var<storage, read_write> data: array<u32>;',
      'if (i < arrayLength(&data)) { data[i] *= 2u; }',
    ),
    function: ({ data }, { begin, end }) => {
      for (let i = begin; i < end; i++) data[i] *= 2;
    },
  },
  { name: 'double' },
);

test('arrays and numbers reach the variables of their names; arrayLength is the argument’s', () =>
  withGpu(async (space) => {
    const n = 10_001;
    const x = space.array(Float32Array, n);
    const y = space.array(Float32Array, n);
    filled(x.data, (i) => i);
    y.data.fill(1);
    await space.devices[0].run(saxpy, { x, y, alpha: 3 }, { size: n });
    sameData(y.data, (i) => 3 * i + 1);
  }));

test('overrides of a module have the values that a kernel gives them: by name, by number, and for the workgroup size', () =>
  withGpu(async (space) => {
    const module = (constants: Record<string, number | boolean>) => ({
      wgsl: `override wide: u32 = 64; @id(7) override factor: u32; override negate = false;
        @group(0) @binding(0) var<storage, read_write> data: array<u32>;
        @compute @workgroup_size(wide) fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
          if (id.x < arrayLength(&data)) { data[id.x] = select(1u, 1000u, negate) * (factor * id.x + groups.x); }
        }`,
      constants,
    });
    const data = space.array(Uint32Array, 1000);
    const run = async (constants: Record<string, number | boolean>) =>
      space.devices[0].run(
        kernel({ data: u32.out }, module(constants)),
        { data },
        { size: data.length },
      );
    await run({ factor: 3 });
    sameData(data.data, (i) => 3 * i + 16);
    await run({ 7: 5, wide: 128, negate: true });
    sameData(data.data, (i) => 1000 * (5 * i + 8));
    const missing = await failsWith('WGSL', () => run({ wide: 32 }));
    assert.match(missing.message, /WGSL 1:\d+: override factor \(u32\) has no value/);
    await failsWith('WGSL_CONSTANTS', () => run({ factro: 1, factor: 1 }));
  }));

test('a launch tells how long its kernel ran by the clock of the GPU, which is a part of the time that it took', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const data = space.array(Uint32Array, MIB / 4);
    const event = gpu.stream().launch(double, { data }, { size: data.length });
    assert.equal(event.gpuMs, undefined);
    await event.synchronize();
    const ran = event.gpuMs ?? Number.NaN;
    assert.ok(ran > 0 && ran < event.elapsedMs, `${ran} of ${event.elapsedMs} ms`);
    assert.ok((gpu.stats().gpuMs ?? 0) >= ran);
    assert.equal(gpu.stream().prefetch(data).gpuMs, undefined);
  }));

test('what a launch leaves on the GPU is used by the next one where it is', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const data = space.array(Uint32Array, MIB / 4);
    filled(data.data, (i) => i);
    await gpu.run(double, { data }, { size: data.length });
    const before = gpu.stats();
    for (let time = 0; time < 3; time++) await gpu.run(double, { data }, { size: data.length });
    const after = gpu.stats();
    assert.equal(after.bytesIn - before.bytesIn, 0);
    assert.equal(after.bytesOut - before.bytesOut, 0);
    data.data[7] = 100;
    await gpu.run(double, { data }, { size: data.length });
    // The page that the CPU has written, and at most its neighbours, went home and came back.
    assert.ok(
      gpu.stats().bytesIn - after.bytesIn <= MIB / 8,
      `${gpu.stats().bytesIn - after.bytesIn} bytes came in`,
    );
    sameData(data.data, (i) => (i === 7 ? 200 : i * 32));
  }));

test('parts of arrays begin anywhere, and leave what lies beside them alone', () =>
  withGpu(async (space) => {
    const data = space.array(Uint32Array, 40_000);
    filled(data.data, (i) => i);
    // Neither begins where a GPU could bind it: at elements 3 and 20,001.
    await space.devices[0].run(double, { data: data.range(3, 5000) }, { size: 4997 });
    await space.devices[0].run(double, { data: data.range(20_001, 20_003) }, { size: 2 });
    // This one overlaps the piece in which the first lies.
    await space.devices[0].run(double, { data: data.range(4096, 16_384) }, { size: 12_288 });
    sameData(data.data, (i) => {
      const times =
        Number(i >= 3 && i < 5000) +
        Number(i === 20_001 || i === 20_002) +
        Number(i >= 4096 && i < 16_384);
      return i * 2 ** times;
    });
  }));

test('two parts of one array are read and written in one launch', () =>
  withGpu(async (space) => {
    const all = space.array(Float32Array, 8192);
    filled(all.data, (i) => i);
    const [x, y] = [all.range(0, 4096), all.range(4096, 8192)];
    await space.devices[0].run(saxpy, { x, y, alpha: 2 }, { size: 4096 });
    sameData(all.data, (i) => (i < 4096 ? i : i + 2 * (i - 4096)));
  }));

test('members of a uniform structure are numbers by name; begin, end and size are the launch’s', () =>
  withGpu(async (space) => {
    const wgsl = main(
      `struct Numbers { begin: u32, end: u32, factor: f32, size: u32, shift: i32 }
@group(0) @binding(3) var<uniform> numbers: Numbers;
@group(1) @binding(0) var<storage, read_write> out: array<f32>;`,
      `let at = numbers.begin + i;
if (at < numbers.end) { out[at] = f32(i32(at) + numbers.shift) * numbers.factor + f32(numbers.size); }`,
    );
    const scale = kernel({ out: f32.out, factor: f32, shift: i32 }, { wgsl });
    const out = space.array(Float32Array, 3000);
    out.data.fill(5);
    await space.devices[0].run(
      scale,
      { out, factor: 0.5, shift: -4 },
      { size: 3000, begin: 1000, end: 2000 },
    );
    sameData(out.data, (i) => (i >= 1000 && i < 2000 ? (i - 4) * 0.5 + 3000 : 5));
  }));

test('a size in two dimensions is so many invocations in each', () =>
  withGpu(async (space) => {
    const transpose = kernel(
      { source: u32.in, result: u32.out, width: u32, height: u32 },
      {
        wgsl: `
struct Shape { width: u32, height: u32 }
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> result: array<u32>;
@group(0) @binding(2) var<uniform> shape: Shape;
@compute @workgroup_size(8, 4) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < shape.width && id.y < shape.height) { result[id.x * shape.height + id.y] = source[id.y * shape.width + id.x]; }
}`,
      },
    );
    const [width, height] = [37, 53];
    const source = space.array(Uint32Array, width * height);
    const result = space.array(Uint32Array, width * height);
    filled(source.data, (i) => i);
    await space.devices[0].run(
      transpose,
      { source, result, width, height },
      { size: [width, height] },
    );
    sameData(result.data, (i) => (i % height) * width + Math.floor(i / height));
  }));

const fill = kernel(
  { y: u32.inout },
  {
    wgsl: `
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(8, 4) fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = id.y * groups.x * 8u + id.x;
  if (i < arrayLength(&y)) { y[i] = 7u; }
}`,
  },
  { name: 'fill' },
);

test('workgroups are counted where a launch says so, by numbers or by what a kernel before it has written', () =>
  withGpu(async (space) => {
    const plan = kernel(
      { length: u32, counts: u32.inout },
      {
        wgsl: `
@group(0) @binding(0) var<uniform> length: u32;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;
@compute @workgroup_size(1) fn main() { counts[1] = (length + 31u) / 32u; counts[2] = 1u; counts[3] = 1u; }`,
      },
    );
    const [y, counts] = [space.array(Uint32Array, 4096), space.array(Uint32Array, 4)];
    const [device] = space.devices;
    using stream = device.stream();
    stream.launch(plan, { length: 2000, counts }, { size: 1 });
    stream.launch(fill, { y }, { workgroups: counts.range(1, 4) });
    await stream.synchronize();
    sameData(y.data, (i) => (i < 2016 ? 7 : 0));
    await device.run(fill, { y }, { workgroups: [32, 3] });
    sameData(y.data, (i) => (i < 32 * 3 * 32 ? 7 : 0));
    counts.data.set([0, 0, 5]);
    await device.run(fill, { y }, { workgroups: counts.range(0, 3) });
    await device.run(fill, { y }, { workgroups: 128 });
    sameData(y.data, () => 7);
  }));

test('workgroups that are no counts, or have a size beside them, are refused', () =>
  withGpu(async (space) => {
    const y = space.array(Uint32Array, 64);
    const refuses = async (message: RegExp, options: object, code = 'SIZE'): Promise<void> =>
      assert.match(
        (
          await failsWith(code, () =>
            space.devices[0].run(fill, { y }, options as { size: number }),
          )
        ).message,
        message,
      );
    await refuses(/workgroups are -1; they must be a whole number of 0 or more/, {
      workgroups: [1, -1],
    });
    await refuses(/either a size, in work items, or workgroups/, { workgroups: 1, size: 1 });
    await refuses(
      /launch of workgroups runs as a whole/,
      { workgroups: 1, end: 1 },
      'LAUNCH_RANGE',
    );
    await refuses(/size is undefined; it must be/, {});
  }));

test('structures come as bytes, atomics count, workgroups meet at barriers', () =>
  withGpu(async (space) => {
    const wgsl = `
struct Particle { place: vec3<f32>, mass: u32 }
@group(0) @binding(0) var<storage, read> particles: array<Particle>;
@group(0) @binding(1) var<storage, read_write> sum: atomic<u32>;
var<workgroup> part: atomic<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32) {
  if (id.x < arrayLength(&particles)) { atomicAdd(&part, particles[id.x].mass); }
  workgroupBarrier();
  if (local == 0u) { atomicAdd(&sum, atomicLoad(&part)); }
}`;
    const mass = kernel({ particles: bytes.in, sum: u32.out }, { wgsl });
    const particles = space.bytes(16 * 1000);
    const words = new Uint32Array(particles.data.buffer, particles.data.byteOffset, 4000);
    for (let i = 0; i < 1000; i++) words[i * 4 + 3] = i;
    const sum = space.array(Uint32Array, 1);
    await space.devices[0].run(mass, { particles, sum }, { size: 1000 });
    assert.equal(sum.data[0], 499_500);
  }));

longTest('a launch picks the function or the module by its device', async () => {
  await using space = await openSpace({
    devices: [GPU, { kind: 'process', memory: '8MiB', name: 'cpu' }],
  });
  const [gpu, cpu] = space.devices;
  const data = space.array(Uint32Array, 5000);
  filled(data.data, (i) => i);
  await gpu.run(double, { data }, { size: data.length });
  await cpu.run(double, { data }, { size: data.length });
  await gpu.run(double, { data }, { size: data.length });
  sameData(data.data, (i) => i * 8);
  const lone = await failsWith('KERNEL_LANGUAGE', () =>
    cpu.run(saxpy, { x: new Float32Array(4), y: new Float32Array(4), alpha: 1 }, { size: 4 }),
  );
  assert.match(lone.message, /saxpy is in WGSL only, and device cpu \(process\) runs functions/);
  const plain = kernel({ data: u32.inout }, () => undefined, { name: 'plain' });
  const other = await failsWith('KERNEL_LANGUAGE', () => gpu.run(plain, { data }, { size: 1 }));
  assert.match(
    other.message,
    /plain is a function only, and device gpu \(webgpu\) runs modules in WGSL/,
  );
  await gpu.detach();
  sameData(data.data, (i) => i * 8);
  space.checkInvariants();
});

test('a module that does not fit its parameters is refused at the place in its text', async () => {
  const declared = (declaration: string, use = '_ = &x;'): string =>
    main(`\n  ${declaration}`, use);
  const cases: readonly [KernelParameters, string, RegExp][] = [
    [
      { x: u32.inout },
      declared('@group(0) @binding(0) var<storage, read_write> x: array<f32>;'),
      /2:3: x is array<f32>, but parameter x is u32/,
    ],
    [
      { x: f32.inout },
      declared('@group(0) @binding(0) var<storage, read> x: array<f32>;'),
      /2:3: x is var<storage, read>, but .*written/,
    ],
    [
      { x: f32.in },
      declared('@group(0) @binding(0) var<storage, read_write> x: array<f32>;', 'x[i] += 1.0;'),
      /2:3: the module writes x, but parameter x is only read \(in\)/,
    ],
    [
      {},
      declared('@group(0) @binding(0) var<storage, read> x: array<f32>;'),
      /2:3: storage variable x is no parameter/,
    ],
    [
      { x: u32 },
      declared('@group(0) @binding(0) var<uniform> x: vec4<f32>;', '_ = x;'),
      /2:3: uniform x is vec4<f32>/,
    ],
    [
      { x: f32 },
      declared('@group(0) @binding(0) var<uniform> x: u32;', '_ = x;'),
      /2:3: uniform x is u32, and x is f32/,
    ],
    [
      { x: f32.in, n: u32 },
      declared('@group(0) @binding(0) var<storage, read> x: array<f32>;'),
      /uses no variable for n/,
    ],
  ];
  for (const [parameters, wgsl, message] of cases) {
    const error = await failsWith('WGSL_BINDING', () => kernel(parameters, { wgsl }));
    assert.match(error.message, message);
  }
  const syntax = await failsWith('WGSL', () => kernel({}, { wgsl: 'fn main() {\n  let = 3;\n}' }));
  assert.match(syntax.message, /WGSL 2:\d+/);
});

test('what this GPU cannot run fails by name, and the device goes on', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const data = space.array(Uint32Array, 1000);
    data.data.fill(1);
    const one = main(
      '@group(0) @binding(0) var<storage, read_write> data: array<u32>;',
      'data[i] = 1u;',
      1,
    );
    const many = await failsWith('DEVICE_LIMIT', () =>
      gpu.run(
        kernel({ data: u32.inout }, { wgsl: one }),
        { data },
        { size: 70_000, way: 'direct' },
      ),
    );
    assert.match(
      many.message,
      /^kernel \S+: the launch has 70000 workgroups in dimension x, and this GPU runs at most 65535.*not to be cut/,
    );
    const wraps = await failsWith('DEVICE_LIMIT', () =>
      gpu.run(double, { data }, { size: 2 ** 32 + 1 }),
    );
    assert.match(
      wraps.message,
      /: the launch has 4294967\d+ invocations in dimension x, and WGSL counts them by u32/,
    );
    const wrong = main(
      '@group(0) @binding(0) var<storage, read_write> data: array<u32>;',
      'data[i] = 1.5;',
    );
    const typed = await failsWith('KERNEL_ERROR', () =>
      gpu.run(kernel({ data: u32.inout }, { wgsl: wrong }), { data }, { size: 1000 }),
    );
    assert.match(typed.message, /WGSL, line 3:/);
    const part = await failsWith('LAUNCH_RANGE', () =>
      gpu.run(double, { data }, { size: 1000, begin: 10 }),
    );
    assert.match(part.message, /begin: u32/);
    await gpu.run(double, { data }, { size: 1000 });
    sameData(data.data, () => 2);
  }));

test('a variable at a group or binding that the GPU does not have, however large its number, is refused by name, and the device goes on', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const data = space.array(Uint32Array, 1000);
    data.data.fill(1);
    const at = async (place: string) => {
      const wgsl = main(`${place} var<storage, read_write> data: array<u32>;`, 'data[i] = 3u;');
      const run = () =>
        gpu.run(kernel({ data: u32.inout }, { wgsl }, { name: 'k' }), { data }, { size: 1000 });
      return (await failsWith('DEVICE_LIMIT', run)).message;
    };
    for (const group of [100, 4_294_967_295])
      assert.match(
        await at(`@group(${group}) @binding(0)`),
        new RegExp(
          `^kernel k: the variable of data is at @group\\(${group}\\), and this GPU has .*\\(maxBindGroups\\); give it a lower`,
        ),
      );
    assert.match(
      await at('@group(0) @binding(70000)'),
      /at @binding\(70000\), .*\(maxBindingsPerBindGroup\)/,
    );
    await gpu.run(double, { data }, { size: 1000 });
    sameData(data.data, () => 2);
  }));

const add = kernel(
  { data: u32.inout, other: u32.in },
  {
    wgsl: main(
      `@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read> other: array<u32>;`,
      'if (i < arrayLength(&other)) { data[i] += other[i]; }',
    ),
  },
);

test('a launch is cut that needs more than the device’s memory', () =>
  withGpu(async (space) => {
    const data = space.array(Uint32Array, (14 * MIB) / 4);
    const other = space.array(Uint32Array, (4 * MIB) / 4);
    other.data.fill(2);
    await space.devices[0].run(add, { data, other }, { size: other.length });
    sameData(data.data, (i) => (i < other.length ? 2 : 0));
  }));

test('arrays that together are larger than the device take turns, and come home whole', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const length = (6 * MIB) / 4;
    const arrays = Array.from({ length: 4 }, () => space.array(Uint32Array, length));
    for (const [index, { data }] of arrays.entries()) data.fill(index + 1);
    for (let round = 0; round < 2; round++) {
      for (const data of arrays) await gpu.run(double, { data }, { size: length });
    }
    for (const [index, { data }] of arrays.entries()) sameData(data, () => (index + 1) * 4);
    assert.ok(gpu.stats().peakBytes <= 16 * MIB);
  }));

longTest('a lost GPU loses what it had alone, and says so; the space goes on', async () => {
  for (const end of ['kill -9', 'kill()'] as const) {
    await using space = await openSpace({ devices: [GPU] });
    const [gpu] = space.devices;
    const kept = space.array(Uint32Array, 4096);
    const lost = space.array(Uint32Array, 4096);
    filled(kept.data, (i) => i);
    await gpu.run(double, { data: lost }, { size: 4096 });
    const stream = gpu.stream();
    for (let time = 0; time < 20; time++) stream.launch(double, { data: lost }, { size: 4096 });
    if (end === 'kill()') gpu.kill();
    else process.kill(gpu.pid as number, 'SIGKILL');
    await failsWith('DEVICE_LOST', () => stream.synchronize());
    await failsWith('DEVICE_LOST', () => gpu.run(double, { data: kept }, { size: 4096 }));
    sameData(kept.data, (i) => i);
    await gpu.restart();
    await gpu.run(double, { data: kept }, { size: 4096 });
    sameData(kept.data, (i) => 2 * i);
    space.checkInvariants();
  }
});

/** As a compiler writes it; the second variable has the first parameter's name. */
const generated = (index: string) => ({
  wgsl: `struct v_9 { v_10: u32, v_11: u32 }
@group(0) @binding(0) var<storage, read> v_0: array<u32>;
@group(0) @binding(3) var<storage, read> table: array<u32>;
@group(1) @binding(0) var<storage, read_write> v_2: array<u32>;
@group(1) @binding(1) var<uniform> v_3: v_9;
@compute @workgroup_size(64) fn v_12(@builtin(global_invocation_id) v_13: vec3u) {
  let i = v_13.x;
  if (i < v_3.v_10) { v_2[i] = v_0[${index}] + v_3.v_11; }
}`,
  groups: [{ 0: 'table', 3: 'ids' }, ['rows', 'sizes']],
});
const generatedParameters = { table: u32.in, ids: u32.in, rows: u32.out, sizes: uniform };

longTest(
  'arrays and values by group and binding reach the module in each way that a launch runs',
  () =>
    withGpu(async (space) => {
      const [gpu] = space.devices;
      for (const [mib, index, counter] of [
        [1, 'i + 0u * table[i]', 'launches'],
        [8, 'i + 0u * table[i]', 'windowedLaunches'],
        [32, 'table[i] * 1024u', 'pagedLaunches'],
      ] as const) {
        const run = kernel(generatedParameters, generated(index));
        const length = counter === 'pagedLaunches' ? 8192 : (mib * MIB) / 4;
        const table = space.array(Uint32Array, (mib * MIB) / 4);
        const [ids, rows] = [0, 1].map(() => space.array(Uint32Array, length));
        filled(table.data, (i) => i);
        filled(ids.data, (i) => (i * 5) % 8192);
        const before = gpu.stats()[counter];
        const args = { table, ids, rows, sizes: { v_10: length, v_11: 7 } };
        await gpu.run(run, args, { size: length });
        assert.equal(gpu.stats()[counter], before + 1);
        sameData(rows.data, (i) => 7 + (counter === 'pagedLaunches' ? ((i * 5) % 8192) * 1024 : i));
      }
    }),
);

await runTests();
