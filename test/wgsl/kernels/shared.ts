/** Workgroup memory, atomics, reductions, and indices that are data. */
import { floats, ID, type KernelCase, words } from '../kernel-case.js';

const L = '@builtin(local_invocation_id) l: vec3u';
const G = '@builtin(workgroup_id) w: vec3u';
const AB = `@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> b: array<u32>;`;
const sum = (list: ArrayLike<number>, from: number, count: number) => {
  let all = 0;
  for (let i = from; i < from + count; i++) all += list[i] ?? 0;
  return all;
};

export const SHARED: readonly KernelCase[] = [
  {
    name: 'a sum for each workgroup',
    source: `${AB} var<workgroup> s: array<u32, 64>;
@compute @workgroup_size(64) fn main(${ID}, ${L}, ${G}) { s[l.x] = a[id.x]; workgroupBarrier();
  for (var half = 32u; half > 0u; half >>= 1u) { if (l.x < half) { s[l.x] += s[l.x + half]; } workgroupBarrier(); }
  if (l.x == 0u) { b[w.x] = s[0]; } }`,
    workgroups: [64, 1, 1],
    arrays: { a: words(4096, 1000), b: new Uint32Array(64) },
    reference: ({ a, b }) =>
      b!.forEach((_, i) => {
        b![i] = sum(a!, 64 * i, 64);
      }),
    windows: 'cut',
  },
  {
    name: 'prefix sums in blocks',
    source: `${AB} var<workgroup> s: array<u32, 64>;
@compute @workgroup_size(64) fn main(${ID}, ${L}) { s[l.x] = a[id.x]; workgroupBarrier();
  for (var step = 1u; step < 64u; step *= 2u) { var t = 0u; if (l.x >= step) { t = s[l.x - step]; } workgroupBarrier(); s[l.x] += t; workgroupBarrier(); }
  b[id.x] = s[l.x]; }`,
    workgroups: [32, 1, 1],
    arrays: { a: words(2048, 1000), b: new Uint32Array(2048) },
    reference: ({ a, b }) =>
      b!.forEach((_, i) => {
        b![i] = sum(a!, i - (i % 64), (i % 64) + 1);
      }),
    windows: 'cut',
  },
  {
    name: 'sums of blocks are added, in place',
    source: `@group(0) @binding(0) var<storage> offsets: array<u32>; @group(0) @binding(1) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(64) fn main(${ID}, ${G}) { b[id.x] += offsets[w.x]; }`,
    workgroups: [32, 1, 1],
    arrays: { offsets: words(32, 100), b: words(2048, 100) },
    reference: ({ offsets, b }) =>
      b!.forEach((value, i) => {
        b![i] = value + offsets![i >> 6]!;
      }),
    windows: 'cut',
  },
  {
    name: 'histogram by atomics',
    source: `@group(0) @binding(0) var<storage> a: array<u32>; @group(0) @binding(1) var<storage, read_write> bins: array<atomic<u32>>;
@compute @workgroup_size(64) fn main(${ID}) { if (id.x < arrayLength(&a)) { atomicAdd(&bins[a[id.x] % 32u], 1u); } }`,
    workgroups: [64, 1, 1],
    arrays: { a: words(4000), bins: new Uint32Array(32) },
    reference: ({ a, bins }) =>
      a!.forEach((value) => {
        bins![value % 32]!++;
      }),
    windows: 'cut',
  },
  {
    name: 'histogram through workgroup memory',
    source: `@group(0) @binding(0) var<storage> a: array<u32>; @group(0) @binding(1) var<storage, read_write> bins: array<atomic<u32>>;
var<workgroup> own: array<atomic<u32>, 16>;
@compute @workgroup_size(64) fn main(${ID}, ${L}) { atomicAdd(&own[a[id.x] & 15u], 1u); workgroupBarrier();
  if (l.x < 16u) { let n = atomicLoad(&own[l.x]); atomicAdd(&bins[l.x], n); } }`,
    workgroups: [32, 1, 1],
    arrays: { a: words(2048), bins: new Uint32Array(16) },
    reference: ({ a, bins }) =>
      a!.forEach((value) => {
        bins![value & 15]!++;
      }),
    windows: 'cut',
  },
  {
    name: 'greatest of all by an atomic in a structure',
    source: `struct Result { most: atomic<u32>, least: atomic<u32> } @group(0) @binding(0) var<storage> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> r: Result;
@compute @workgroup_size(64) fn main(${ID}) { atomicMax(&r.most, a[id.x]); }`,
    workgroups: [32, 1, 1],
    arrays: { a: words(2048), r: new Uint32Array(2) },
    reference: ({ a, r }) => {
      r![0] = Math.max(...a!);
    },
    windows: 'cut',
  },
  {
    name: 'numbers handed out by an atomic',
    source: `@group(0) @binding(0) var<storage> a: array<u32>; @group(0) @binding(1) var<storage, read_write> count: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(64) fn main(${ID}) { let at = atomicAdd(&count[0], 1u); out[id.x] = a[id.x] + min(at, 0u); }`,
    workgroups: [32, 1, 1],
    arrays: { a: words(2048), count: new Uint32Array(1), out: new Uint32Array(2048) },
    reference: ({ a, count, out }) => {
      count![0] = 2048;
      out!.set(a!);
    },
    windows:
      /^3:\d+: what the atomics of one part of the launch find in 'count' may depend on the other parts/,
  },
  {
    name: 'gather from a small table',
    source: `${AB} @group(0) @binding(2) var<storage> table: array<u32>;
@compute @workgroup_size(64) fn main(${ID}) { b[id.x] = table[a[id.x]]; }`,
    workgroups: [32, 1, 1],
    arrays: { a: words(2048, 100), b: new Uint32Array(2048), table: words(100) },
    reference: ({ a, b, table }) =>
      a!.forEach((value, i) => {
        b![i] = table![value]!;
      }),
    windows: 'cut',
  },
  {
    name: 'gather from a large table is refused',
    source: `${AB} @group(0) @binding(2) var<storage> table: array<u32>;
@compute @workgroup_size(64) fn main(${ID}) { b[id.x] = table[a[id.x]]; }`,
    workgroups: [4, 1, 1],
    arrays: { a: words(256, 4096), b: new Uint32Array(256), table: words(4096) },
    reference: ({ a, b, table }) =>
      a!.forEach((value, i) => {
        b![i] = table![value]!;
      }),
    windows: /^3:\d+: a single workgroup may touch elements 0 to 4095 of 'table', 16384 bytes/,
  },
  {
    name: 'scatter to places of its own',
    source: `${AB} @compute @workgroup_size(64) fn main(${ID}) { b[a[id.x]] = id.x; }`,
    workgroups: [32, 1, 1],
    arrays: {
      a: Uint32Array.from({ length: 2048 }, (_, i) => (i * 5) % 2048),
      b: new Uint32Array(2048),
    },
    reference: ({ a, b }) =>
      a!.forEach((value, i) => {
        b![value] = i;
      }),
    windows: 0.75,
  },
  {
    name: 'in place where data says',
    source: `${AB} @compute @workgroup_size(64) fn main(${ID}) { let at = a[id.x]; b[at] = b[at] * 3u + id.x; }`,
    workgroups: [32, 1, 1],
    arrays: {
      a: Uint32Array.from({ length: 2048 }, (_, i) => (i * 5) % 2048),
      b: words(2048, 1000),
    },
    reference: ({ a, b }) =>
      a!.forEach((value, i) => {
        b![value] = b![value]! * 3 + i;
      }),
    windows: /^2:\d+: a single workgroup may touch elements 0 to 2047 of 'b'/,
  },
  {
    name: 'members of structures where data says, by pointers',
    source: `struct P { x: vec3u, n: u32 } @group(0) @binding(0) var<storage> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> b: array<P>;
@compute @workgroup_size(64) fn main(${ID}) { let p = &b[a[id.x]]; let n = &(*p).n; *n += id.x; (*p).x.y = 7u; b[a[id.x]].x[2] += 2u; }`,
    workgroups: [8, 1, 1],
    arrays: { a: Uint32Array.from({ length: 512 }, (_, i) => (i * 3) % 512), b: words(2048, 1000) },
    reference: ({ a, b }) =>
      a!.forEach((value, i) => {
        b![4 * value + 3]! += i;
        b![4 * value + 1] = 7;
        b![4 * value + 2]! += 2;
      }),
    windows: /^3:\d+: a single workgroup may touch elements 0 to 511 of 'b'/,
  },
  {
    name: 'histogram by atomics, with more bins than there is room for',
    source: `@group(0) @binding(0) var<storage> a: array<u32>; @group(0) @binding(1) var<storage, read_write> bins: array<atomic<u32>>;
@compute @workgroup_size(64) fn main(${ID}) { if (id.x < arrayLength(&a)) { atomicAdd(&bins[a[id.x] % arrayLength(&bins)], id.x); } }`,
    workgroups: [16, 1, 1],
    arrays: { a: words(1000), bins: new Uint32Array(2048) },
    reference: ({ a, bins }) =>
      a!.forEach((value, i) => {
        bins![value % 2048]! += i;
      }),
    windows: /^2:\d+: a single workgroup may touch elements 0 to 2047 of 'bins'/,
  },
  {
    name: 'following pointers in place',
    source: `@group(0) @binding(0) var<storage, read_write> next: array<u32>;
@compute @workgroup_size(64) fn main(${ID}) { next[id.x] = next[next[id.x]]; }`,
    workgroups: [32, 1, 1],
    arrays: { next: Uint32Array.from({ length: 2048 }, (_, i) => i - (i % 64)) },
    reference: () => {},
    windows: /^2:\d+: a single workgroup may touch elements 0 to 2047 of 'next'/,
  },
  {
    name: 'probing a hash table',
    source: `@group(0) @binding(0) var<storage> keys: array<u32>; @group(0) @binding(1) var<storage, read_write> b: array<u32>;
@group(0) @binding(2) var<storage> table: array<vec2u>;
@compute @workgroup_size(64) fn main(${ID}) { let key = keys[id.x]; var slot = (key * 2654435769u) >> 24u; var found = 0u;
  loop { let entry = table[slot]; if (entry.x == 0u) { break; } if (entry.x == key) { found = entry.y; break; } slot = (slot + 1u) % 256u; }
  b[id.x] = found; }`,
    workgroups: [32, 1, 1],
    arrays: { keys: words(2048, 300), b: new Uint32Array(2048), table: hashTable() },
    reference: ({ keys, b }) =>
      keys!.forEach((key, i) => {
        b![i] = key >= 1 && key <= 100 ? key * 3 : 0;
      }),
    windows: 'cut',
  },
  {
    name: 'product of a sparse matrix in rows',
    source: `@group(0) @binding(0) var<storage> rows: array<u32>; @group(0) @binding(1) var<storage> columns: array<u32>;
@group(0) @binding(2) var<storage> x: array<f32>; @group(0) @binding(3) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(32) fn main(${ID}) { if (id.x + 1u >= arrayLength(&rows)) { return; } var sum = 0f;
  for (var k = rows[id.x]; k < rows[id.x + 1u]; k++) { sum += x[columns[k]]; } y[id.x] = sum; }`,
    workgroups: [16, 1, 1],
    arrays: {
      rows: Uint32Array.from({ length: 501 }, (_, i) => 3 * i),
      columns: words(1500, 64),
      x: floats(64),
      y: new Float32Array(500),
    },
    reference: ({ columns, x, y }) =>
      y!.forEach((_, i) => {
        y![i] = [0, 1, 2].reduce((all, k) => all + x![columns![3 * i + k]!]!, 0);
      }),
    windows: 0.85,
  },
  {
    name: 'binary search in a sorted table',
    source: `${AB} @group(0) @binding(2) var<storage> table: array<u32>;
@compute @workgroup_size(64) fn main(${ID}) { var lo = 0u; var hi = arrayLength(&table);
  while (lo < hi) { let middle = (lo + hi) / 2u; if (table[middle] < a[id.x]) { lo = middle + 1u; } else { hi = middle; } } b[id.x] = lo; }`,
    workgroups: [32, 1, 1],
    arrays: {
      a: words(2048, 300),
      b: new Uint32Array(2048),
      table: Uint32Array.from({ length: 100 }, (_, i) => 3 * i),
    },
    reference: ({ a, b }) =>
      a!.forEach((value, i) => {
        b![i] = Math.min(100, Math.ceil(value / 3));
      }),
    windows: 'cut',
  },
  {
    name: 'a value that changes by what index it is stored comes after the index',
    source: `${AB} @group(0) @binding(2) var<storage> table: array<u32>;
fn moved(p: ptr<function, u32>, x: u32) -> u32 { *p += 1u; return table[(*p + x) % 100u]; }
@compute @workgroup_size(64) fn main(${ID}) { var place = id.x; b[place] = moved(&place, a[id.x]); }`,
    workgroups: [32, 1, 1],
    arrays: { a: words(2048, 100), b: new Uint32Array(2048), table: words(100) },
    reference: ({ a, b, table }) =>
      a!.forEach((x, i) => {
        b![i] = table![(i + 1 + x) % 100]!;
      }),
    windows: 'cut',
  },
  {
    name: 'functions whose last loop only a return leaves, and comments with others in them',
    source: `${AB} @group(0) @binding(2) var<storage> table: array<u32>;
fn nested(x: u32) -> u32 { { var at = x; loop /* { */ { at = table[at]; if (at % 3u == 0u) { return at; } } } }
fn either(x: u32) -> u32 { if (x % 2u == 0u) { return x; } else { var at = x; loop { at = table[at]; if (at % 5u == 0u) { return at; } } } }
fn chosen(x: u32) -> u32 { switch (x % 3u) { case 0u: { return x; } default: { var at = x; loop { at = table[at]; if (at % 7u == 0u) { return at; } } } } }
@compute @workgroup_size(64) fn main(${ID}) { let x = a[id.x]; b[id.x /* one of // each /* its own */ */] += nested(x) + // and
  100u * either(x) + 10000u * chosen(x); }`,
    workgroups: [32, 1, 1],
    arrays: {
      a: words(2048, 90),
      b: new Uint32Array(2048),
      table: Uint32Array.from({ length: 100 }, (_, i) => i + 1),
    },
    reference: ({ a, b }) =>
      a!.forEach((x, i) => {
        const next = (by: number) => x + by - (x % by);
        b![i] = next(3) + 100 * (x % 2 === 0 ? x : next(5)) + 10_000 * (x % 3 === 0 ? x : next(7));
      }),
    windows: 'cut',
  },
  {
    name: 'all of a workgroup return in a loop, or none, before they wait',
    source: `${AB} @group(0) @binding(2) var<storage> table: array<u32>; var<workgroup> s: array<u32, 64>;
@compute @workgroup_size(64) fn main(${ID}, ${L}, ${G}) { for (var i = 0u; i < 4u; i++) { if (table[w.x + i] == 7u) { return; } }
  s[l.x] = table[a[id.x]]; workgroupBarrier(); b[id.x] = s[63u - l.x]; }`,
    workgroups: [32, 1, 1],
    arrays: {
      a: words(2048, 100),
      b: new Uint32Array(2048),
      table: Uint32Array.from({ length: 100 }, (_, i) => i % 10),
    },
    reference: ({ a, b, table }) =>
      b!.forEach((_, i) => {
        const group = i >> 6;
        if (!table!.subarray(group, group + 4).includes(7)) b![i] = table![a![i ^ 63]!]!;
      }),
    windows: 'cut',
  },
  {
    name: 'all of a workgroup go by a number that one of them has looked up',
    source: `@group(0) @binding(0) var<storage> table: array<u32>; @group(0) @binding(1) var<storage> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> b: array<u32>; var<workgroup> first: u32; var<workgroup> sum: atomic<u32>;
@compute @workgroup_size(64) fn main(${ID}, @builtin(local_invocation_index) l: u32) {
  if (l == 0u) { first = table[ids[id.x]]; }
  let turns = workgroupUniformLoad(&first) % 4u;
  for (var turn = 0u; turn <= turns; turn++) { atomicAdd(&sum, table[ids[(id.x + turn) % arrayLength(&ids)]]); workgroupBarrier(); }
  if (workgroupUniformLoad(&first) > 500u) { b[id.x] = atomicLoad(&sum); } else { b[id.x] = turns; } }`,
    workgroups: [8, 1, 1],
    arrays: { table: words(4096, 1000), ids: words(512, 4096), b: new Uint32Array(512) },
    reference: ({ table, ids, b }) => {
      for (let group = 0; group < 8; group++) {
        const first = table![ids![64 * group]!]!;
        let sum = 0;
        for (let turn = 0; turn <= first % 4; turn++)
          for (let l = 0; l < 64; l++) sum += table![ids![(64 * group + l + turn) % 512]!]!;
        b!.fill(first > 500 ? sum : first % 4, 64 * group, 64 * group + 64);
      }
    },
    windows: /a single workgroup may touch elements 0 to 4095 of 'table'/,
    leastPaged: 1 / 2,
  },
  {
    name: 'a list with its length before it',
    source: `struct List { count: u32, items: array<u32> } @group(0) @binding(0) var<storage> list: List;
@group(0) @binding(1) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(64) fn main(${ID}) { b[id.x] = list.items[id.x % min(list.count, arrayLength(&list.items))]; }`,
    workgroups: [32, 1, 1],
    arrays: {
      list: Uint32Array.from({ length: 51 }, (_, i) => (i === 0 ? 40 : i * 9)),
      b: new Uint32Array(2048),
    },
    reference: ({ list, b }) =>
      b!.forEach((_, i) => {
        b![i] = list![1 + (i % 40)]!;
      }),
    windows: 'cut',
  },
  {
    name: 'an array of a fixed length',
    source: `@group(0) @binding(0) var<storage> weights: array<f32, 4>; @group(0) @binding(1) var<storage, read_write> b: array<f32>;
@compute @workgroup_size(64) fn main(${ID}) { b[id.x] *= weights[id.x & 3u]; }`,
    workgroups: [32, 1, 1],
    arrays: { weights: floats(4), b: floats(2048) },
    reference: ({ weights, b }) =>
      b!.forEach((value, i) => {
        b![i] = value * weights![i & 3]!;
      }),
    windows: 'cut',
  },
];

/** Keys 1 to 100 with three times the key, and linear probing. */
function hashTable(): Uint32Array {
  const table = new Uint32Array(512);
  for (let key = 1; key <= 100; key++) {
    let slot = Math.imul(key, 2654435769 | 0) >>> 24;
    while (table[2 * slot] !== 0) slot = (slot + 1) % 256;
    table.set([key, 3 * key], 2 * slot);
  }
  return table;
}
