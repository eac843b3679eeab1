/**
 * Floats of 16 bits, which are `u16` to the host: a GPU that has them runs them each way, and one
 * that has not says so.
 */
import assert from 'node:assert/strict';
import { kernel, u16, u32 } from '../../src/index.js';
import { gpuWith, inSpaceWith, saxpy } from '../harness/gpu.js';
import { gpuHas } from '../harness/own-gpu.js';
import { failsWith, filled, runTests, sameData, test } from '../harness/suite.js';

const MIB = 2 ** 20;

const triple = kernel(
  { x: u16.in, y: u16.inout },
  {
    wgsl: `enable f16;
@group(0) @binding(0) var<storage, read> x: array<f16>;
@group(0) @binding(1) var<storage, read_write> y: array<f16>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&y)) { y[id.x] += 3h * x[id.x]; }
}`,
  },
  { name: 'triple' },
);

/** Vectors of four by the ids of their places. */
const pick = kernel(
  { table: u16.in, ids: u32.in, found: u16.out },
  {
    wgsl: `enable f16;
@group(0) @binding(0) var<storage, read> table: array<vec4<f16>>;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> found: array<vec4<f16>>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&found)) { found[id.x] = table[ids[id.x]] * 2h; }
}`,
  },
  { name: 'pick' },
);

/** The bits of a whole number from 0 to 2048. */
function half(value: number): number {
  if (value === 0) return 0;
  const exponent = Math.floor(Math.log2(value));
  return ((exponent + 15) << 10) | ((value / 2 ** exponent - 1) * 1024);
}

const withGpu = inSpaceWith(gpuWith('8MiB'));

if (await gpuHas('shader-f16')) {
  test('halves are read and written, in parts of arrays that begin at any even element', () =>
    withGpu(async (space) => {
      const [x, y] = [space.array(Uint16Array, 5000), space.array(Uint16Array, 5000)];
      filled(x.data, (i) => half(i % 500));
      filled(y.data, (i) => half(i % 100));
      // Begins at byte 12, which is no multiple of any GPU's alignment.
      await space.devices[0].run(
        triple,
        { x: x.range(6, 4006), y: y.range(6, 4006) },
        { size: 4000 },
      );
      await space.devices[0].run(
        triple,
        { x: x.range(4096, 4100), y: y.range(4096, 4100) },
        { size: 4 },
      );
      const isIn = (i: number) => (i >= 6 && i < 4006) || (i >= 4096 && i < 4100);
      sameData(y.data, (i) => half((i % 100) + (isIn(i) ? 3 * (i % 500) : 0)));
    }));

  test('a part of an odd number of halves, or from an odd one on, is refused by name', () =>
    withGpu(async (space) => {
      const [x, y] = [space.array(Uint16Array, 100), space.array(Uint16Array, 100)];
      for (const [from, to] of [
        [1, 3],
        [2, 5],
      ]) {
        const [some, others] = [x.range(from, to), y.range(from, to)];
        const error = await failsWith('DEVICE_LIMIT', () =>
          space.devices[0].run(triple, { x: some, y: others }, { size: to - from }),
        );
        assert.match(error.message, /parameter x begins at byte .* even/);
      }
    }));

  test('a launch over halves that needs four times the memory is cut into parts', () =>
    withGpu(async (space) => {
      const length = (16 * MIB) / 2;
      const [x, y] = [space.array(Uint16Array, length), space.array(Uint16Array, length)];
      filled(x.data, (i) => half(i % 600));
      filled(y.data, (i) => half(i % 200));
      const [from, to] = [10, length - 6];
      await space.devices[0].run(
        triple,
        { x: x.range(from, to), y: y.range(from, to) },
        { size: to - from },
      );
      sameData(y.data, (i) => half((i % 200) + (i >= from && i < to ? 3 * (i % 600) : 0)));
      assert.ok(space.devices[0].stats().launchParts >= 4);
    }));

  test('vectors of halves are found by ids in a table that is larger than the memory', () =>
    withGpu(async (space) => {
      const rows = (16 * MIB) / 8;
      const table = space.array(Uint16Array, 4 * rows);
      filled(table.data, (i) => half(i % 1000));
      const ids = space.array(Uint32Array, 256);
      filled(ids.data, (i) => (i * 7919 * 31) % rows);
      const found = space.array(Uint16Array, 4 * 256);
      await space.devices[0].run(pick, { table, ids, found }, { size: 256 });
      sameData(found.data, (i) => half(2 * ((4 * ids.data[i >> 2] + (i & 3)) % 1000)));
      assert.equal(space.devices[0].stats().pagedLaunches, 1);
    }));
} else {
  test('a GPU without halves says so, and the device goes on', () =>
    withGpu(async (space) => {
      const [x, y] = [space.array(Uint16Array, 100), space.array(Uint16Array, 100)];
      const error = await failsWith('DEVICE_LIMIT', () =>
        space.devices[0].run(triple, { x, y }, { size: 100 }),
      );
      assert.match(
        error.message,
        /^kernel \S+: the module enables f16, which this GPU does not have \(shader-f16\); write it with f32/,
      );
      const [v, w] = [space.array(Float32Array, 100), space.array(Float32Array, 100)];
      v.data.fill(2);
      await space.devices[0].run(saxpy, { x: v, y: w, alpha: 3 }, { size: 100 });
      sameData(w.data, () => 6);
    }));
}

await runTests();
