/**
 * Blocks of a transformer, of which each launch is one step: norms, products of matrices, causal
 * attention with several heads, a network of two layers. The weights of all blocks are one array,
 * larger than the GPU, and each launch is given a part of it.
 *
 *   node .build/examples/gpu/transformer.js [--blocks 8] [--tokens 32] [--memory 6MiB]
 */
import { parseArgs } from 'node:util';
import { f32, kernel, openSpace, uniform } from 'onemem';

const { values: options } = parseArgs({
  options: {
    blocks: { type: 'string', default: '8' },
    tokens: { type: 'string', default: '32' },
    memory: { type: 'string', default: '6MiB' },
  },
});
const [blocks, tokens] = [Number(options.blocks), Number(options.tokens)];
const WIDE = 128;
const HEADS = 4;
const INNER = 4 * WIDE;
/** Parts of the weights of a block: how many numbers each has. */
const PARTS = {
  norm1: WIDE,
  queries: WIDE * WIDE,
  keys: WIDE * WIDE,
  values: WIDE * WIDE,
  output: WIDE * WIDE,
  norm2: WIDE,
  up: WIDE * INNER,
  down: INNER * WIDE,
} as const;
type Part = keyof typeof PARTS;
const BLOCK = Object.values(PARTS).reduce((sum, each) => sum + each, 0);

const SHADERS = `
struct Shape { rows: u32, inner: u32, columns: u32, heads: u32 }
@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read> v: array<f32>;
@group(0) @binding(4) var<storage, read_write> c: array<f32>;

@compute @workgroup_size(16) fn normalize(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= shape.rows) { return; }
  let first = id.x * shape.columns;
  var sum = 0.0;
  for (var i = 0u; i < shape.columns; i++) { sum += a[first + i] * a[first + i]; }
  let scale = inverseSqrt(sum / f32(shape.columns) + 1e-5);
  for (var i = 0u; i < shape.columns; i++) { c[first + i] = a[first + i] * scale * b[i]; }
}

fn dotted(row: u32, column: u32) -> f32 {
  var sum = 0.0;
  for (var k = 0u; k < shape.inner; k++) { sum += a[row * shape.inner + k] * b[k * shape.columns + column]; }
  return sum;
}
@compute @workgroup_size(16, 4) fn product(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < shape.columns && id.y < shape.rows) { c[id.y * shape.columns + id.x] = dotted(id.y, id.x); }
}
@compute @workgroup_size(16, 4) fn rectified(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < shape.columns && id.y < shape.rows) { c[id.y * shape.columns + id.x] = max(dotted(id.y, id.x), 0.0); }
}
@compute @workgroup_size(16, 4) fn added(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < shape.columns && id.y < shape.rows) { c[id.y * shape.columns + id.x] += dotted(id.y, id.x); }
}

fn score(row: u32, other: u32, head: u32) -> f32 {
  let wide = shape.columns / shape.heads;
  var sum = 0.0;
  for (var i = head * wide; i < (head + 1u) * wide; i++) {
    sum += a[row * shape.columns + i] * b[other * shape.columns + i];
  }
  return sum / sqrt(f32(wide));
}
@compute @workgroup_size(16, 4) fn attend(@builtin(global_invocation_id) id: vec3u) {
  let row = id.y;
  if (id.x >= shape.columns || row >= shape.rows) { return; }
  let head = id.x / (shape.columns / shape.heads);
  var most = -1e30;
  for (var other = 0u; other <= row; other++) { most = max(most, score(row, other, head)); }
  var weights = 0.0;
  var sum = 0.0;
  for (var other = 0u; other <= row; other++) {
    let weight = exp(score(row, other, head) - most);
    weights += weight;
    sum += weight * v[other * shape.columns + id.x];
  }
  c[row * shape.columns + id.x] = sum / weights;
}`;

const entry = (entryPoint: string) =>
  kernel(
    { shape: uniform, a: f32.in, b: f32.in, v: f32.in, c: f32.inout },
    { wgsl: SHADERS, entryPoint },
    { name: entryPoint },
  );
const [normalize, product, rectified, added, attend] = [
  'normalize',
  'product',
  'rectified',
  'added',
  'attend',
].map(entry);

await using space = await openSpace({ devices: [{ kind: 'webgpu', memory: options.memory }] });
const [gpu] = space.devices;
const weights = space.array(Float32Array, blocks * BLOCK, { name: 'weights' });
for (let i = 0; i < weights.length; i++)
  weights.data[i] = (((Math.imul(i, 2_654_435_761) >>> 8) % 2001) - 1000) / 8000;
const [x, hidden, queries, keys, values, mixed] = [0, 1, 2, 3, 4, 5].map(() =>
  space.array(Float32Array, tokens * WIDE),
);
const inner = space.array(Float32Array, tokens * INNER);
for (let i = 0; i < x.length; i++) x.data[i] = Math.sin(i);
const expected = plainBlocks(x.data.slice(), weights.data.slice());

