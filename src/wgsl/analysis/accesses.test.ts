import { expect, test } from 'vitest';
import { describe } from '../reading/describe.js';
import { loadParser } from '../reading/parser.js';
import type { WorkgroupBox } from './access.js';
import { accessesOf } from './accesses.js';

const parser = await loadParser();
const PRELUDE = `struct P { n: u32, w: u32 } @group(0) @binding(0) var<uniform> p: P;
@group(0) @binding(1) var<storage, read_write> a: array<u32>; @group(0) @binding(2) var<storage, read_write> t: array<atomic<u32>>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u, @builtin(workgroup_id) w: vec3u, @builtin(local_invocation_id) l: vec3u) {
let i = id.x; `;

/** Kinds and ranges of what the body does with `a`, in workgroups 2 and 3 of 16: ids 128 to 255. */
function ranges(body: string, more = ''): string[] {
  const description = describe(parser, `${PRELUDE}${body} }\n${more}`);
  const launch = {
    workgroups: [16, 1, 1] as const,
    lengths: { a: 1000, t: 1000 },
    uniforms: { p: { n: 200, w: 10 } },
  };
  const box: WorkgroupBox = { first: [2, 0, 0], count: [2, 1, 1] };
  return accessesOf(description, launch, box)
    .accesses.filter(({ resource }) => resource.name === 'a')
    .map(({ kind, range }) => `${kind} ${range === null ? 'any' : `${range.lo}..${range.hi}`}`);
}

test.each([
  ['a[i] = 1;', 'store 128..255'],
  ['a[w.x * 64u + l.x] = 1;', 'store 128..255'],
  ['a[i - l.x] = 1;', 'store 128..192'],
  ['a[w.x] = 1;', 'store 2..3'],
  ['if (i < p.n) { a[i] = 1; }', 'store 128..199'],
  ['let j = i + 5u; if (i < p.n) { a[j] = 1; }', 'store 133..204'],
  ['if (p.n <= i) { return; } a[i] = 1;', 'store 128..199'],
  ['if (i >= p.n || i == 128u) { return; } a[i] = 1;', 'store 129..199'],
  ['if (!(i < p.n && i > 140u)) { return; } a[i] = 1;', 'store 141..199'],
  ['let inside = i < p.n; if (inside) { a[i] = 1; }', 'store 128..199'],
  ['if (all(id.xy < vec2u(p.n, 1))) { a[i] = 1; }', 'store 128..199'],
  ['a[min(i, p.n - 1u)] = 1;', 'store 128..199'],
  ['a[clamp(i32(i) - 130, 0, 50)] = 1;', 'store 0..50'],
  ['a[select(i, 7u, i > p.n)] = 1;', 'store 7..200'],
  ['a[i / 4u] = 1;', 'store 32..63'],
  ['a[i % 64u] = 1;', 'store 0..63'],
  ['a[(i >> 3u) << 3u] = 1;', 'store 128..248'],
  ['a[i & 7u] = 1;', 'store 0..7'],
  ['a[id.y * p.w + 3u] = 1;', 'store 3..3'],
  ['a[i - 128u] = 1;', 'store 0..127'],
  ['a[arrayLength(&a) - 1u - i] = 1;', 'store 744..871'],
  ['var j = 3u; j += i; a[j] = 1;', 'store 131..258'],
  ['var v = vec2u(i, 4u); v.y = v.x + 1u; a[v.y] = 1;', 'store 129..256'],
  ['let e = &a[i]; *e = 2;', 'store 128..255'],
  ['let m = mat2x2(1, 2, 3, f32(i)); a[i] = u32(m[1].y);', 'store 128..255'],
  ['for (var k = 0u; k < p.w; k++) { a[k] = 1; }', 'store 0..9'],
  ['for (var k = i; k < p.n; k += 2u) { a[k] = 1; }', 'store 128..199'],
  ['for (var k = 9; k >= 0; k--) { a[k] = 1; }', 'store 0..9'],
  ['for (var s = 32u; s > 0u; s >>= 1u) { a[s] = 1; }', 'store 1..32'],
  ['var k = 0u; while (k < p.w) { a[k] = 1; k += 3u; }', 'store 0..9'],
  ['var k = 0u; loop { if (k >= p.w) { break; } a[k] = 1; continuing { k++; } }', 'store 0..9'],
  ['var k = 0u; while (k < p.w) { k += 3u; } a[k] = 1;', 'store 0..12'],
  // The counter may pass the end of the type, and then it begins at 0 again.
  ['for (var k = i; k <= 4294967290u; k += 7u) { a[k] = 1; }', 'store 0..4294967290'],
  [
    'var k = 0u; loop { if (k >= p.w) { break; } if (k > 5u) { continue; } continuing { a[k] = 1; k++; } }',
    'store 0..10',
  ],
  [
    'for (var k = 0u; k < 4u; k++) { for (var m = k; m < 8u; m++) { a[k * 8u + m] = 1; } }',
    'store 0..31',
  ],
  ['var j = 0u; if (i < 200u) { j = 5u; } a[j] = 1;', 'store 0..5'],
  [
    'var j = 1u; switch (i) { case 130u: { j = 9u; } default: { j = 4u; } } a[j] = 1;',
    'store 4..9',
  ],
  ['if (i > 1000u) { a[i] = 1; } a[1] = 1;', 'store 1..1'],
  ['put(i + 1u);', 'store 129..256'],
  ['a[twice(i)] = 1;', 'store 256..510'],
  ['var j = i; raise(&j); a[j] = 1;', 'store 130..257'],
])('%s', (body, expected) => {
  const more = `fn put(at: u32) { a[at] = 1; } fn twice(x: u32) -> u32 { if (x == 0u) { return 0u; } return x * 2u; }
fn raise(x: ptr<function, u32>) { *x += 2u; }`;
  expect(ranges(body, more)).toEqual([expected]);
});

