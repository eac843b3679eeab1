/**
 * Results of atomics that are used, and places that come from what the same launch writes:
 * invocations go on where they lacked a page.
 */
import { ID, type KernelCase, words } from '../kernel-case.js';

const L = '@builtin(local_invocation_index) l: u32';
const A = '@group(0) @binding(0) var<storage> a: array<u32>;';
const COUNT = '@group(0) @binding(1) var<storage, read_write> count: array<atomic<u32>>;';
const OUT = '@group(0) @binding(2) var<storage, read_write> out: array<u32>;';

/** Of 1024 numbers the odd ones are kept, and counted. */
const ODD_ONES: Pick<KernelCase, 'workgroups' | 'arrays' | 'reference' | 'ordered'> = {
  workgroups: [16, 1, 1],
  arrays: { a: words(1024, 4000), count: new Uint32Array(1), out: new Uint32Array(1024) },
  reference: ({ a, count, out }) => {
    const kept = a!.filter((each) => each % 2 === 1);
    count![0] = kept.length;
    out!.set(kept);
  },
  ordered: ({ out }) => out!.sort(),
};

export const RESUMED: readonly KernelCase[] = [
  {
    name: 'what is kept is put one behind the other',
    source: `${A} ${COUNT} ${OUT}
@compute @workgroup_size(64) fn main(${ID}) { let x = a[id.x]; if ((x & 1u) == 0u) { return; } let slot = atomicAdd(&count[0], 1u); out[slot] = x; }`,
    ...ODD_ONES,
    windows: /^2:\d+: a single workgroup may touch elements 0 to 1023 of 'out'/,
  },
  {
    name: 'what is kept is put where an atomic says, within the store',
    source: `${A} ${COUNT} @group(0) @binding(2) var<storage, read_write> out: array<vec2u>;
fn next() -> u32 { return atomicAdd(&count[0], 1u); }
@compute @workgroup_size(64) fn main(${ID}) { if (a[id.x] % 3u == 0u) { out[ // the place
    next()].y = id.x; } out[next()] = vec2u(a[id.x], atomicAdd(&count[1], 2u) & 1u); }`,
    workgroups: [8, 1, 1],
    arrays: { a: words(512, 4000), count: new Uint32Array(2), out: new Uint32Array(2048) },
    reference: ({ a, count, out }) => {
      a!.forEach((x, i) => {
        if (x % 3 === 0) out![2 * count![0]!++ + 1] = i;
        out![2 * count![0]!++] = x;
      });
      count![1] = 1024;
    },
    ordered: ({ out }) => out!.sort(),
    windows: /a single workgroup may touch/,
  },
  {
    name: 'sorting by counting: places are handed out for each key',
    source: `${A} @group(0) @binding(1) var<storage, read_write> next: array<atomic<i32>>; ${OUT}
@compute @workgroup_size(64) fn main(${ID}) { let key = a[id.x]; let at = atomicAdd(&next[key], 1i); out[at] = key * 10000u + id.x; }`,
    workgroups: [16, 1, 1],
    arrays: {
      a: words(1024, 200),
      next: firstPlaces(words(1024, 200), 200),
      out: new Uint32Array(1024),
    },
    reference: ({ a, next, out }) =>
      a!.forEach((key, i) => {
        out![next![key]!++] = key * 10000 + i;
      }),
    ordered: ({ out }) => out!.sort(),
    windows: /a single workgroup may touch/,
  },
  {
    name: 'a hash table is filled',
    source: `${A} @group(0) @binding(1) var<storage, read_write> keys: array<atomic<u32>>; @group(0) @binding(2) var<storage, read_write> sums: array<atomic<u32>>;
@compute @workgroup_size(64) fn main(${ID}) { let key = a[id.x] + 1u; var slot = (key * 2654435769u) >> 22u;
  loop { let found = atomicCompareExchangeWeak(&keys[slot], 0u, key);
    if (found.exchanged || found.old_value == key) { break; }
    if (found.old_value != 0u) { slot = (slot + 1u) % 1024u; } }
  atomicAdd(&sums[slot], id.x); }`,
    workgroups: [16, 1, 1],
    arrays: { a: words(1024, 500), keys: new Uint32Array(1024), sums: new Uint32Array(1024) },
    reference: ({ a, keys, sums }) =>
      a!.forEach((each, i) => {
        let slot = Math.imul(each + 1, 2654435769 | 0) >>> 22;
        while (keys![slot] !== 0 && keys![slot] !== each + 1) slot = (slot + 1) % 1024;
        keys![slot] = each + 1;
        sums![slot]! += i;
      }),
    ordered: ({ keys, sums }) => {
      const pairs = [...keys!]
        .map((key, at) => [key, sums![at]!] as const)
        .sort(([one], [other]) => one - other);
      keys!.set(pairs.map(([key]) => key));
      sums!.set(pairs.map(([, sum]) => sum));
    },
    windows: /a single workgroup may touch/,
  },
  {
    name: 'lists that are linked by exchanging their heads',
    source: `${A} struct Node { value: u32, next: u32 } @group(0) @binding(1) var<storage, read_write> heads: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> nodes: array<Node>; @group(0) @binding(3) var<storage, read_write> free: atomic<u32>;
@compute @workgroup_size(64) fn main(${ID}) { let at = atomicAdd(&free, 1u); let node = &nodes[at]; (*node).value = id.x;
  node.next = atomicExchange(&heads[a[id.x]], at + 1u); }`,
    workgroups: [16, 1, 1],
    arrays: {
      a: words(1024, 100),
      heads: new Uint32Array(100),
      nodes: new Uint32Array(2048),
      free: new Uint32Array(1),
    },
    reference: ({ a, heads, nodes, free }) =>
      a!.forEach((list, i) => {
        const at = free![0]!++;
        nodes!.set([i, heads![list]!], 2 * at);
        heads![list] = at + 1;
      }),
    ordered: ({ heads, nodes }) => {
      const lists = [...heads!].map((head) => {
        const values: number[] = [];
        for (let at = head; at !== 0; at = nodes![2 * at - 1]!) values.push(nodes![2 * at - 2]!);
        return [...values.sort((one, other) => one - other), -1];
      });
      nodes!.fill(0);
      nodes!.set(lists.flat());
      heads!.fill(0);
    },
    windows: /a single workgroup may touch/,
  },
  {
    name: 'workgroups put what they keep one behind the other',
    source: `${A} ${COUNT} ${OUT} var<workgroup> s: array<u32, 64>; var<workgroup> begin: u32; var<workgroup> all: atomic<u32>;
@compute @workgroup_size(64) fn main(${ID}, ${L}) { let x = a[(id.x * 7u) % arrayLength(&a)]; let isKept = (x & 1u) == 1u; s[l] = u32(isKept);
  atomicAdd(&all, u32(isKept)); workgroupBarrier();
  for (var step = 1u; step < 64u; step *= 2u) { var t = 0u; if (l >= step) { t = s[l - step]; } workgroupBarrier(); s[l] += t; workgroupBarrier(); }
  if (l == 0u) { begin = atomicAdd(&count[0], atomicLoad(&all)); } workgroupBarrier();
  if (isKept) { out[begin + s[l] - 1u] = x; } }`,
    ...ODD_ONES,
    // A workgroup reads a seventh of what there is, page by page.
    leastPaged: 0.6,
    windows: /a single workgroup may touch/,
  },
  {
    name: 'the invocation that comes last adds up what the others have counted',
    source: `${A} @group(0) @binding(1) var<storage, read_write> bins: array<atomic<u32>>; @group(0) @binding(2) var<storage, read_write> done: atomic<u32>;
${OUT.replace('binding(2)', 'binding(3)')}
@compute @workgroup_size(64) fn main(${ID}) { atomicAdd(&bins[a[id.x]], id.x);
  if (atomicAdd(&done, 1u) == arrayLength(&a) - 1u) { for (var i = 0u; i < 100u; i++) { out[i] = atomicLoad(&bins[i]); } } }`,
    workgroups: [8, 1, 1],
    arrays: {
      a: words(512, 100),
      bins: new Uint32Array(100),
      done: new Uint32Array(1),
      out: new Uint32Array(100),
    },
    reference: ({ a, bins, done, out }) => {
      a!.forEach((each, i) => {
        bins![each]! += i;
      });
      out!.set(bins!);
      done![0] = a!.length;
    },
    // It goes over seven pages, one after the other.
    leastPaged: 0.3,
    windows: /^\d+:\d+: what the atomics of one part of the launch find in/,
  },
  {
    name: 'what a launch has written says where it reads',
    source: `${A} @group(0) @binding(1) var<storage, read_write> b: array<vec4f>; @group(0) @binding(2) var<storage, read_write> c: array<u32>;
fn moved(p: ptr<storage, u32, read_write>) -> u32 { *p += 1u; return *p; }
@compute @workgroup_size(64) fn main(${ID}) { let at = moved(&c[a[id.x]]); let seen = b[at]; c[a[id.x]] = a[at] * 2u;
  if (c[a[id.x]] % 4u == 0u) { b[at] = seen * 2f + vec4f(b[at].x); } else { b[at].z = seen.x + f32(a[c[a[id.x]] % 1024u]); } }`,
    workgroups: [16, 1, 1],
    arrays: {
      // All of its indices lie within: what is read beyond an array depends on the GPU.
      a: Uint32Array.from({ length: 1025 }, (_, i) => (i * 5) % 1024),
      b: Float32Array.from({ length: 4100 }, (_, i) => i % 50),
      c: Uint32Array.from({ length: 1024 }, (_, i) => (i * 3 + 1023) % 1024),
    },
    reference: ({ a, b, c }) =>
      a!.slice(0, 1024).forEach((own) => {
        const at = c![own]! + 1;
        const seen = b!.slice(4 * at, 4 * at + 4);
        c![own] = a![at]! * 2;
        if (c![own]! % 4 === 0)
          b!.set(
            seen.map((each) => each * 2 + seen[0]!),
            4 * at,
          );
        else b![4 * at + 2] = seen[0]! + a![c![own]! % 1024]!;
      }),
    windows: /a single workgroup may touch/,
  },
  {
    name: 'what a function counts is an argument within the store, and so is what it counts by',
    source: `${A} ${COUNT} @group(0) @binding(2) var<storage, read_write> out: array<i32>;
fn counted(key: u32) -> u32 { return atomicAdd(&count[key], 1u); } fn link(at: u32) -> u32 { return a[at]; }
@compute @workgroup_size(64) fn main(${ID}) { out[id.x] = select(1, 2, counted(link(link(id.x))) > 3u); }`,
    workgroups: [16, 1, 1],
    arrays: { a: words(1024, 100), count: new Uint32Array(100), out: new Int32Array(1024) },
    reference: ({ a, count, out }) =>
      a!.forEach((each, i) => {
        out![i] = count![a![each]!]!++ > 3 ? 2 : 1;
      }),
    ordered: ({ out }) => out!.sort(),
    windows: /a single workgroup may touch/,
  },
  {
    name: 'numbers that are drawn within stores are drawn once',
    source: `${A} ${COUNT} ${OUT} @group(0) @binding(3) var<storage, read_write> c: array<u32>; var<private> drawn = 0u;
fn draw(state: ptr<function, u32>) -> u32 { *state = *state * 1664525u + 1013904223u; drawn++; return *state >> 8u; }
@compute @workgroup_size(64) fn main(${ID}) { var state = id.x; c[a[id.x]] = draw(&state); c[a[(id.x + 1u) % 1024u] + 1024u] += draw(&state) + drawn;
  out[atomicAdd(&count[0], 1u)] = draw(&state); c[a[(id.x + 2u) % 1024u] + 2048u] = drawn + draw(&state); }`,
    workgroups: [16, 1, 1],
    arrays: {
      a: Uint32Array.from({ length: 1024 }, (_, i) => (i * 5) % 1024),
      count: new Uint32Array(1),
      out: new Uint32Array(1024),
      c: words(3072),
    },
    reference: ({ a, count, out, c }) =>
      a!.forEach((own, i) => {
        let state = i;
        const draw = () => {
          state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
          return state >>> 8;
        };
        c![own] = draw();
        c![a![(i + 1) % 1024]! + 1024]! += draw() + 2;
        out![count![0]!++] = draw();
        c![a![(i + 2) % 1024]! + 2048] = 3 + draw();
      }),
    ordered: ({ out }) => out!.sort(),
    windows: /a single workgroup may touch/,
  },
  {
    name: 'places in a workgroup by a counter that it shares are refused',
    source: `${A} ${COUNT} ${OUT} var<workgroup> kept: atomic<u32>; var<workgroup> begin: u32;
@compute @workgroup_size(64) fn main(${ID}, ${L}) { let at = atomicAdd(&kept, 1u); workgroupBarrier();
  if (l == 0u) { begin = atomicAdd(&count[0], atomicLoad(&kept)); } workgroupBarrier(); out[begin + at] = a[id.x]; }`,
    workgroups: [8, 1, 1],
    arrays: { a: words(512, 4000), count: new Uint32Array(1), out: new Uint32Array(512) },
    reference: ({ a, count, out }) => {
      count![0] = 512;
      out!.set(a!);
    },
    ordered: ({ out }) => out!.sort(),
    unpaged:
      /^2:\d+: what atomicAdd gives back of memory of the workgroup is different when the workgroup is run again/,
    windows: /a single workgroup may touch/,
  },
  {
    name: 'a structure that the kernel writes is refused as a whole',
    source: `${A} struct Node { value: u32, next: u32 } @group(0) @binding(1) var<storage, read_write> nodes: array<Node>;
@compute @workgroup_size(64) fn main(${ID}) { let node = nodes[id.x]; nodes[id.x].value = a[node.value]; }`,
    workgroups: [4, 1, 1],
    arrays: { a: words(256, 256), nodes: words(512, 256) },
    reference: ({ a, nodes }) => {
      for (let i = 0; i < 512; i += 2) nodes![i] = a![nodes![i]!]!;
    },
    unpaged: /^2:\d+: what is read here the kernel itself writes, and it is no number or vector/,
    windows: 0.75,
  },
  {
    name: 'more results than a log has room for',
    source: `${A} ${COUNT} ${OUT}
@compute @workgroup_size(64) fn main(${ID}) { var sum = 0u; for (var i = 0u; i < 128u; i++) { sum += atomicLoad(&count[i]); }
  atomicAdd(&count[200], sum); out[a[id.x]] = atomicAdd(&count[201], 1u) * 0u; }`,
    workgroups: [4, 1, 1],
    arrays: { a: words(256, 256), count: new Uint32Array(256), out: new Uint32Array(256) },
    reference: ({ count }) => {
      count![201] = 256;
    },
    unpaged:
      /^a single invocation uses more than 127 results of atomics and of reads of what the kernel writes/,
    leastPaged: 0.5,
    windows: /may touch|find in/,
  },
];

/** Where each key's places begin. */
function firstPlaces(keys: Uint32Array, below: number): Int32Array {
  const counts = new Int32Array(below);
  for (const key of keys) counts[key]!++;
  let before = 0;
  return counts.map((count) => {
    before += count;
    return before - count;
  });
}
