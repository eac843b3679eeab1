/** Arrays that end structures, alone or behind other members. */
import { floats, ID, type KernelCase, words } from '../kernel-case.js';

const N = 1024;
const header = (...words: number[]): Uint32Array => Uint32Array.from(words);

/** Words before elements. */
function behind(head: Uint32Array, elements: Uint32Array | Float32Array): Uint32Array {
  const all = new Uint32Array(head.length + elements.length);
  all.set(head);
  all.set(new Uint32Array(elements.buffer, elements.byteOffset, elements.length), head.length);
  return all;
}

export const STRUCTURED: readonly KernelCase[] = [
  {
    name: 'structures that are nothing but an array, also by pointers',
    source: `struct Items { items: array<vec4f> } alias All = Items;
@group(0) @binding(0) var<storage> x: Items; @group(0) @binding(1) var<storage, read_write> y: All;
fn twice(p: ptr<storage, All, read_write>, i: u32, v: vec4f) { (*p).items[i] = 2.0 * v; }
@compute @workgroup_size(64) fn main(${ID}) { if (id.x < arrayLength(&y.items)) { twice(&y, id.x, x.items[id.x]); } }`,
    workgroups: [16, 1, 1],
    arrays: { x: floats(4 * N), y: new Float32Array(4 * N) },
    reference: ({ x, y }) =>
      y!.forEach((_, i) => {
        y![i] = 2 * x![i]!;
      }),
    windows: 'cut',
  },
  {
    name: 'numbers before the elements that are read, and elements that are written behind others',
    source: `struct Shape { size: vec2u, by: u32 }
struct In { shape: Shape, /* of three words, and one more */ items: array<u32> }
struct Out { @size(32) scale: u32, grid: array<u32, 4>, @align(16) items: array<vec2u> }
@group(0) @binding(0) var<storage> x: In; @group(0) @binding(1) var<storage, read_write> y: Out;
@compute @workgroup_size(64) fn main(${ID}) { let i = id.x; if (i >= x.shape.size.x * (x.shape).size.y) { return; }
  (y).items[i].y = y.grid[i % 4u] + y.scale * x.items[i]; y.items[i].x = arrayLength(&x.items) + x.shape.by; }`,
    workgroups: [20, 1, 1],
    arrays: {
      x: behind(header(32, 32, 7, 0), words(N, 1000)),
      y: behind(header(3, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4), new Uint32Array(2 * N)),
    },
    reference: ({ x, y }) => {
      for (let i = 0; i < N; i++) y!.set([N + 7, 1 + (i % 4) + 3 * x![4 + i]!], 12 + 2 * i);
    },
    windows: 'cut',
  },
  {
    name: 'a sum before the elements by an atomic, which every part adds to',
    source: `struct Bins { sum: atomic<u32>, least: atomic<u32>, items: array<u32> }
@group(0) @binding(0) var<storage, read_write> bins: Bins;
@compute @workgroup_size(64) fn main(${ID}) { atomicAdd(&bins.sum, bins.items[id.x]); atomicMin(&bins.least, bins.items[id.x]);
  bins.items[id.x] += 1u; }`,
    workgroups: [16, 1, 1],
    arrays: {
      bins: behind(
        header(5, 10_000),
        words(N, 1000).map((each) => each + 3),
      ),
    },
    reference: ({ bins }) => {
      const items = Array.from(bins!.subarray(2));
      bins![0]! += items.reduce((sum, each) => sum + each, 0);
      bins![1] = items.reduce((least, each) => Math.min(least, each), 10_000);
      for (let i = 0; i < N; i++) bins![2 + i]! += 1;
    },
    windows: 'cut',
    unpaged: /'bins' is written, and has members before its array/,
  },
  {
    name: 'a table with its length before it, looked up by names with theirs',
    source: `struct Table { length: u32, first: f32, items: array<f32> } struct Names { count: u32, ids: array<u32> }
@group(0) @binding(0) var<storage> table: Table; @group(0) @binding(1) var<storage> names: Names;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(${ID}) { if (id.x >= names.count) { return; }
  y[id.x] = table.items[names.ids[id.x]] + table.first * f32(table.length); }`,
    workgroups: [4, 1, 1],
    arrays: {
      table: behind(behind(header(3000), Float32Array.of(0.5)), floats(3000)),
      names: behind(header(250), words(256, 3000)),
      y: new Float32Array(256),
    },
    reference: ({ table, names, y }) => {
      const items = new Float32Array((table as Uint32Array).buffer);
      for (let i = 0; i < 250; i++) y![i] = items[2 + names![1 + i]!]! + 1500;
    },
    windows: /a single workgroup may touch elements 0 to 2999 of 'table'/,
    planned: 1 / 2,
  },
];
