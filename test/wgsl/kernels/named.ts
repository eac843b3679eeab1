/**
 * Elements that other arrays name, in ways that tell before the kernel runs which pages it touches.
 */
import { floats, ID, type KernelCase, words } from '../kernel-case.js';

const LARGE = /a single workgroup may touch elements 0 to \d+ of 'table'/;

/**
 * Numbers below a limit, some of them more than once, the least and the greatest too; each eighth
 * is at or beyond the limit.
 */
function names(length: number, below: number): Uint32Array {
  const beyond = [below, below + 1, 2 ** 31, 2 ** 32 - 1];
  return words(length, below).map((each, i) =>
    i % 8 === 7 ? beyond[(i >> 3) % 4]! : i % 5 === 0 ? [0, below - 1][i % 2]! : each,
  );
}

/** Beyond the end is the last one. */
const at = (table: ArrayLike<number>, index: number): number =>
  table[Math.min(index >>> 0, table.length - 1)]!;

export const NAMED: readonly KernelCase[] = [
  {
    name: 'rows by ids, some of which are beyond the table',
    clamped: true,
    source: `@group(0) @binding(0) var<storage> table: array<f32>; @group(0) @binding(1) var<storage> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> rows: array<f32>; @group(0) @binding(3) var<uniform> width: u32;
@compute @workgroup_size(64) fn main(${ID}) { let i = id.x; if (i >= arrayLength(&rows)) { return; }
  rows[i] = 2.0 * table[ids[i / width] * width + i % width]; }`,
    workgroups: [20, 1, 1],
    arrays: { table: floats(20 * 600), ids: names(61, 600), rows: new Float32Array(20 * 61) },
    uniforms: { width: 20 },
    reference: ({ table, ids, rows }) =>
      rows!.forEach((_, i) => {
        rows![i] = 2 * at(table!, Math.imul(ids![Math.floor(i / 20)]!, 20) + (i % 20));
      }),
    windows: LARGE,
    planned: 1 / 2,
  },
  {
    name: 'signed numbers name elements on both sides, and beyond the ends',
    clamped: true,
    source: `@group(0) @binding(0) var<storage> table: array<u32>; @group(0) @binding(1) var<storage> places: array<i32>;
@group(0) @binding(2) var<storage, read_write> b: array<u32>;
fn near(place: i32, by: i32) -> u32 { return table[place * 3 - 2 + by]; }
@compute @workgroup_size(64) fn main(${ID}) { let place = places[id.x];
  for (var by = -1; by <= 1; by++) { b[id.x] = b[id.x] * 5u + near(place, by); } b[id.x] ^= near(-place, 1); }`,
    workgroups: [4, 1, 1],
    arrays: {
      table: words(3000),
      places: Int32Array.from(
        { length: 256 },
        (_, i) => ((i * 7919) % 1010) - (i % 3 === 0 ? 1005 : 2),
      ),
      b: words(256, 100),
    },
    reference: ({ table, places, b }) =>
      b!.forEach((value, i) => {
        const near = (place: number, by: number) => at(table!, place * 3 - 2 + by);
        let all = value;
        for (const by of [-1, 0, 1]) all = (Math.imul(all, 5) + near(places![i]!, by)) >>> 0;
        b![i] = all ^ near(-places![i]!, 1);
      }),
    windows: LARGE,
    planned: 1 / 2,
  },
  {
    name: 'two tables, of vectors and of structures, by parts of the names of one array',
    clamped: true,
    source: `struct Point { x: u32, y: u32, z: u32 }
@group(0) @binding(0) var<storage> table: array<vec4u>; @group(0) @binding(1) var<storage> points: array<Point>;
@group(0) @binding(2) var<storage> ids: array<u32>; @group(0) @binding(3) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(64) fn main(${ID}) { let own = ids[id.x + 100u]; let other = &points[ids[id.x + 7u] + 1u];
  b[id.x] = table[own][id.x % 4u] + (*other).y * 3u + points[5].z; }`,
    workgroups: [5, 1, 1],
    arrays: {
      table: words(4 * 1000),
      points: words(3 * 800),
      ids: names(420, 700),
      b: new Uint32Array(320),
    },
    reference: ({ table, points, ids, b }) =>
      b!.forEach((_, i) => {
        const own = 4 * Math.min(ids![i + 100]!, 999) + (i % 4);
        const other = 3 * Math.min((ids![i + 7]! + 1) >>> 0, 799) + 1;
        b![i] = table![own]! + Math.imul(points![other]!, 3) + points![17]!;
      }),
    windows: LARGE,
    planned: 1 / 2,
  },
  {
    name: 'rows by members of structures, and by components of vectors, are found as they are touched',
    clamped: true,
    source: `struct Edge { from_: u32, to: u32 }
@group(0) @binding(0) var<storage> table: array<f32>; @group(0) @binding(1) var<storage> edges: array<Edge>;
@group(0) @binding(2) var<storage> pairs: array<vec2u>; @group(0) @binding(3) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(${ID}) { y[id.x] = table[edges[id.x].to] + 2.0 * table[pairs[id.x].y]; }`,
    workgroups: [4, 1, 1],
    arrays: {
      table: floats(4000),
      edges: words(2 * 256, 4000),
      pairs: words(2 * 256, 3999),
      y: new Float32Array(256),
    },
    reference: ({ table, edges, pairs, y }) =>
      y!.forEach((_, i) => {
        y![i] = table![edges![2 * i + 1]!]! + 2 * table![pairs![2 * i + 1]!]!;
      }),
    windows: LARGE,
  },
  {
    name: 'workgroups share rows, and atomics give places to what comes of them',
    source: `@group(0) @binding(0) var<storage> table: array<u32>; @group(0) @binding(1) var<storage> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> b: array<u32>; @group(0) @binding(3) var<storage, read_write> n: array<atomic<u32>>;
var<workgroup> row: array<u32, 64>;
@compute @workgroup_size(64) fn main(${ID}, @builtin(local_invocation_index) l: u32, @builtin(workgroup_id) w: vec3u) {
  row[l] = table[ids[w.x] * 64u + l]; workgroupBarrier();
  if (row[63u - l] % 2u == 0u) { let to = atomicAdd(&n[0], 1u); if (to < 300u) { b[to] = row[63u - l] + w.x; } } }`,
    workgroups: [9, 1, 1],
    arrays: {
      table: words(64 * 200, 1000),
      ids: words(9, 200),
      b: new Uint32Array(300),
      n: new Uint32Array(1),
    },
    reference: ({ table, ids, b, n }) => {
      for (const [w, id] of ids!.entries()) {
        for (let l = 0; l < 64; l++) {
          const value = table![id * 64 + l]!;
          if (value % 2 === 0) b![n![0]!++] = value + w;
        }
      }
    },
    ordered: ({ b }) => void b!.sort(),
    windows: LARGE,
    leastPaged: 1 / 4,
    planned: 1 / 2,
  },
];
