/** Kernels whose invocations work on elements of their own. */
import { floats, ID, type KernelCase, words } from '../kernel-case.js';

const AB = `@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<f32>;`;
const N = 4096;

export const ELEMENTWISE: readonly KernelCase[] = [
  {
    name: 'vector add',
    source: `${AB} @group(0) @binding(2) var<storage, read_write> c: array<f32>;
@compute @workgroup_size(64) fn main(${ID}) { c[id.x] = a[id.x] + b[id.x]; }`,
    workgroups: [N / 64, 1, 1],
    arrays: { a: floats(N), b: floats(N), c: new Float32Array(N) },
    reference: ({ a, b, c }) =>
      c!.forEach((_, i) => {
        c![i] = a![i]! + b![i]!;
      }),
    windows: 'cut',
  },
  {
    name: 'a guard for the last workgroup, by a uniform',
    source: `struct P { alpha: f32, n: u32 } @group(0) @binding(2) var<uniform> p: P; ${AB}
@compute @workgroup_size(64) fn main(${ID}) { if (id.x < p.n) { b[id.x] += p.alpha * a[id.x]; } }`,
    workgroups: [64, 1, 1],
    arrays: { a: floats(4001), b: floats(4001) },
    uniforms: { p: { alpha: 3, n: 4001 } },
    reference: ({ a, b }) =>
      b!.forEach((_, i) => {
        b![i]! += 3 * a![i]!;
      }),
    windows: 'cut',
  },
  {
    name: 'early return by arrayLength',
    source: `${AB}
@compute @workgroup_size(64) fn main(${ID}) { let i = id.x; if (i >= arrayLength(&a)) { return; } b[i] = a[i] * 2; }`,
    workgroups: [70, 1, 1],
    arrays: { a: floats(4001), b: new Float32Array(4001) },
    reference: ({ a, b }) =>
      b!.forEach((_, i) => {
        b![i] = a![i]! * 2;
      }),
    windows: 'cut',
  },
  {
    name: 'vectors of four',
    source: `@group(0) @binding(0) var<storage> a: array<vec4f>; @group(0) @binding(1) var<storage, read_write> b: array<vec4<f32>>;
@compute @workgroup_size(32) fn main(${ID}) { b[id.x] = a[id.x].wzyx; b[id.x].y = 5; }`,
    workgroups: [32, 1, 1],
    arrays: { a: floats(4 * 1024), b: new Float32Array(4 * 1024) },
    reference: ({ a, b }) =>
      b!.forEach((_, i) => {
        b![i] = i % 4 === 1 ? 5 : a![i - (i % 4) + 3 - (i % 4)]!;
      }),
    windows: 'cut',
  },
  {
    name: 'structures',
    source: `struct Particle { position: vec3f, mass: f32, velocity: vec2f } @group(0) @binding(0) var<storage, read_write> p: array<Particle>;
@compute @workgroup_size(32) fn main(${ID}) { let old = p[id.x]; p[id.x].position.x = old.mass * 2; p[id.x].velocity += vec2f(1, 2); }`,
    workgroups: [16, 1, 1],
    arrays: { p: floats(8 * 512) },
    reference: ({ p }) => {
      for (let i = 0; i < 512; i++) {
        p![8 * i] = p![8 * i + 3]! * 2;
        p![8 * i + 4]! += 1;
        p![8 * i + 5]! += 2;
      }
    },
    windows: 'cut',
  },
  {
    name: 'arrays in arrays',
    source: `@group(0) @binding(0) var<storage> a: array<array<u32, 6>>; @group(0) @binding(1) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(16) fn main(${ID}) { var sum = 0u; for (var j = 0; j < 6; j++) { sum += a[id.x][j] * u32(j + 1); } b[id.x] = sum; }`,
    workgroups: [32, 1, 1],
    arrays: { a: words(6 * 512, 1000), b: new Uint32Array(512) },
    reference: ({ a, b }) =>
      b!.forEach((_, i) => {
        b![i] = [0, 1, 2, 3, 4, 5].reduce((sum, j) => sum + a![6 * i + j]! * (j + 1), 0);
      }),
    windows: 'cut',
  },
  {
    name: 'pointers to elements',
    source: `struct S { x: u32, y: u32 } @group(0) @binding(0) var<storage, read_write> a: array<S>;
fn raise(p: ptr<storage, S, read_write>, by: u32) { (*p).x += by; p.y = p.x; }
@compute @workgroup_size(16) fn main(${ID}) { let e = &a[id.x]; raise(e, id.x); }`,
    workgroups: [32, 1, 1],
    arrays: { a: words(1024, 1000) },
    reference: ({ a }) => {
      for (let i = 0; i < 512; i++) a![2 * i + 1] = a![2 * i]! += i;
    },
    windows: 'cut',
  },
  {
    name: 'pointers to arrays',
    source: `@group(0) @binding(0) var<storage, read_write> a: array<u32>; @group(0) @binding(1) var<storage, read_write> b: array<u32>;
fn at(p: ptr<storage, array<u32>, read_write>, i: u32) -> u32 { return (*p)[i]; }
@compute @workgroup_size(64) fn main(${ID}) { b[id.x] = at(&a, id.x) + 1u; }`,
    workgroups: [32, 1, 1],
    arrays: { a: words(2048, 1000), b: new Uint32Array(2048) },
    reference: ({ a, b }) =>
      b!.forEach((_, i) => {
        b![i] = a![i]! + 1;
      }),
    windows: 'cut',
  },
  {
    name: 'in place',
    source: `@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@compute @workgroup_size(64) fn main(${ID}) { a[id.x] = a[id.x] * 2 + 1; }`,
    workgroups: [N / 64, 1, 1],
    arrays: { a: floats(N) },
    reference: ({ a }) =>
      a!.forEach((value, i) => {
        a![i] = value * 2 + 1;
      }),
    windows: 'cut',
  },
  {
    name: 'pairs of elements, in place',
    source: `@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@compute @workgroup_size(64) fn main(${ID}) { let l = a[2u * id.x]; a[2u * id.x] = a[2u * id.x + 1u]; a[2u * id.x + 1u] = l; }`,
    workgroups: [N / 128, 1, 1],
    arrays: { a: words(N) },
    reference: ({ a }) => {
      for (let i = 0; i < N; i += 2) [a![i], a![i + 1]] = [a![i + 1]!, a![i]!];
    },
    unpaged:
      /^2:\d+: one part of the launch may read elements of 'a' that another part has written/,
    windows: 'cut',
  },
  {
    name: 'backwards',
    source: `@group(0) @binding(0) var<storage> a: array<u32>; @group(0) @binding(1) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(64) fn main(${ID}) { let n = arrayLength(&a); if (id.x < n) { b[n - 1u - id.x] = a[id.x]; } }`,
    workgroups: [N / 64, 1, 1],
    arrays: { a: words(N - 5), b: new Uint32Array(N - 5) },
    reference: ({ a, b }) =>
      a!.forEach((value, i) => {
        b![N - 6 - i] = value;
      }),
    windows: 'cut',
  },
  {
    name: 'ids in a structure, and the number of workgroups',
    source: `struct In { @builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) local: u32, @builtin(num_workgroups) all: vec3u }
@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@compute @workgroup_size(8, 4) fn main(in: In) { let i = in.group.x * 32u + in.local; a[i] = i + in.all.x; }`,
    workgroups: [64, 1, 1],
    arrays: { a: new Uint32Array(2048) },
    reference: ({ a }) =>
      a!.forEach((_, i) => {
        a![i] = i + 64;
      }),
    windows: 'cut',
  },
  {
    name: 'override of the workgroup size',
    source: `override wide: u32 = 16; @group(0) @binding(0) var<storage, read_write> a: array<u32>;
@compute @workgroup_size(wide) fn main(${ID}, @builtin(local_invocation_id) l: vec3u) { a[id.x] = l.x + wide; }`,
    workgroups: [32, 1, 1],
    overrides: { wide: 32 },
    arrays: { a: new Uint32Array(1024) },
    reference: ({ a }) =>
      a!.forEach((_, i) => {
        a![i] = (i % 32) + 32;
      }),
    windows: 'cut',
  },
  {
    name: 'a stride over the grid touches everything',
    source: `${AB} @compute @workgroup_size(64) fn main(${ID}, @builtin(num_workgroups) all: vec3u) {
  for (var i = id.x; i < arrayLength(&b); i += all.x * 64u) { b[i] = a[i] + 1; } }`,
    workgroups: [4, 1, 1],
    arrays: { a: floats(1000), b: new Float32Array(1000) },
    reference: ({ a, b }) =>
      b!.forEach((_, i) => {
        b![i] = a![i]! + 1;
      }),
    windows: /a single workgroup may touch elements \d+ to 999 of '[ab]'/,
  },
  {
    name: 'a chunk of elements for each invocation',
    source: `${AB} @compute @workgroup_size(16) fn main(${ID}) {
  let first = id.x * 8u; for (var i = first; i < min(first + 8u, arrayLength(&a)); i++) { b[i] = a[i] - 1; } }`,
    workgroups: [32, 1, 1],
    arrays: { a: floats(4090), b: new Float32Array(4090) },
    reference: ({ a, b }) =>
      b!.forEach((_, i) => {
        b![i] = a![i]! - 1;
      }),
    windows: 'cut',
  },
  {
    name: 'signed indices',
    source: `${AB} @compute @workgroup_size(64) fn main(${ID}) {
  let i = i32(id.x) - 3; if (i < 0 || i >= i32(arrayLength(&a))) { return; } b[i] = a[i]; }`,
    workgroups: [33, 1, 1],
    arrays: { a: floats(2050), b: new Float32Array(2050) },
    reference: ({ a, b }) => b!.set(a!),
    windows: 'cut',
  },
  {
    name: 'a switch by the column',
    source: `${AB} @compute @workgroup_size(64) fn main(${ID}) { var k = 1u;
  switch (id.x % 3u) { case 0u: { k = 2u; } case 1u: { if (id.x > 9u) { break; } k = 3u; } default: { k = 0u; } }
  b[id.x] = a[id.x] * f32(k); }`,
    workgroups: [32, 1, 1],
    arrays: { a: floats(2048), b: new Float32Array(2048) },
    reference: ({ a, b }) =>
      b!.forEach((_, i) => {
        b![i] = a![i]! * (i % 3 === 0 ? 2 : i % 3 === 2 ? 0 : i > 9 ? 1 : 3);
      }),
    windows: 'cut',
  },
];
