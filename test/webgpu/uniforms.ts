/**
 * Uniform variables of every shape, as modules of others have them, and what is declared to be
 * written and is not.
 */
import assert from 'node:assert/strict';
import { d } from 'typegpu';
import {
  bytes,
  f32,
  kernel,
  mat2x2f,
  struct,
  u32,
  uniform,
  vec2f,
  vec2u,
} from '../../src/index.js';
import { gpuWith, inSpaceWith } from '../harness/gpu.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, filled, longTest, runTests, sameData, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const withGpu = inSpaceWith(gpuWith('4MiB'));

const SCALE = `
struct Grid { size: vec2u, _pad: vec2u }
struct Params { grid: Grid, m: mat2x2f, shift: vec2f, scale: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(16, 16) fn main(@builtin(global_invocation_id) id: vec3u) {
  let p = params;
  if (id.x >= p.grid.size.x || id.y >= params.grid.size.y) { return; }
  let i = id.y * p.grid.size.x + id.x;
  y[i] = params.scale * x[i] + (params.m * vec2f(1.0, 2.0)).y + params.shift.x;
}`;
const VALUE = { grid: { size: [2048, 1024] }, m: [1, 10, 2, 20], shift: [0.5, 0], scale: 3 };
const LAYOUT = new ArrayBuffer(48);
new Uint32Array(LAYOUT).set([2048, 1024]);
new Float32Array(LAYOUT, 16).set([1, 10, 2, 20, 0.5, 0, 3, 0]);

const SCHEMA = d.struct({
  grid: d.struct({ size: d.vec2u, _pad: d.vec2u }),
  m: d.mat2x2f,
  shift: d.vec2f,
  scale: d.f32,
});

const FORMS = [
  [
    'a structure',
    { params: struct({ grid: struct({ size: vec2u }), m: mat2x2f, shift: vec2f, scale: f32 }) },
    { params: VALUE },
  ],
  ['what the module says', { params: uniform }, { params: VALUE }],
  ['bytes', { params: bytes.uniform }, { params: LAYOUT }],
  [
    'members',
    { 'params.grid.size': vec2u, m: mat2x2f, shift: uniform, scale: f32 },
    {
      'params.grid.size': Uint32Array.of(2048, 1024),
      m: new Float32Array([1, 10, 2, 20]),
      shift: [0.5, 0],
      scale: 3,
    },
  ],
  [
    'a schema of TypeGPU',
    { params: SCHEMA },
    { params: { ...VALUE, grid: { size: d.vec2u(2048, 1024), _pad: [0, 0] } } },
  ],
] as const;

longTest(
  'the same numbers reach a uniform structure in every form, and a launch with them is cut into windows',
  () =>
    withGpu(async (space) => {
      const [device] = space.devices;
      const [x, y] = [
        space.array(Float32Array, 2048 * 1024),
        space.array(Float32Array, 2048 * 1024),
      ];
      filled(x.data, (i) => i % 100);
      for (const [name, form, args] of FORMS) {
        const scale = kernel({ x: f32.in, y: f32.out, ...form }, { wgsl: SCALE }, { name });
        const before = device.stats();
        await device.run(scale as never, { x, y, ...args } as never, { size: [2048, 1024] });
        const after = device.stats();
        assert.deepEqual(
          [
            after.windowedLaunches - before.windowedLaunches,
            after.pagedLaunches - before.pagedLaunches,
          ],
          [1, 0],
        );
        sameData(y.data, (i) => 3 * (i % 100) + 50.5);
      }
    }),
);

const VIEWS = `
struct View { stride: u32, offset: u32 }
@group(0) @binding(0) var<uniform> source: View;
@group(0) @binding(1) var<uniform> goal: View;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&y) / 2u) { y[goal.offset + id.x * goal.stride] = x[source.offset + id.x * source.stride]; }
}
@compute @workgroup_size(64) fn clear(@builtin(global_invocation_id) id: vec3u) {
  if (id.x * goal.stride < arrayLength(&y)) { y[id.x * goal.stride] = 0.0; }
}`;

