/**
 * Launches that a GPU has no room for, cut into parts: results as of one piece, what cannot be cut,
 * and ends between two parts.
 */
import assert from 'node:assert/strict';
import { type AddressSpace, f32, kernel, openSpace, u32 } from '../../src/index.js';
import { gpuWith, inSpaceWith, saxpy } from '../harness/gpu.js';
import { failsWith, filled, longTest, runTests, sameData, sleep, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const withGpu = inSpaceWith(gpuWith('8MiB'));

/** How many parts the launches of an action were cut into. */
async function partsOf(space: AddressSpace, action: () => Promise<unknown>): Promise<number> {
  const before = space.devices[0].stats().launchParts;
  await action();
  return space.devices[0].stats().launchParts - before;
}

const doubleBy = (workgroup: number) =>
  kernel(
    { data: u32.inout },
    {
      wgsl: `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(${workgroup}) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&data)) { data[id.x] *= 2u; }
}`,
    },
    { name: 'double' },
  );
const double = doubleBy(256);

test('saxpy over four times the device, whose arguments begin anywhere, leaves what lies beside them', () =>
  withGpu(async (space) => {
    const length = (16 * MIB) / 4;
    const [x, y] = [space.array(Float32Array, length), space.array(Float32Array, length)];
    filled(x.data, (i) => i % 1000);
    y.data.fill(1);
    const [from, to] = [3, length - 5];
    const run = () =>
      space.devices[0].run(
        saxpy,
        { x: x.range(from, to), y: y.range(from, to), alpha: 2 },
        { size: to - from },
      );
    assert.ok((await partsOf(space, run)) >= 4);
    sameData(y.data, (i) => (i >= from && i < to ? 2 * (i % 1000) + 1 : 1));
    assert.ok(space.devices[0].stats().peakBytes <= 8 * MIB);
  }));

const count = kernel(
  { bins: u32.inout, shape: u32.in },
  {
    wgsl: `
struct Bins { sum: atomic<u32>, by: u32, items: array<u32> }
struct Shape { size: vec2u, steps: array<u32> }
@group(0) @binding(0) var<storage, read_write> bins: Bins;
@group(0) @binding(1) var<storage, read> shape: Shape;
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= shape.size.x) { return; }
  atomicAdd(&bins.sum, bins.items[id.x]);
  bins.items[id.x] += bins.by + shape.steps[id.x];
}`,
  },
  { name: 'count' },
);

longTest(
  'arrays that end structures are cut, wherever they begin, and every part has what stands before them',
  async () => {
    await using space = await openSpace({ devices: [gpuWith('12MiB')] });
    const length = (10 * MIB) / 4;
    const [all, shape] = [
      space.array(Uint32Array, length + 4),
      space.array(Uint32Array, length + 2),
    ];
    for (const from of [0, 1]) {
      const bins = all.range(from, from + length + 2);
      filled(all.data, (i) => (i < from + 2 ? 5 : i % 7));
      filled(shape.data, (i) => (i === 0 ? length - 100 : i % 3));
      const run = () => space.devices[0].run(count, { bins, shape }, { size: length });
      assert.ok((await partsOf(space, run)) >= 3);
      let sum = 5;
      for (let i = 0; i < length - 100; i++) sum += (i + 2 + from) % 7;
      sameData(all.data, (i) => {
        if (i === from) return sum;
        const isIn = i >= from + 2 && i < from + 2 + length - 100;
        return (i < from + 2 ? 5 : i % 7) + (isIn ? 5 + ((i - from) % 3) : 0);
      });
    }
  },
);

/** Rows of a matrix to rows of heads, as attention has it: to be cut along both. */
const split = kernel(
  { x: u32.in, y: u32.inout, rows: u32, columns: u32 },
  {
    wgsl: `
struct Shape { rows: u32, columns: u32 }
@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= shape.columns || id.y >= shape.rows) { return; }
  y[(id.x / 64u) * 64u * shape.rows + id.y * 64u + id.x % 64u] = x[id.y * shape.columns + id.x];
}`,
  },
  { name: 'split' },
);

longTest('pages are served while it is found out how to cut a launch', () =>
  withGpu(async (space) => {
    const [rows, columns] = [32_768, 8192];
    const [x, y] = [0, 1].map(() => space.array(Uint32Array, rows * columns));
    const other = space.array(Uint8Array, 64 * MIB);
    let isOver = false;
    const launched = failsWith('DEVICE_MEMORY', () =>
      space.devices[0].run(
        split,
        { x, y, rows, columns },
        { size: [columns, rows], way: 'windowed' },
      ),
    ).finally(() => {
      isOver = true;
    });
    let touches = 0;
    for (; !isOver; touches++) {
      other.data[(touches * 2 * MIB) % other.length] = 1;
      await sleep(1);
    }
    assert.match((await launched).message, /more than 4096 parts|it takes too long/);
    assert.ok(touches >= 20, `${touches} touches`);
  }),
);

test('a launch whose size stands in an array is cut by what it is then', () =>
  withGpu(async (space) => {
    const length = (16 * MIB) / 4;
    const data = space.array(Uint32Array, length);
    filled(data.data, (i) => i);
    const sizes = space.array(Uint32Array, 1);
    sizes.data[0] = length;
    assert.ok(
      (await partsOf(space, () => space.devices[0].run(double, { data }, { size: sizes }))) >= 2,
    );
    sameData(data.data, (i) => 2 * i);
  }));

test('more workgroups than a dispatch may have are of several, though all fits', () =>
  withGpu(async (space) => {
    const length = 70_000;
    const data = space.array(Uint32Array, length);
    filled(data.data, (i) => i);
    const run = () => space.devices[0].run(doubleBy(1), { data }, { size: length });
    assert.equal(await partsOf(space, run), 2);
    sameData(data.data, (i) => 2 * i);
  }));

test('parts are counted by what constants come to: the size of a workgroup, and what an index is made of', () =>
  withGpu(async (space) => {
    const shifted = kernel(
      { x: u32.in, y: u32.out },
      {
        wgsl: `override wide: u32; override shift: u32 = 0;
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(wide) fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) local: u32) {
  let i = group.x * wide + local;
  if (i + shift < arrayLength(&x)) { y[i] = x[i + shift]; }
}`,
        constants: { wide: 128, shift: 1000 },
      },
    );
    const length = (8 * MIB) / 4;
    const [x, y] = [space.array(Uint32Array, length), space.array(Uint32Array, length)];
    filled(x.data, (i) => i ^ 0x55);
    assert.ok(
      (await partsOf(space, () => space.devices[0].run(shifted, { x, y }, { size: length }))) >= 2,
    );
    sameData(y.data, (i) => (i + 1000 < length ? (i + 1000) ^ 0x55 : 0));
  }));

test('what fits runs as it is, in one piece', () =>
  withGpu(async (space) => {
    const data = space.array(Uint32Array, (8 * MIB) / 4);
    data.data.fill(3);
    assert.equal(
      await partsOf(space, () => space.devices[0].run(double, { data }, { size: data.length })),
      0,
    );
    sameData(data.data, () => 6);
  }));

test('an array is changed in place, by more workgroups than the GPU runs in a dimension', () =>
  withGpu(async (space) => {
    const data = space.array(Uint32Array, (12 * MIB) / 4);
    filled(data.data, (i) => i);
    // 393,216 workgroups, of which the GPU runs 65,535 at once.
    const run = () => space.devices[0].run(doubleBy(8), { data }, { size: data.length });
    assert.ok((await partsOf(space, run)) >= 7);
    sameData(data.data, (i) => i * 2);
  }));

test('neighbours of an element are read beyond the edges of a part; `out` is zero where nothing is written', () =>
  withGpu(async (space) => {
    const blur = kernel(
      { old: u32.in, next: u32.out },
      {
        wgsl: `
@group(0) @binding(0) var<storage, read> old: array<u32>;
@group(0) @binding(1) var<storage, read_write> next: array<u32>;
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  if (i > 0u && i + 1u < arrayLength(&old)) { next[i] = old[i - 1u] + old[i] + old[i + 1u]; }
}`,
      },
    );
    const length = (16 * MIB) / 4;
    const [old, next] = [space.array(Uint32Array, length), space.array(Uint32Array, length)];
    filled(old.data, (i) => i % 777);
    next.data.fill(9);
    const before = space.devices[0].stats().bytesIn;
    assert.ok(
      (await partsOf(space, () => space.devices[0].run(blur, { old, next }, { size: length }))) >=
        4,
    );
    // What is written from zeros does not come in.
    assert.ok(space.devices[0].stats().bytesIn - before < 24 * MIB);
    const at = (i: number): number => i % 777;
    sameData(next.data, (i) => (i === 0 || i === length - 1 ? 0 : at(i - 1) + at(i) + at(i + 1)));
  }));

test('a table that all parts need stays on the GPU, in a launch of two dimensions', () =>
  withGpu(async (space) => {
    const shade = kernel(
      { picture: u32.inout, table: u32.in, width: u32, height: u32 },
      {
        wgsl: `
struct Shape { width: u32, height: u32 }
@group(0) @binding(0) var<storage, read_write> picture: array<u32>;
@group(0) @binding(1) var<storage, read> table: array<u32>;
@group(0) @binding(2) var<uniform> shape: Shape;
@compute @workgroup_size(16, 16) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= shape.width || id.y >= shape.height) { return; }
  let i = id.y * shape.width + id.x;
  picture[i] = table[picture[i] % arrayLength(&table)] + id.y;
}`,
      },
    );
    const [width, height] = [2000, 1500];
    const picture = space.array(Uint32Array, width * height);
    const table = space.array(Uint32Array, MIB / 4);
    filled(picture.data, (i) => i * 5);
    filled(table.data, (i) => i ^ 3);
    const before = space.devices[0].stats().bytesIn;
    const run = () =>
      space.devices[0].run(shade, { picture, table, width, height }, { size: [width, height] });
    assert.ok((await partsOf(space, run)) >= 2);
    assert.ok(space.devices[0].stats().bytesIn - before < width * height * 4 * 1.5 + 2 * MIB);
    sameData(picture.data, (i) => (((i * 5) % (MIB / 4)) ^ 3) + Math.floor(i / width));
  }));

test('a launch begins with what the same one before it has left on the GPU', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const [x, y] = [space.array(Float32Array, 2.5 * MIB), space.array(Float32Array, 16)];
    filled(x.data, (i) => i % 100);
    const most = kernel(
      { x: f32.in, y: f32.out },
      {
        wgsl: `
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (x[id.x] == 99.0) { y[id.x % 16u] = 99.0; }
}`,
      },
    );
    const moved: number[] = [];
    for (let round = 0; round < 3; round++) {
      const before = gpu.stats().bytesIn;
      assert.ok((await partsOf(space, () => gpu.run(most, { x, y }, { size: x.length }))) >= 2);
      moved.push(gpu.stats().bytesIn - before);
    }
    // Of 10 MiB, 6 or more stay.
    assert.ok(moved[0] >= 10 * MIB && moved[1] <= 4 * MIB && moved[2] <= 4 * MIB, `${moved}`);
    sameData(y.data, (i) => (i % 4 === 3 ? 99 : 0));
  }));