const stream = gpu.stream();
const shape = (inside: number, columns: number) => ({
  rows: tokens,
  inner: inside,
  columns,
  heads: HEADS,
});
for (let block = 0; block < blocks; block++) {
  const part = (name: Part) => weights.range(...placeOf(block, name));
  const wide = shape(WIDE, WIDE);
  const [rows, cells] = [{ size: tokens }, { size: [WIDE, tokens] as [number, number] }];
  stream.launch(normalize, { shape: wide, a: x, b: part('norm1'), v: x, c: hidden }, rows);
  for (const [name, c] of [
    ['queries', queries],
    ['keys', keys],
    ['values', values],
  ] as const)
    stream.launch(product, { shape: wide, a: hidden, b: part(name), v: hidden, c }, cells);
  stream.launch(attend, { shape: wide, a: queries, b: keys, v: values, c: mixed }, cells);
  stream.launch(added, { shape: wide, a: mixed, b: part('output'), v: mixed, c: x }, cells);
  stream.launch(normalize, { shape: wide, a: x, b: part('norm2'), v: x, c: hidden }, rows);
  const up = { shape: shape(WIDE, INNER), a: hidden, b: part('up'), v: hidden, c: inner };
  stream.launch(rectified, up, { size: [INNER, tokens] });
  const down = { shape: shape(INNER, WIDE), a: inner, b: part('down'), v: inner, c: x };
  stream.launch(added, down, cells);
}
await stream.synchronize();

const far = expected.findIndex(
  (each, i) => Math.abs(x.data[i] - each) > 1e-3 * (1 + Math.abs(each)),
);
if (far !== -1) throw new Error(`activation ${far} is ${x.data[far]}, not ${expected[far]}`);
const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
console.log(`${blocks} blocks of ${mib(weights.byteLength)} of weights ran with ${options.memory}`);
console.log(`all ${expected.length} activations are right`);

function placeOf(block: number, name: Part): [begin: number, end: number] {
  let begin = block * BLOCK;
  for (const [each, length] of Object.entries(PARTS)) {
    if (each === name) return [begin, begin + length];
    begin += length;
  }
  throw new Error(name);
}

/** The same without onemem: everything in ordinary memory. */
function plainBlocks(activations: Float32Array, all: Float32Array): Float32Array {
  const norm = (a: Float32Array, b: Float32Array): Float32Array =>
    a.map((each, i) => {
      const row = a.subarray(i - (i % WIDE), i - (i % WIDE) + WIDE);
      const mean = row.reduce((sum, one) => sum + one * one, 0) / WIDE;
      return (each / Math.sqrt(mean + 1e-5)) * b[i % WIDE];
    });
  const times = (a: Float32Array, b: Float32Array, inside: number, columns: number): Float32Array =>
    Float32Array.from({ length: tokens * columns }, (_, at) => {
      const [row, column] = [Math.floor(at / columns), at % columns];
      let sum = 0;
      for (let k = 0; k < inside; k++) sum += a[row * inside + k] * b[k * columns + column];
      return sum;
    });
  const attention = (q: Float32Array, k: Float32Array, v: Float32Array): Float32Array =>
    q.map((_, at) => {
      const [row, column] = [Math.floor(at / WIDE), at % WIDE];
      const wide = WIDE / HEADS;
      const first = column - (column % wide);
      const scores = Array.from({ length: row + 1 }, (_, other) => {
        let sum = 0;
        for (let i = first; i < first + wide; i++) sum += q[row * WIDE + i] * k[other * WIDE + i];
        return sum / Math.sqrt(wide);
      });
      const most = Math.max(...scores);
      const shares = scores.map((each) => Math.exp(each - most));
      const whole = shares.reduce((sum, each) => sum + each, 0);
      return shares.reduce((sum, each, other) => sum + each * v[other * WIDE + column], 0) / whole;
    });
  let now = activations;
  for (let block = 0; block < blocks; block++) {
    const part = (name: Part): Float32Array => all.subarray(...placeOf(block, name));
    const normed = norm(now, part('norm1'));
    const [q, k, v] = (['queries', 'keys', 'values'] as const).map((name) =>
      times(normed, part(name), WIDE, WIDE),
    );
    const out = times(attention(q, k, v), part('output'), WIDE, WIDE);
    const between = now.map((each, i) => each + out[i]);
    const up = times(norm(between, part('norm2')), part('up'), WIDE, INNER);
    const down = times(
      up.map((each) => Math.max(each, 0)),
      part('down'),
      INNER,
      WIDE,
    );
    now = between.map((each, i) => each + down[i]);
  }
  return now;
}