test('two variables of one type have numbers of their own, and an entry point takes what it uses of them', () =>
  withGpu(async (space) => {
    const [x, y] = [space.array(Float32Array, 300), space.array(Float32Array, 200)];
    filled(x.data, (i) => i);
    const view = struct({ stride: u32, offset: u32 });
    const parameters = {
      x: f32.in,
      y: f32.inout,
      source: view,
      'goal.stride': u32,
      'goal.offset': u32,
    };
    const args = { x, y, source: { stride: 3, offset: 1 }, 'goal.stride': 2, 'goal.offset': 1 };
    const copy = kernel(parameters, { wgsl: VIEWS, entryPoint: 'main' });
    await space.devices[0].run(copy, args, { size: 100 });
    sameData(y.data, (i) => (i % 2 === 1 ? 3 * ((i - 1) / 2) + 1 : 0));
    y.data.fill(7);
    await space.devices[0].run(kernel(parameters, { wgsl: VIEWS, entryPoint: 'clear' }), args, {
      size: 100,
    });
    sameData(y.data, (i) => (i % 2 === 0 ? 0 : 7));
    const { x: _, ...without } = args;
    const missing = await failsWith('KERNEL_ARGUMENT', () =>
      space.devices[0].run(copy, without as typeof args, { size: 1 }),
    );
    assert.match(missing.message, /parameter x: no argument was given/);
  }));

const sum = (access: string) => `
@group(0) @binding(0) var<storage, ${access}> x: array<f32>;
@group(0) @binding(1) var<storage, ${access}> z: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { y[id.x] = 2.0 * x[id.x] + z[id.x]; }`;

test('an array that is declared to be written, and is not, stays on both sides; it may be given twice', async () => {
  await using space = await sharedSpace({ devices: [gpuWith('32MiB')] });
  const [device] = space.devices;
  const [x, y] = [space.array(Float32Array, MIB), space.array(Float32Array, 1024)];
  filled(x.data, (i) => i);
  for (const use of ['in', 'inout'] as const) {
    const add = kernel({ x: f32[use], z: f32.in, y: f32.out }, { wgsl: sum('read_write') });
    const before = device.stats();
    for (let time = 0; time < 3; time++) {
      await device.run(add, { x, z: x, y }, { size: y.length });
      sameData(x.data, (i) => i);
      sameData(y.data, (i) => 3 * i);
    }
    const after = device.stats();
    assert.ok(
      after.bytesIn - before.bytesIn <= 4 * MIB,
      `${after.bytesIn - before.bytesIn} bytes came in`,
    );
    assert.ok(
      after.bytesOut - before.bytesOut <= 0.1 * MIB,
      `${after.bytesOut - before.bytesOut} bytes went home`,
    );
  }
});

test('a function gets plain values where the module gets bytes', async () => {
  await using space = await sharedSpace({
    devices: [gpuWith('8MiB'), { kind: 'process', memory: '8MiB', name: 'process' }],
  });
  const wgsl = `
struct Params { shift: vec2f, times: array<vec4f, 2> }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&y)) { y[id.x] = y[id.x] * params.times[1].z + params.shift.y; } }`;
  const params = struct({ shift: vec2f, times: uniform });
  const both = kernel(
    { y: f32.inout, params },
    {
      wgsl,
      function: ({ y, params: { shift, times } }, { begin, end }) => {
        for (let i = begin; i < end; i++) y[i] = y[i] * (times as number[][])[1][2] + shift[1];
      },
    },
  );
  for (const device of space.devices) {
    const y = space.array(Float32Array, 1000);
    filled(y.data, (i) => i);
    const value = { shift: [0, 5], times: [new Float32Array(4), [0, 0, 2, 0]] };
    await device.run(both, { y, params: value }, { size: 1000 });
    sameData(y.data, (i) => 2 * i + 5);
    const wrong = await failsWith('KERNEL_ARGUMENT', () =>
      device.run(both, { y, params: { ...value, shift: [1] } }, { size: 1000 }),
    );
    assert.match(wrong.message, /parameter params\.shift takes 2 numbers, not 1/);
  }
});

await runTests();