test('a compound assignment loads and stores, an atomic is one', () => {
  expect(ranges('a[i] += 1u;')).toEqual(['load 128..255', 'store 128..255']);
  const source = `${PRELUDE} atomicAdd(&t[i], 1u); let x = atomicMax(&t[0], 2u); }`;
  const { accesses } = accessesOf(describe(parser, source), null);
  expect(accesses.map(({ operation, resultUsed }) => [operation, resultUsed])).toEqual([
    ['atomicAdd', false],
    ['atomicMax', true],
  ]);
});

test('a difference below zero wraps around: only a guard brings it back', () => {
  const description = describe(
    parser,
    `${PRELUDE} let j = i - 1u; let x = a[j]; if (j < p.n) { a[j] = x; } }`,
  );
  const launch = {
    workgroups: [4, 1, 1] as const,
    lengths: { a: 256 },
    uniforms: { p: { n: 200, w: 0 } },
  };
  expect(accessesOf(description, launch).accesses.map(({ range }) => range)).toEqual([
    { lo: -1, hi: 254 },
    { lo: 0, hi: 199 },
  ]);
});

test.each([
  // The condition may be stepped over.
  'for (var k = 0u; k != p.n; k += 3u) { a[k] = 1; }',
  // A pointer changes it.
  'var k = 0u; let q = &k; loop { if (k >= p.n) { break; } *q = t_at(); a[k] = 1; k++; }',
  'a[atomicLoad(&t[i])] = 1;',
  'a[i * i * i * i] = 1;',
])('what is not bounded may be anything: %s', (body) => {
  const [only] = ranges(body, 'fn t_at() -> u32 { return atomicLoad(&t[0]); }');
  const [lo, hi] = only!.replace('store ', '').split('..').map(Number) as [number, number];
  expect(hi - lo).toBeGreaterThan(999);
});

/** Ranges of what a body does with `a` where numbers of floating point are known. */
function realRanges(body: string): string[] {
  const source = `struct P { size: vec2f, scale: f32 } @group(0) @binding(0) var<uniform> p: P;
@group(0) @binding(1) var<storage, read_write> a: array<u32>;
const TILE = 16.0; fn half(x: f32) -> f32 { return x / 2; }
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { ${body} }`;
  const launch = {
    workgroups: [1, 1, 1] as const,
    lengths: { a: 2 ** 20 },
    uniforms: { p: { size: [1000, 30], scale: 2.5 } },
  };
  return accessesOf(describe(parser, source), launch).accesses.map(
    ({ range }) => `${range?.lo}..${range?.hi}`,
  );
}

test.each([
  ['a[u32(p.size.x)] = 1;', '1000..1000'],
  ['a[u32(p.size.x * p.scale)] = 1;', '2500..2500'],
  ['for (var k = 0u; k < u32(p.size.y); k++) { a[k] = 1; }', '0..29'],
  ['a[i32(ceil(p.size.x / TILE))] = 1;', '63..63'],
  ['a[u32(-p.scale)] = 1;', '0..0'],
  ['a[u32(half(7))] = 1;', '3..3'],
  ['var s = 7; var x: f32 = 7; x = 9; a[u32(x / 2)] = 1;', '4..4'],
  ['a[u32(floor(p.size).y)] = 1;', '30..30'],
  // A quotient need not be exact: it may be a little less, and a whole number less.
  ['a[u32(p.size.x / 10.0)] = 1;', '99..100'],
  ['a[u32(1e30)] = 1;', '0..4294967295'],
  ['var x = 1.0; for (var k = 0; k < 3; k++) { x += 1.0; } a[u32(x)] = 1;', '0..4294967295'],
  ['a[bitcast<u32>(p.scale)] = 1;', '0..4294967295'],
])('numbers of floating point are followed: %s', (body, expected) => {
  expect(realRanges(body)).toEqual([expected]);
});

test('an index that wraps around lies at both ends', () => {
  const description = describe(parser, `${PRELUDE} a[(i + 900u) % 1000u] = 1; }`);
  const launch = { workgroups: [4, 1, 1] as const, lengths: { a: 1000 }, uniforms: {} };
  const [store] = accessesOf(description, launch).accesses;
  expect(store?.pieces(0)).toEqual([
    { lo: 0, hi: 155 },
    { lo: 900, hi: 999 },
  ]);
});

test('what a small array holds is known where the launch says it', () => {
  const description = describe(
    parser,
    `@group(0) @binding(0) var<storage> size: array<u32>; struct L { n: u32, items: array<u32> }
@group(0) @binding(1) var<storage> list: L; @group(0) @binding(2) var<storage, read_write> a: array<u32>;
@compute @workgroup_size(1) fn main() { a[size[1]] = list.n; a[list.n] = list.items[0]; }`,
  );
  const launch = {
    workgroups: [1, 1, 1] as const,
    lengths: { a: 100, size: 2, list: 5 },
    uniforms: { size: [7, 8], list: { n: 9, items: [] } },
  };
  const stores = accessesOf(description, launch).accesses.filter(({ kind }) => kind === 'store');
  expect(stores.map(({ range }) => range?.lo)).toEqual([8, 9]);
});

test('functions that call others twice, and so on, have no end worth waiting for', () => {
  const called = Array.from(
    { length: 30 },
    (_, at) => `fn f${at}(n: u32) -> u32 { return f${at + 1}(n) + f${at + 1}(n + 1u); }`,
  );
  const more = `${called.join('\n')}\nfn f30(n: u32) -> u32 { return n; }`;
  expect(() => ranges('a[f0(i)] = 1;', more)).toThrow(
    /takes more than 100000 steps until here; have functions call fewer others$/,
  );
});