test('workgroups add to one sum', () =>
  withGpu(async (space) => {
    const total = kernel(
      { data: u32.in, sum: u32.out },
      {
        wgsl: `
@group(0) @binding(0) var<storage, read> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> sum: atomic<u32>;
var<workgroup> own: atomic<u32>;
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) local: u32) {
  if (id.x < arrayLength(&data)) { atomicAdd(&own, data[id.x]); }
  workgroupBarrier();
  if (local == 0u) { atomicAdd(&sum, atomicLoad(&own)); }
}`,
      },
    );
    const data = space.array(Uint32Array, (9 * MIB) / 4);
    const sum = space.array(Uint32Array, 1);
    sum.data[0] = 7;
    data.data.fill(3);
    assert.ok(
      (await partsOf(space, () =>
        space.devices[0].run(total, { data, sum }, { size: data.length }),
      )) >= 2,
    );
    assert.equal(sum.data[0], 3 * data.length);
  }));

test('what cannot be cut is refused with the place in the module, and nothing has changed', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const scatter = kernel(
      { order: u32.in, data: u32.out },
      {
        wgsl: `
@group(0) @binding(0) var<storage, read> order: array<u32>;
@group(0) @binding(1) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3u) {
  textureBarrier(); data[order[id.x]] = id.x;
}`,
      },
      { name: 'scatter' },
    );
    const length = (9 * MIB) / 4;
    const [order, data] = [space.array(Uint32Array, length), space.array(Uint32Array, length)];
    filled(data.data, (i) => i);
    const error: Error & { details?: unknown } = await failsWith('DEVICE_MEMORY', () =>
      gpu.run(scatter, { order, data }, { size: length }),
    );
    assert.match(
      error.message,
      /kernel scatter.*8388608 bytes.*WGSL 5:\d+: .*'data'.*give the device more memory/,
    );
    assert.deepEqual(error.details, {
      requestedBytes: 18 * MIB,
      budgetBytes: 8 * MIB,
      node: 'gpu',
    });
    sameData(data.data, (i) => i);
  }));

