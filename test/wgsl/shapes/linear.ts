/** Linear algebra: products, transposes, reductions, sparse matrices. */
import { floats, words } from '../kernel-case.js';
import { type Shape, shape } from './shape.js';

const SIDE = 64;
const square = (): Float32Array => floats(SIDE * SIDE);
const zeros = (length: number): Float32Array => new Float32Array(length);
const N = 4096;

/** Rows of a matrix with entries near the diagonal, as CSR has them. */
function banded(rows: number): { ptr: Uint32Array; col: Uint32Array; val: Float32Array } {
  const ptr = new Uint32Array(rows + 1);
  const col: number[] = [];
  for (let row = 0; row < rows; row++) {
    for (let at = Math.max(0, row - 2); at <= Math.min(rows - 1, row + 2); at++) col.push(at);
    ptr[row + 1] = col.length;
  }
  return { ptr, col: Uint32Array.from(col), val: floats(col.length) };
}
const matrix = banded(1024);
const DIMS = 'struct Dims { m: u32, n: u32, k: u32 }';
const dims = { d: { m: SIDE, n: SIDE, k: SIDE } };
const SQUARE = [SIDE / 8, SIDE / 8, 1] as const;

export const LINEAR: readonly Shape[] = [
  shape('axpy', {
    bound: ['in x f32', 'inout y f32', 'uniform alpha f32'],
    body: 'if (id.x < arrayLength(&y)) { y[id.x] += alpha * x[id.x]; }',
    workgroups: [N / 64, 1, 1],
    arrays: { x: floats(N), y: floats(N) },
    uniforms: { alpha: 2 },
  }),
  shape('product of vectors of four, by a structure', {
    bound: ['in x vec4f', 'inout y vec4f', 'uniform p P'],
    more: 'struct P { scale: vec4f, count: u32 }',
    body: 'if (id.x >= p.count) { return; } y[id.x] = fma(x[id.x], p.scale, y[id.x]);',
    workgroups: [N / 256, 1, 1],
    arrays: { x: floats(N), y: floats(N) },
    uniforms: { p: { scale: [1, 2, 3, 4], count: N / 4 } },
  }),
  shape('naive product of matrices', {
    bound: ['in a f32', 'in b f32', 'inout c f32', 'uniform d Dims'],
    more: DIMS,
    size: '8, 8',
    body: `if (id.x >= d.n || id.y >= d.m) { return; } var sum = 0.0;
  for (var k = 0u; k < d.k; k++) { sum += a[id.y * d.k + k] * b[k * d.n + id.x]; } c[id.y * d.n + id.x] = sum;`,
    workgroups: SQUARE,
    arrays: { a: square(), b: square(), c: zeros(SIDE * SIDE) },
    uniforms: dims,
  }),
  shape('product of matrices with sizes in an array', {
    bound: ['in size u32', 'in a f32', 'in b f32', 'inout c f32'],
    size: '8, 8',
    body: `let n = size[0]; if (id.x >= n || id.y >= n) { return; } var sum = 0.0;
  for (var k = 0u; k < n; k++) { sum += a[id.y * n + k] * b[k * n + id.x]; } c[id.y * n + id.x] = sum;`,
    workgroups: SQUARE,
    arrays: { size: Uint32Array.of(SIDE), a: square(), b: square(), c: zeros(SIDE * SIDE) },
  }),
  shape('product of matrices that have their sizes before them', {
    bound: ['in a Matrix', 'in b Matrix', 'inout c f32'],
    more: 'struct Matrix { size: vec2f, numbers: array<f32> }',
    size: '8, 8',
    body: `if (id.x >= u32(b.size.y) || id.y >= u32(a.size.x)) { return; } var sum = 0.0;
  for (var k = 0u; k < u32(a.size.y); k++) { sum += a.numbers[id.y * u32(a.size.y) + k] * b.numbers[k * u32(b.size.y) + id.x]; }
  c[id.y * u32(b.size.y) + id.x] = sum;`,
    workgroups: SQUARE,
    arrays: {
      a: Float32Array.of(SIDE, SIDE, ...square()),
      b: Float32Array.of(SIDE, SIDE, ...square()),
      c: zeros(SIDE * SIDE),
    },
  }),
  shape('tiled product of matrices', {
    bound: ['in a f32', 'in b f32', 'inout c f32', 'uniform d Dims'],
    more: `${DIMS} var<workgroup> ta: array<array<f32, 8>, 8>; var<workgroup> tb: array<array<f32, 8>, 8>;`,
    size: '8, 8',
    body: `var sum = 0.0; for (var t = 0u; t < d.k / 8u; t++) {
    ta[local.y][local.x] = a[id.y * d.k + t * 8u + local.x]; tb[local.y][local.x] = b[(t * 8u + local.y) * d.n + id.x]; workgroupBarrier();
    for (var k = 0u; k < 8u; k++) { sum += ta[local.y][k] * tb[k][local.x]; } workgroupBarrier(); }
  c[id.y * d.n + id.x] = sum;`,
    workgroups: SQUARE,
    arrays: { a: square(), b: square(), c: zeros(SIDE * SIDE) },
    uniforms: dims,
  }),
  shape('tiles counted by a rounded quotient', {
    bound: ['in a f32', 'in b f32', 'inout c f32', 'uniform size vec2f'],
    more: 'var<workgroup> tile: array<f32, 64>;',
    size: '8, 8',
    body: `let n = u32(size.x); var sum = 0.0; for (var t = 0u; t < u32(ceil(size.x / 8.0)); t++) {
    tile[lane] = b[(t * 8u + local.y) * n + id.x]; workgroupBarrier();
    for (var k = 0u; k < 8u; k++) { sum += a[id.y * n + t * 8u + k] * tile[k * 8u + local.x]; } workgroupBarrier(); }
  c[id.y * n + id.x] = sum;`,
    workgroups: SQUARE,
    arrays: { a: square(), b: square(), c: zeros(SIDE * SIDE) },
    uniforms: { size: [SIDE, SIDE] },
  }),
  shape('transpose, written in order', {
    bound: ['in x f32', 'inout y f32', 'uniform n u32'],
    size: '8, 8',
    body: 'if (id.x < n && id.y < n) { y[id.y * n + id.x] = x[id.x * n + id.y]; }',
    workgroups: SQUARE,
    arrays: { x: square(), y: zeros(SIDE * SIDE) },
    uniforms: { n: SIDE },
  }),
  shape('transpose, read in order', {
    bound: ['in x f32', 'inout y f32', 'uniform n u32'],
    size: '8, 8',
    body: 'if (id.x < n && id.y < n) { y[id.x * n + id.y] = x[id.y * n + id.x]; }',
    workgroups: SQUARE,
    arrays: { x: square(), y: zeros(SIDE * SIDE) },
    uniforms: { n: SIDE },
  }),
  shape('transpose through a tile', {
    bound: ['in x f32', 'inout y f32', 'uniform n u32'],
    more: 'var<workgroup> tile: array<f32, 64>;',
    size: '8, 8',
    body: `tile[local.y * 8u + local.x] = x[id.y * n + id.x]; workgroupBarrier();
  y[(group.x * 8u + local.y) * n + group.y * 8u + local.x] = tile[local.x * 8u + local.y];`,
    workgroups: SQUARE,
    arrays: { x: square(), y: zeros(SIDE * SIDE) },
    uniforms: { n: SIDE },
  }),
  shape('transpose by one index', {
    bound: ['in x f32', 'inout y f32', 'uniform s vec2u'],
    body: 'if (id.x < s.x * s.y) { y[id.x] = x[(id.x % s.y) * s.x + id.x / s.y]; }',
    workgroups: [64, 1, 1],
    arrays: { x: square(), y: zeros(SIDE * SIDE) },
    uniforms: { s: [32, 128] },
  }),
  shape('rows times a vector', {
    bound: ['in a f32', 'in x f32', 'inout y f32'],
    body: `let n = arrayLength(&x); if (id.x >= arrayLength(&y)) { return; } var sum = 0.0;
  for (var k = 0u; k < n; k++) { sum += a[id.x * n + k] * x[k]; } y[id.x] = sum;`,
    workgroups: [4, 1, 1],
    arrays: { a: floats(256 * 64), x: floats(64), y: zeros(256) },
  }),
  shape('rows times a vector, a workgroup each', {
    bound: ['in a f32', 'in x f32', 'inout y f32', 'uniform n u32'],
    more: 'var<workgroup> part: array<f32, 64>;',
    body: `var sum = 0.0; for (var k = lane; k < n; k += 64u) { sum += a[group.x * n + k] * x[k]; } part[lane] = sum; workgroupBarrier();
  for (var s = 32u; s > 0u; s >>= 1u) { if (lane < s) { part[lane] += part[lane + s]; } workgroupBarrier(); }
  if (lane == 0u) { y[group.x] = part[0]; }`,
    workgroups: [64, 1, 1],
    arrays: { a: floats(64 * 128), x: floats(128), y: zeros(64) },
    uniforms: { n: 128 },
  }),
  shape('product of a sparse matrix near its diagonal', {
    bound: ['in ptr u32', 'in col u32', 'in val f32', 'in x f32', 'inout y f32'],
    body: `if (id.x >= arrayLength(&y)) { return; } var sum = 0.0;
  for (var j = ptr[id.x]; j < ptr[id.x + 1u]; j++) { sum += val[j] * x[col[j]]; } y[id.x] = sum;`,
    workgroups: [16, 1, 1],
    arrays: { ...matrix, x: floats(1024), y: zeros(1024) },
  }),
  shape('product of a sparse matrix with rows of one length', {
    bound: ['in col u32', 'in val f32', 'in x f32', 'inout y f32', 'uniform wide u32'],
    body: `if (id.x >= arrayLength(&y)) { return; } var sum = 0.0;
  for (var j = 0u; j < wide; j++) { let at = j * arrayLength(&y) + id.x; sum += val[at] * x[col[at]]; } y[id.x] = sum;`,
    workgroups: [16, 1, 1],
    arrays: { col: words(4096, 1024), val: floats(4096), x: floats(1024), y: zeros(1024) },
    uniforms: { wide: 4 },
  }),
  shape('sums of a workgroup each', {
    bound: ['in x f32', 'inout sums f32'],
    more: 'var<workgroup> part: array<f32, 64>;',
    body: `part[lane] = x[id.x]; workgroupBarrier();
  for (var s = 32u; s > 0u; s >>= 1u) { if (lane < s) { part[lane] += part[lane + s]; } workgroupBarrier(); }
  if (lane == 0u) { sums[group.x] = part[0]; }`,
    workgroups: [64, 1, 1],
    arrays: { x: floats(N), sums: zeros(64) },
  }),
  shape('a sum of all by an atomic', {
    bound: ['in x u32', 'inout sum atomic<u32>'],
    body: 'atomicAdd(&sum[0], x[id.x]);',
    workgroups: [64, 1, 1],
    arrays: { x: words(N, 1000), sum: new Uint32Array(1) },
  }),
  shape('sums of columns', {
    bound: ['in x f32', 'inout y f32', 'uniform s vec2u'],
    body: `if (id.x >= s.x) { return; } var sum = 0.0; for (var row = 0u; row < s.y; row++) { sum += x[row * s.x + id.x]; } y[id.x] = sum;`,
    workgroups: [4, 1, 1],
    arrays: { x: floats(256 * 32), y: zeros(256) },
    uniforms: { s: [256, 32] },
  }),
];
