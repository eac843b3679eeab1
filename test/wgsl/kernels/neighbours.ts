/** Stencils, matrices, and other kernels that read what lies around, or whole rows. */
import { floats, ID, type KernelCase, words } from '../kernel-case.js';

const AB = `@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<f32>;`;
const W = 64;
const H = 64;

export const NEIGHBOURS: readonly KernelCase[] = [
  {
    name: 'stencil of three, with clamped indices',
    source: `${AB} @compute @workgroup_size(64) fn main(${ID}) { let n = arrayLength(&a); let i = id.x; if (i >= n) { return; }
  b[i] = a[max(i, 1u) - 1u] + a[i] + a[min(i + 1u, n - 1u)]; }`,
    workgroups: [64, 1, 1],
    arrays: { a: floats(4090), b: new Float32Array(4090) },
    reference: ({ a, b }) =>
      b!.forEach((_, i) => {
        b![i] = a![Math.max(i - 1, 0)]! + a![i]! + a![Math.min(i + 1, 4089)]!;
      }),
    windows: 'cut',
  },
  {
    name: 'stencil of three, with a sum that wraps around under a guard',
    source: `${AB} @compute @workgroup_size(64) fn main(${ID}) { let i = id.x; var left = 0f; let at = i - 1u;
  if (at < arrayLength(&a)) { left = a[at]; } b[i] = left + a[i]; }`,
    workgroups: [64, 1, 1],
    arrays: { a: floats(4096), b: new Float32Array(4096) },
    reference: ({ a, b }) =>
      b!.forEach((_, i) => {
        b![i] = (a![i - 1] ?? 0) + a![i]!;
      }),
    windows: 'cut',
  },
  {
    name: 'stencil of five over rows',
    source: `${AB} struct P { w: u32, h: u32 } @group(0) @binding(2) var<uniform> p: P;
@compute @workgroup_size(8, 8) fn main(${ID}) {
  if (id.x == 0u || id.y == 0u || id.x >= p.w - 1u || id.y >= p.h - 1u) { return; }
  let i = id.y * p.w + id.x; b[i] = a[i] + a[i - 1u] + a[i + 1u] + a[i - p.w] + a[i + p.w]; }`,
    workgroups: [W / 8, H / 8, 1],
    arrays: { a: floats(W * H), b: new Float32Array(W * H) },
    uniforms: { p: { w: W, h: H } },
    reference: ({ a, b }) => {
      for (let y = 1; y < H - 1; y++)
        for (let x = 1; x < W - 1; x++) {
          const i = y * W + x;
          b![i] = a![i]! + a![i - 1]! + a![i + 1]! + a![i - W]! + a![i + W]!;
        }
    },
    windows: 'cut',
  },
  {
    name: 'a store that no invocation makes',
    source: `@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@compute @workgroup_size(64) fn main(${ID}) { let old = a[id.x + 1u]; if (id.x > 4096u) { a[id.x] = old; } }`,
    workgroups: [64, 1, 1],
    arrays: { a: floats(4097) },
    reference: () => {},
    windows: 'cut',
  },
  {
    name: 'a neighbour through the same array is refused',
    source: `struct P { n: u32 } @group(0) @binding(1) var<uniform> p: P; @group(0) @binding(0) var<storage, read_write> a: array<f32>;
@compute @workgroup_size(64) fn main(${ID}) { if (id.x >= p.n) { return; } a[id.x] = a[id.x + 1u]; }`,
    workgroups: [64, 1, 1],
    arrays: { a: new Float32Array(4097).fill(3) },
    uniforms: { p: { n: 4096 } },
    reference: () => {},
    unpaged:
      /^2:\d+: one part of the launch may read elements of 'a' that another part has written/,
    windows:
      /^2:\d+: one part of the launch may read elements of 'a' that another part has written/,
  },
  {
    name: 'tiled matrix product',
    source: `struct P { n: u32 } @group(0) @binding(3) var<uniform> p: P; ${AB} @group(0) @binding(2) var<storage, read_write> c: array<f32>;
var<workgroup> x: array<array<f32, 8>, 8>; var<workgroup> y: array<array<f32, 8>, 8>;
@compute @workgroup_size(8, 8) fn main(${ID}, @builtin(local_invocation_id) l: vec3u) { var sum = 0f;
  for (var t = 0u; t < p.n / 8u; t++) {
    x[l.y][l.x] = a[id.y * p.n + t * 8u + l.x]; y[l.y][l.x] = b[(t * 8u + l.y) * p.n + id.x]; workgroupBarrier();
    for (var k = 0u; k < 8u; k++) { sum += x[l.y][k] * y[k][l.x]; } workgroupBarrier(); }
  c[id.y * p.n + id.x] = sum; }`,
    workgroups: [4, 4, 1],
    arrays: { a: floats(1024), b: floats(1024), c: new Float32Array(1024) },
    uniforms: { p: { n: 32 } },
    reference: ({ a, b, c }) => {
      for (let y = 0; y < 32; y++)
        for (let x = 0; x < 32; x++) {
          c![y * 32 + x] = 0;
          for (let k = 0; k < 32; k++) c![y * 32 + x]! += a![y * 32 + k]! * b![k * 32 + x]!;
        }
    },
    leastPaged: 0.6,
    windows: 0.7,
  },
  {
    name: 'matrix times vector',
    source: `struct P { n: u32 } @group(0) @binding(3) var<uniform> p: P; ${AB} @group(0) @binding(2) var<storage, read_write> c: array<f32>;
@compute @workgroup_size(8) fn main(${ID}) { let row = id.x * p.n; var sum = 0f; var k = 0u;
  while (k < p.n) { sum += a[row + k] * b[k]; k += 1u; } c[id.x] = sum; }`,
    workgroups: [8, 1, 1],
    arrays: { a: floats(64 * 48), b: floats(48), c: new Float32Array(64) },
    uniforms: { p: { n: 48 } },
    reference: ({ a, b, c }) =>
      c!.forEach((_, i) => {
        c![i] = Array.from(b!).reduce((sum, v, k) => sum + a![i * 48 + k]! * v, 0);
      }),
    windows: 'cut',
  },
  {
    name: 'transposition',
    source: `struct P { size: vec2u } @group(0) @binding(2) var<uniform> p: P; ${AB}
@compute @workgroup_size(8, 8) fn main(${ID}) { if (all(id.xy < p.size)) { b[id.x * p.size.y + id.y] = a[id.y * p.size.x + id.x]; } }`,
    workgroups: [5, 8, 1],
    arrays: { a: floats(35 * 61), b: new Float32Array(35 * 61) },
    uniforms: { p: { size: [35, 61] } },
    reference: ({ a, b }) =>
      b!.forEach((_, i) => {
        b![i] = a![(i % 61) * 35 + Math.floor(i / 61)]!;
      }),
    windows: 0.75,
  },
  {
    name: 'every second element',
    source: `${AB} @compute @workgroup_size(64) fn main(${ID}) { b[id.x] = a[2u * id.x] + a[(id.x << 1u) | 1u]; }`,
    workgroups: [32, 1, 1],
    arrays: { a: floats(4096), b: new Float32Array(2048) },
    reference: ({ a, b }) =>
      b!.forEach((_, i) => {
        b![i] = a![2 * i]! + a![2 * i + 1]!;
      }),
    windows: 'cut',
  },
  {
    name: 'row and column by division',
    source: `const WIDE = 50u; ${AB} @compute @workgroup_size(64) fn main(${ID}) { let row = id.x / WIDE; let column = id.x % WIDE;
  if (row < 40u) { b[row * WIDE + (WIDE - 1u - column)] = a[id.x]; } }`,
    workgroups: [32, 1, 1],
    arrays: { a: floats(2000), b: new Float32Array(2000) },
    reference: ({ a, b }) =>
      a!.forEach((value, i) => {
        b![Math.floor(i / 50) * 50 + 49 - (i % 50)] = value;
      }),
    windows: 'cut',
  },
  {
    name: 'three dimensions',
    source: `${AB} @compute @workgroup_size(4, 4, 2) fn main(${ID}) { let i = (id.z * 16u + id.y) * 16u + id.x; b[i] = a[i] + f32(id.z); }`,
    workgroups: [4, 4, 8],
    arrays: { a: floats(4096), b: new Float32Array(4096) },
    reference: ({ a, b }) =>
      b!.forEach((_, i) => {
        b![i] = a![i]! + Math.floor(i / 256);
      }),
    windows: 'cut',
  },
  {
    name: 'levels of a wavelet',
    source: `@group(0) @binding(0) var<storage> a: array<u32>; @group(0) @binding(1) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(32) fn main(@builtin(workgroup_id) w: vec3u, @builtin(local_invocation_id) l: vec3u) {
  let base = w.x * 64u; let i = base + 2u * l.x; b[base + l.x] = (a[i] + a[i + 1u]) / 2u; b[base + 32u + l.x] = a[i] ^ a[i + 1u]; }`,
    workgroups: [32, 1, 1],
    arrays: { a: words(2048, 1000), b: new Uint32Array(2048) },
    reference: ({ a, b }) => {
      for (let i = 0; i < 1024; i++) {
        const at = (i >> 5) * 64 + (i & 31);
        b![at] = (a![2 * i]! + a![2 * i + 1]!) >> 1;
        b![at + 32] = a![2 * i]! ^ a![2 * i + 1]!;
      }
    },
    windows: 'cut',
  },
];