test('what is told to go a way that it cannot go may leave that out, and needs no more memory where it fits', () =>
  withGpu(async (space) => {
    const first = kernel(
      { data: u32.inout },
      {
        wgsl: `@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { textureBarrier(); data[id.x] = 1u; }`,
      },
    );
    const run = (length: number, way: 'direct' | 'paged') => {
      const data = space.array(Uint32Array, length);
      return failsWith('DEVICE_MEMORY', () =>
        space.devices[0].run(first, { data }, { size: length, way }),
      );
    };
    assert.match(
      (await run(MIB, 'paged')).message,
      /it is to run paged, and its arrays cannot be paged: .*; leave out way$/,
    );
    assert.match(
      (await run(4 * MIB, 'direct')).message,
      /it is not to be cut; leave out way, or give the device more memory, or launch it over smaller arrays$/,
    );
  }));

test('a kernel with so many uniform variables that parts have none left is refused by their number, and runs where it fits', () =>
  withGpu(async (space) => {
    const [gpu] = space.devices;
    const withUniforms = (count: number) => {
      const names = Array.from({ length: count }, (_, index) => `u${index}`);
      const declared = names.map(
        (name, index) => `@group(0) @binding(${index + 1}) var<uniform> ${name}: u32;`,
      );
      const wgsl = `@group(0) @binding(0) var<storage, read_write> data: array<u32>;\n${declared.join('\n')}
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&data)) { data[id.x] = ${names.join(' + ')}; }
}`;
      const numbers = Object.fromEntries(names.map((name) => [name, u32]));
      const given = Object.fromEntries(names.map((name) => [name, 2]));
      return { fill: kernel({ data: u32.inout, ...numbers }, { wgsl }), given };
    };
    const data = space.array(Uint32Array, 1001);
    const run = (count: number, way?: 'windowed' | 'paged') => {
      const { fill, given } = withUniforms(count);
      return gpu.run(fill, { ...given, data }, { size: data.length, way });
    };
    // How many there may be is the GPU's to say.
    const { message } = await failsWith('DEVICE_LIMIT', () => run(200));
    const most = Number(
      /it has 200 uniform variables, .* at most (\d+) at once/.exec(message)?.[1],
    );
    await run(most);
    sameData(data.data, () => 2 * most);
    for (const way of ['windowed', 'paged'] as const) {
      const refused = await failsWith('DEVICE_MEMORY', () => run(most, way));
      assert.match(
        refused.message,
        /beside the one that parts need \(maxUniform.*one structure; leave out way$/,
      );
    }
    await run(most - 1, 'windowed');
    sameData(data.data, () => 2 * (most - 1));
  }));

test('a mistake that the compiler finds is told by the lines and columns of the kernel’s own text, whichever way it runs', () =>
  withGpu(async (space) => {
    const wgsl = `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { data[id.x] = data[id.x] * 1.5; }`;
    const wrong = kernel({ data: u32.inout }, { wgsl });
    const data = space.array(Uint32Array, MIB / 4);
    const { message } = await failsWith('KERNEL_ERROR', () =>
      space.devices[0].run(wrong, { data }, { size: 64 }),
    );
    assert.match(
      message,
      new RegExp(
        `^kernel wrong failed: WGSL, line 3:${wgsl.split('\n')[2].indexOf('data[id.x] *') + 1}: `,
      ),
    );
    for (const way of ['direct', 'windowed', 'paged'] as const) {
      const run = () => space.devices[0].run(wrong, { data }, { size: data.length, way });
      assert.equal((await failsWith('KERNEL_ERROR', run)).message, message, way);
    }
    // What only the values of constants make wrong.
    const shifts = kernel(
      { data: u32.inout },
      { wgsl: `override bits: u32;${wgsl.replace('* 1.5', '<< bits')}`, constants: { bits: 50 } },
    );
    for (const way of ['direct', 'windowed', 'paged'] as const) {
      const run = () => space.devices[0].run(shifts, { data }, { size: data.length, way });
      assert.match(
        (await failsWith('KERNEL_ERROR', run)).message,
        /:3:95 error: .*shift left/,
        way,
      );
    }
  }));

test('an index that is no whole number is refused by the compiler, in the same words, whichever way a launch runs', () =>
  withGpu(async (space) => {
    const refused = async (value: string, store: string): Promise<void> => {
      const wgsl = `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
fn half(x: u32) -> f32 { return f32(x) * 0.5; }
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  let at = ${value};
  ${store}
}`;
      const wrong = kernel({ data: u32.inout }, { wgsl }, { name: 'wrong' });
      const data = space.array(Uint32Array, MIB / 4);
      const messages: string[] = [];
      for (const way of ['direct', 'windowed', 'paged'] as const) {
        const run = () => space.devices[0].run(wrong, { data }, { size: data.length, way });
        messages.push((await failsWith('KERNEL_ERROR', run)).message);
      }
      const [direct, ...others] = messages;
      assert.match(
        direct,
        /^kernel wrong failed: WGSL, line 6:\d+: index must be of type 'i32' or 'u32'/,
      );
      assert.deepEqual(others, [direct, direct]);
    };
    await refused('f32(id.x)', 'data[at] = 1;');
    await refused('half(id.x)', 'data[id.x] = data[u32(at)] + data[at * 2];');
    await refused('id.x > 5', 'data[at] += 1;');
    // Where the kernel reads what it writes, a paged store has its index before.
    await refused('data[id.x]', 'data[half(at)] = 1;');
  }));

test('an array that is reversed in place says that its ends lie apart, and is cut where these are two arguments', () =>
  withGpu(async (space) => {
    const reverse = kernel(
      { data: u32.inout },
      {
        wgsl: `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x; let last = arrayLength(&data) - 1u;
  if (i <= last / 2u) { let kept = data[i]; data[i] = data[last - i]; data[last - i] = kept; }
}`,
      },
    );
    const halves = kernel(
      { low: u32.inout, high: u32.inout },
      {
        wgsl: `
@group(0) @binding(0) var<storage, read_write> low: array<u32>;
@group(0) @binding(1) var<storage, read_write> high: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x; let last = arrayLength(&high) - 1u;
  if (i <= last) { let kept = low[i]; low[i] = high[last - i]; high[last - i] = kept; }
}`,
      },
    );
    const data = space.array(Uint32Array, (12 * MIB) / 4);
    filled(data.data, (i) => i);
    const half = data.length / 2;
    const error = await failsWith('DEVICE_MEMORY', () =>
      space.devices[0].run(reverse, { data }, { size: half }),
    );
    assert.match(
      error.message,
      /WGSL 5:\d+: a single workgroup may touch elements 0 to 63 of 'data' here and 3145664 to 3145727 at 5:\d+/,
    );
    const [low, high] = [data.range(0, half), data.range(half, data.length)];
    assert.ok(
      (await partsOf(space, () => space.devices[0].run(halves, { low, high }, { size: half }))) >=
        2,
    );
    sameData(data.data, (i) => data.length - 1 - i);
  }));

/**
 * The parts of a launch over so much take far longer than to end it: nothing of it is there before.
 */
const GIB = 2 ** 30;
const SLOW = { devices: [{ kind: 'webgpu', memory: '4MiB', name: 'gpu' }] } as const;

/** Begins a launch of many parts, and resolves when some of them have run. */
async function begun(
  space: AddressSpace,
  signal?: AbortSignal,
): Promise<{ ended: Promise<unknown> }> {
  const [gpu] = space.devices;
  const data = space.array(Uint32Array, GIB / 4);
  const ended = gpu.run(
    double,
    { data },
    { size: data.length, ...(signal === undefined ? {} : { signal }) },
  );
  await untilPart(space, 1, ended);
  return { ended };
}

/** A launch that fails before says so. */
async function untilPart(
  space: AddressSpace,
  count: number,
  ended: Promise<unknown>,
): Promise<void> {
  let over = false;
  const end = () => {
    over = true;
  };
  ended.then(end, end);
  while (!over && space.devices[0].stats().launchParts < count) await sleep(1);
  if (over) await ended;
}

longTest(
  'a GPU that ends between two parts is lost; the launch says so, and the next one runs',
  async () => {
    await using space = await openSpace(SLOW);
    const [gpu] = space.devices;
    const { ended } = await begun(space);
    process.kill(gpu.pid as number, 'SIGKILL');
    await failsWith('DEVICE_LOST', () => ended);
    await gpu.restart();
    const data = space.array(Uint32Array, MIB);
    data.data.fill(1);
    await gpu.run(double, { data }, { size: data.length });
    sameData(data.data, () => 2);
    space.checkInvariants();
  },
);

longTest(
  'no GPU takes a time limit, whose error names the signal that ends a launch between two parts',
  async () => {
    await using space = await openSpace(SLOW);
    const [gpu] = space.devices;
    const data = space.array(Uint32Array, 4);
    const refused = await failsWith('NO_CANCELLATION', () =>
      gpu.run(double, { data }, { size: data.length, timeoutMs: 10 }),
    );
    assert.match(
      refused.message,
      /cannot end a kernel that runs; leave out timeoutMs, .*signal: AbortSignal\.timeout\(ms\) ends a launch/,
    );
    const abort = new AbortController();
    const { ended } = await begun(space, abort.signal);
    abort.abort(new DOMException('aborted due to timeout', 'TimeoutError'));
    assert.match((await failsWith('ABORTED', () => ended)).message, /aborted due to timeout/);
    assert.ok(gpu.stats().launchParts < GIB / (4 * MIB));
  },
);

longTest(
  'a signal ends a launch between two parts, and a device that is detached runs the rest',
  async () => {
    await using space = await openSpace(SLOW);
    const [gpu] = space.devices;
    const abort = new AbortController();
    const { ended } = await begun(space, abort.signal);
    abort.abort();
    await failsWith('ABORTED', () => ended);
    assert.ok(gpu.stats().launchParts < GIB / (4 * MIB));
    const data = space.array(Uint32Array, (32 * MIB) / 4);
    data.data.fill(1);
    const before = gpu.stats().launchParts;
    const whole = gpu.run(double, { data }, { size: data.length });
    await untilPart(space, before + 1, whole);
    await gpu.detach();
    await whole;
    sameData(data.data, () => 2);
    space.checkInvariants();
  },
);

await runTests();
