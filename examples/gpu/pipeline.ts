/**
 * Chains of launches over the same arrays, whose shaders are as other programs have them: a radix
 * sort with counts, a scan and a scatter for each digit, and the pressure of a fluid, a step after
 * the other between two arrays. Nothing is awaited but the end.
 *
 *   node .build/examples/gpu/pipeline.js [--keys 65536] [--side 64] [--memory 8MiB]
 */
import { parseArgs } from 'node:util';
import { f32, kernel, openSpace, u32, uniform, vec2u } from 'onemem';

const { values: options } = parseArgs({
  options: {
    keys: { type: 'string', default: '65536' },
    side: { type: 'string', default: '64' },
    memory: { type: 'string', default: '8MiB' },
  },
});
const count = Number(options.keys);
const side = Number(options.side);
const BLOCK = 256;
const blocks = count / BLOCK;
const DIGIT_BITS = 4;
const DIGITS = 2 ** DIGIT_BITS;
const STEPS = 20;

/** One module for the sort, with three entry points and two bind groups. */
const SORT = `
struct Pass { shift: u32, blocks: u32 }
@group(0) @binding(0) var<uniform> pass_: Pass;
@group(1) @binding(0) var<storage, read> keys: array<u32>;
@group(1) @binding(1) var<storage, read_write> sorted: array<u32>;
@group(1) @binding(2) var<storage, read_write> counts: array<u32>;
var<workgroup> own: array<atomic<u32>, ${DIGITS}>;
var<workgroup> digits: array<u32, ${BLOCK}>;

@compute @workgroup_size(${BLOCK})
fn count(@builtin(global_invocation_id) id: vec3u, @builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  if (lane < ${DIGITS}u) { atomicStore(&own[lane], 0u); }
  workgroupBarrier();
  atomicAdd(&own[(keys[id.x] >> pass_.shift) & ${DIGITS - 1}u], 1u);
  workgroupBarrier();
  if (lane < ${DIGITS}u) { counts[lane * pass_.blocks + group.x] = atomicLoad(&own[lane]); }
}

@compute @workgroup_size(1)
fn scan() {
  var sum = 0u;
  for (var i = 0u; i < ${DIGITS}u * pass_.blocks; i++) { let own = counts[i]; counts[i] = sum; sum += own; }
}

@compute @workgroup_size(${BLOCK})
fn scatter(@builtin(global_invocation_id) id: vec3u, @builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let key = keys[id.x];
  let digit = (key >> pass_.shift) & ${DIGITS - 1}u;
  digits[lane] = digit;
  workgroupBarrier();
  var before = 0u;
  for (var i = 0u; i < lane; i++) { before += u32(digits[i] == digit); }
  sorted[counts[digit * pass_.blocks + group.x] + before] = key;
}`;
const JACOBI = `
@group(0) @binding(0) var<uniform> size: vec2u;
@group(0) @binding(1) var<storage, read> divergence: array<f32>;
@group(0) @binding(2) var<storage, read> before: array<f32>;
@group(0) @binding(3) var<storage, read_write> after: array<f32>;
fn at(x: u32, y: u32) -> f32 { return before[y * size.x + x]; }
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= size.x || id.y >= size.y) { return; }
  let across = at(max(id.x, 1u) - 1u, id.y) + at(min(id.x + 1u, size.x - 1u), id.y);
  let along = at(id.x, max(id.y, 1u) - 1u) + at(id.x, min(id.y + 1u, size.y - 1u));
  let i = id.y * size.x + id.x;
  after[i] = 0.25 * (across + along - divergence[i]);
}`;

const sortParameters = { pass_: uniform, keys: u32.in, sorted: u32.inout, counts: u32.inout };
const entry = (entryPoint: string) =>
  kernel(sortParameters, { wgsl: SORT, entryPoint }, { name: entryPoint });
const [countDigits, scan, scatter] = ['count', 'scan', 'scatter'].map(entry);
const jacobi = kernel(
  { size: vec2u, divergence: f32.in, before: f32.in, after: f32.inout },
  { wgsl: JACOBI },
  { name: 'jacobi' },
);

await using space = await openSpace({ devices: [{ kind: 'webgpu', memory: options.memory }] });
const [gpu] = space.devices;
const stream = gpu.stream();

// The sort: its arrays change places after each digit.
let [keys, sorted] = [0, 1].map(() => space.array(Uint32Array, count));
const counts = space.array(Uint32Array, DIGITS * blocks);
for (let i = 0; i < count; i++) keys.data[i] = Math.imul(i, 2_654_435_761);
const expected = keys.data.slice().sort();
for (let shift = 0; shift < 32; shift += DIGIT_BITS) {
  const given = { pass_: { shift, blocks }, keys, sorted, counts };
  stream.launch(countDigits, given, { size: count });
  stream.launch(scan, given, { size: 1 });
  stream.launch(scatter, given, { size: count });
  [keys, sorted] = [sorted, keys];
}

// The fluid: two arrays in turns.
let [before, after] = [0, 1].map(() => space.array(Float32Array, side * side));
const divergence = space.array(Float32Array, side * side);
for (let i = 0; i < divergence.length; i++) divergence.data[i] = ((i * 37) % 17) - 8;
for (let step = 0; step < STEPS; step++) {
  const given = { size: [side, side], divergence, before, after };
  stream.launch(jacobi, given, { size: [side, side] });
  [before, after] = [after, before];
}
await stream.synchronize();

const wrong = expected.findIndex((key, i) => keys.data[i] !== key);
if (wrong !== -1) throw new Error(`key ${wrong} is ${keys.data[wrong]}, not ${expected[wrong]}`);
const pressure = plainPressure();
const far = pressure.findIndex((each, i) => Math.abs(before.data[i] - each) > 1e-3);
if (far !== -1) throw new Error(`pressure ${far} is ${before.data[far]}, not ${pressure[far]}`);
console.log(`${count} keys are sorted by ${(3 * 32) / DIGIT_BITS} launches`);
console.log(`${STEPS} steps of a fluid of ${side} x ${side} cells are right`);

/** The same without onemem: everything in ordinary memory. */
function plainPressure(): Float32Array {
  let [old, next] = [0, 1].map(() => new Float32Array(side * side));
  const inside = (i: number): number => Math.min(Math.max(i, 0), side - 1);
  for (let step = 0; step < STEPS; step++) {
    const at = (x: number, y: number): number => old[inside(y) * side + inside(x)];
    for (let i = 0; i < next.length; i++) {
      const [x, y] = [i % side, Math.floor(i / side)];
      const around = at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1);
      next[i] = 0.25 * (around - divergence.data[i]);
    }
    [old, next] = [next, old];
  }
  return old;
}
