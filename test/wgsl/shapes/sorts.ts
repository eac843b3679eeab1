/** Sorts, scans, compactions, searches and graphs. */
import { floats, words } from '../kernel-case.js';
import { type Shape, shape } from './shape.js';

const N = 4096;
const GROUPS = [N / 64, 1, 1] as const;
const zeros = (length: number): Uint32Array => new Uint32Array(length);
const SCAN = `for (var s = 1u; s < 64u; s <<= 1u) { var more = 0u; if (lane >= s) { more = part[lane - s]; } workgroupBarrier(); part[lane] += more; workgroupBarrier(); }`;
const PART = 'var<workgroup> part: array<u32, 64>;';
const offsets = (count: number, step: number): Uint32Array =>
  Uint32Array.from({ length: count }, (_, i) => i * step);

export const SORTS: readonly Shape[] = [
  shape('scan of each block', {
    bound: ['in x u32', 'inout y u32', 'inout sums u32'],
    more: PART,
    body: `part[lane] = x[id.x]; workgroupBarrier(); ${SCAN} y[id.x] = part[lane]; if (lane == 63u) { sums[group.x] = part[63]; }`,
    workgroups: GROUPS,
    arrays: { x: words(N, 100), y: zeros(N), sums: zeros(64) },
  }),
  shape('sums of blocks added', {
    bound: ['inout y u32', 'in sums u32'],
    body: 'if (group.x > 0u) { y[id.x] += sums[group.x - 1u]; }',
    workgroups: GROUPS,
    arrays: { y: words(N, 100), sums: words(64, 1000) },
  }),
  shape('a step of a scan over all', {
    bound: ['in x u32', 'inout y u32', 'uniform step u32'],
    body: 'let i = id.x; if (i >= arrayLength(&x)) { return; } if (i >= step) { y[i] = x[i] + x[i - step]; } else { y[i] = x[i]; }',
    workgroups: GROUPS,
    arrays: { x: words(N, 100), y: zeros(N) },
    uniforms: { step: 512 },
  }),
  shape('counts of digits by blocks', {
    bound: ['in keys u32', 'inout counts u32', 'uniform p P'],
    more: 'struct P { shift: u32, blocks: u32 } var<workgroup> own: array<atomic<u32>, 16>;',
    body: `if (lane < 16u) { atomicStore(&own[lane], 0u); } workgroupBarrier(); atomicAdd(&own[(keys[id.x] >> p.shift) & 15u], 1u); workgroupBarrier();
  if (lane < 16u) { counts[lane * p.blocks + group.x] = atomicLoad(&own[lane]); }`,
    workgroups: GROUPS,
    arrays: { keys: words(N), counts: zeros(16 * 64) },
    uniforms: { p: { shift: 4, blocks: 64 } },
  }),
  shape('keys to where their digits begin', {
    bound: ['in keys u32', 'in offsets u32', 'inout sorted u32'],
    body: 'if (id.x < arrayLength(&keys)) { sorted[offsets[id.x]] = keys[id.x]; }',
    workgroups: GROUPS,
    arrays: {
      keys: words(N),
      offsets: Uint32Array.from({ length: N }, (_, i) => (i * 2731) % N),
      sorted: zeros(N),
    },
  }),
  shape('a step of a bitonic sort', {
    bound: ['inout x u32', 'uniform p P'],
    more: 'struct P { wide: u32, far: u32 }',
    body: `let low = id.x; let high = low ^ p.far; if (high > low && high < arrayLength(&x)) { let up = (low & p.wide) == 0u;
    let a = x[low]; let b = x[high]; if ((a > b) == up) { x[low] = b; x[high] = a; } }`,
    workgroups: GROUPS,
    arrays: { x: words(N) },
    uniforms: { p: { wide: 128, far: 16 } },
  }),
  shape('a bitonic sort of each block', {
    bound: ['inout x u32'],
    more: PART,
    body: `part[lane] = x[id.x]; workgroupBarrier(); for (var k = 2u; k <= 64u; k <<= 1u) { for (var j = k >> 1u; j > 0u; j >>= 1u) {
    let other = lane ^ j; let own = part[lane]; let his = part[other]; workgroupBarrier();
    let keepsLow = ((lane & k) == 0u) == (lane < other); part[lane] = select(max(own, his), min(own, his), keepsLow); workgroupBarrier(); } } x[id.x] = part[lane];`,
    workgroups: GROUPS,
    arrays: { x: words(N) },
  }),
  shape('odd and even neighbours change places', {
    bound: ['inout x u32', 'uniform odd u32'],
    body: 'let i = 2u * id.x + odd; if (i + 1u < arrayLength(&x)) { let a = x[i]; let b = x[i + 1u]; x[i] = min(a, b); x[i + 1u] = max(a, b); }',
    workgroups: [N / 128, 1, 1],
    arrays: { x: words(N) },
    uniforms: { odd: 1 },
  }),
  shape('what is kept, by scanned flags', {
    bound: ['in x u32', 'in places u32', 'inout kept u32'],
    body: 'let i = id.x; if (i + 1u < arrayLength(&x) && places[i + 1u] > places[i]) { kept[places[i]] = x[i]; }',
    workgroups: GROUPS,
    arrays: {
      x: words(N),
      places: Uint32Array.from({ length: N }, (_, i) => Math.floor((i + 1) / 2)),
      kept: zeros(N),
    },
  }),
  shape('where keys are, by halves', {
    bound: ['in sorted u32', 'in keys u32', 'inout found u32'],
    body: `if (id.x >= arrayLength(&keys)) { return; } var low = 0u; var high = arrayLength(&sorted);
  while (low < high) { let middle = (low + high) / 2u; if (sorted[middle] < keys[id.x]) { low = middle + 1u; } else { high = middle; } } found[id.x] = low;`,
    workgroups: [8, 1, 1],
    arrays: { sorted: offsets(N, 3), keys: words(512, 3 * N), found: zeros(512) },
  }),
  shape('degrees of a graph', {
    bound: ['in edges vec2u', 'inout degree atomic<u32>'],
    body: 'if (id.x < arrayLength(&edges)) { atomicAdd(&degree[edges[id.x].x], 1u); atomicAdd(&degree[edges[id.x].y], 1u); }',
    workgroups: [N / 128, 1, 1],
    arrays: { edges: words(N, 1024), degree: zeros(1024) },
  }),
  shape('a step of a search in breadth', {
    bound: [
      'in begins u32',
      'in targets u32',
      'in level u32',
      'inout next u32',
      'uniform depth u32',
    ],
    body: `if (id.x >= arrayLength(&level)) { return; } var own = level[id.x]; if (own > depth) { for (var j = begins[id.x]; j < begins[id.x + 1u]; j++) {
    if (level[targets[j]] == depth) { own = depth + 1u; } } } next[id.x] = own;`,
    workgroups: [16, 1, 1],
    arrays: {
      begins: offsets(1025, 4),
      targets: words(4096, 1024),
      level: Uint32Array.from({ length: 1024 }, (_, i) => (i % 50 === 0 ? 2 : 99)),
      next: zeros(1024),
    },
    uniforms: { depth: 2 },
  }),
  shape('ranks of pages', {
    bound: ['in begins u32', 'in sources u32', 'in rank f32', 'inout next f32'],
    body: `if (id.x >= arrayLength(&next)) { return; } var sum = 0.25; for (var j = begins[id.x]; j < begins[id.x + 1u]; j++) { sum += 0.5 * rank[sources[j]]; } next[id.x] = sum;`,
    workgroups: [16, 1, 1],
    arrays: {
      begins: offsets(1025, 4),
      sources: words(4096, 1024),
      rank: floats(1024),
      next: new Float32Array(1024),
    },
  }),
];
