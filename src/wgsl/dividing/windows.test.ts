import { expect, test } from 'vitest';
import { finished } from '../analysis/slices.js';
import { describe } from '../reading/describe.js';
import { loadParser } from '../reading/parser.js';
import { windowed } from '../rewriting/windowed.js';
import { type LaunchPart, windowSlices } from './windows.js';

const parser = await loadParser();
const HEAD = `@group(0) @binding(0) var<storage> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<f32>; @group(0) @binding(2) var<storage, read_write> n: array<atomic<u32>>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { let i = id.x; `;

function plan(body: string, budgetBytes: number, more: object = {}) {
  const lengths = { a: 4096, b: 4096, n: 8 };
  const launch = { workgroups: [64, 1, 1] as const, lengths, uniforms: {} };
  const limits = { budgetBytes, bindingBytes: 2 ** 27, alignmentBytes: 256, ...more };
  return finished(windowSlices(describe(parser, `${HEAD}${body} }`), launch, limits));
}

function parts(body: string, budgetBytes: number, more?: object): readonly LaunchPart[] {
  const planned = plan(body, budgetBytes, more);
  if (planned.kind === 'refused') throw new Error(planned.reason);
  return planned.parts;
}

const shown = ({ first, count, windows }: LaunchPart) =>
  `${first[0]}+${count[0]}: ${windows.map(({ resource, begin, end }) => `${resource.name} ${begin}..${end}`).join(', ')}`;

test('what fits is one part with all that is touched', () => {
  expect(parts('b[i] = a[i];', 32_768).map(shown)).toEqual(['0+64: a 0..4096, b 0..4096']);
});

test('parts cover all workgroups, and their windows what these touch, with a halo at aligned places', () => {
  const body = 'b[i] = a[max(i, 1u) - 1u] + a[min(i + 1u, 4095u)];';
  expect(parts(body, 18_000).map(shown)).toEqual([
    '0+35: a 0..2241, b 0..2240',
    '35+29: a 2176..4096, b 2240..4096',
  ]);
});

test('a window is never larger than a binding', () => {
  const all = parts('b[i] = a[i];', 2 ** 20, { bindingBytes: 4096 });
  expect(all.length).toBe(4);
  expect(all.flatMap(({ windows }) => windows.map(({ bytes }) => bytes))).toEqual(
    Array(8).fill(4096),
  );
});

test('an array that every part needs whole is in all of them', () => {
  const all = parts('b[i] = a[i]; atomicAdd(&n[u32(a[i]) % 8u], 1u);', 9000);
  for (const { windows } of all)
    expect(windows[2]).toMatchObject({ begin: 0, end: 8, written: true });
  expect(all.reduce((sum, { count }) => sum + count[0], 0)).toBe(64);
});

test('a store beyond the array is one to its last element, which is then in the window', () => {
  const [first] = parts('b[i - 1u] = 1;', 2 ** 20);
  expect(first!.windows[0]).toMatchObject({ begin: 0, end: 4096 });
  const all = parts('b[i + 100u] = 1;', 8192);
  expect(all.map(({ windows }) => windows[0]!.end)).toEqual([2084, 4068, 4096]);
});

const TRANSPOSE = `@group(0) @binding(0) var<storage> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<f32>;
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) { b[id.x * 256u + id.y] = a[id.y * 256u + id.x]; }`;

test('rows that become columns are cut into tiles, each of which begins with what the one before it had of one array', () => {
  const launch = {
    workgroups: [32, 32, 1] as const,
    lengths: { a: 65_536, b: 65_536 },
    uniforms: {},
  };
  const limits = { budgetBytes: 2 ** 17, bindingBytes: 2 ** 27 };
  const planned = finished(windowSlices(describe(parser, TRANSPOSE), launch, limits));
  if (planned.kind === 'refused') throw new Error(planned.reason);
  // Of each array 256 KiB; in rows of workgroups each part would want all of one of them.
  const lines = planned.parts.map(({ first, count, windows: [read, written] }) => {
    expect(count).toEqual([8, 8, 1]);
    return `${first[0]},${first[1]}: ${read!.offsetBytes >> 10} to ${written!.offsetBytes >> 10}`;
  });
  expect(lines.slice(0, 6)).toEqual([
    '0,0: 0 to 0',
    '0,8: 64 to 0',
    '0,16: 128 to 0',
    '0,24: 192 to 0',
    '8,24: 192 to 64',
    '8,16: 128 to 64',
  ]);
  expect(new Set(lines).size).toBe(16);
});

test.each([
  [
    'b[i] = b[i + 7u];',
    /^3:103: one part of the launch may read elements of 'b' that another part has written/,
  ],
  ['b[i] = b[min(i + 1u, 4095u)];', /that another part has written/],
  // At 0 the difference wraps around, and GPUs read the last element for it.
  ['if (i < 64u) { b[i] = b[i - 1u]; } else { b[i] = 1; }', /that another part has written/],
  // 1024 << 22 is 0 again.
  ['let j = i << 22u; if (j < 64u) { b[j] = b[j + 1u]; }', /that another part has written/],
  [
    'b[i] = f32(atomicAdd(&n[0], 1u));',
    /^3:107: what the atomics of one part of the launch find in 'n' may depend on the other parts/,
  ],
  ['atomicAdd(&n[0], 1u); atomicMax(&n[1 + i % 2u], 7u); b[i] = 1;', /what the atomics/],
])('refused, since the parts would see each other: %s', (body, reason) => {
  const planned = plan(body, 12_000);
  expect(planned.kind === 'refused' && planned.reason).toMatch(reason);
});

test.each([
  [
    'b[i] = a[u32(a[i])];',
    8000,
    {},
    /^3:103: a single workgroup may touch elements 0 to 4095 of 'a', 16384 bytes, and all arrays/,
  ],
  [
    'b[i] = a[u32(a[i])];',
    2 ** 20,
    { bindingBytes: 8192 },
    /16384 bytes, and a binding has at most 8192/,
  ],
  ['b[i] = 1;', 1024, { maxParts: 9 }, /more than 9 parts/],
  // Both indices are affine, and neither reaches far.
  [
    'let t = b[i]; b[i] = b[4095u - i]; b[4095u - i] = t;',
    8000,
    {},
    /^3:104: a single workgroup may touch elements 0 to 63 of 'b' here and 4032 to 4095 at 3:117, a part has all between them, 16384 bytes.*; hand in the two places as two arguments, such as b\.range\(begin, end\), or give the results an array of their own$/,
  ],
])('refused, since it does not fit: %s', (body, budget, limits, reason) => {
  const planned = plan(body, budget, limits);
  expect(planned.kind === 'refused' && planned.reason).toMatch(reason);
});

test('an array that ends a structure which is handed on is in every part as a whole, which is said where that is too much', () => {
  const source = `struct List { count: u32, items: array<f32> } @group(0) @binding(0) var<storage> list: List;
@group(0) @binding(1) var<storage, read_write> b: array<f32>;
fn at(p: ptr<storage, List>, i: u32) -> f32 { return (*p).items[i]; }
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { b[id.x] = at(&list, id.x); }`;
  const launch = {
    workgroups: [64, 1, 1] as const,
    lengths: { list: 4095, b: 4096 },
    uniforms: {},
  };
  const planned = finished(
    windowSlices(describe(parser, source), launch, {
      budgetBytes: 8000,
      bindingBytes: 2 ** 27,
    }),
  );
  expect(planned.kind === 'refused' && planned.reason).toMatch(
    /^1:47: every part has all of 'list', which is no array<T> by itself, 16384 bytes, and .*; give its elements a variable of their own, of type array<T>$/,
  );
});

test.each([
  'b[i] = b[i] * 2;',
  'b[i] = 1; b[i] += 2;',
  'atomicAdd(&n[0], 1u); atomicSub(&n[1], 1u); b[i] = 1;',
])('cut, since each invocation has its own or the order does not matter: %s', (body) => {
  expect(parts(body, 9000).length).toBeGreaterThan(1);
});

test('the rewritten module keeps its lines, and has indices, lengths and ids of the whole launch', () => {
  const source = `${HEAD}if (i < arrayLength(&a)) {\n  b[i] = a[i + 1u]; }\n}`;
  const module = windowed(describe(parser, source));
  const lines = module.source.split('\n');
  expect(lines[2]).toContain(
    'onemem_id: vec3u) { let id = onemem_id + onemem_vec3u(onemem_part.invocation_x, onemem_part.invocation_y, onemem_part.invocation_z);',
  );
  expect(lines[2]).toContain('onemem_length_0(arrayLength(&a))');
  expect(lines[3]).toBe(
    '  b[onemem_at_1(onemem_u32(0 | (i)))] = a[onemem_at_0(onemem_u32(0 | (i + 1u)))]; }',
  );
  expect([module.group, module.binding]).toEqual([0, 3]);
});

test('the uniform of a part: its first invocation and workgroup, where windows begin, the last element where a length is asked for, all workgroups', () => {
  const description = describe(parser, `${HEAD}if (i < arrayLength(&b)) { b[i] = a[i]; } }`);
  const launch = { workgroups: [64, 1, 1] as const, lengths: { a: 4096, b: 4000 }, uniforms: {} };
  const planned = finished(
    windowSlices(description, launch, { budgetBytes: 16_384, bindingBytes: 2 ** 20 }),
  );
  if (planned.kind === 'refused') throw new Error(planned.reason);
  const words = new Uint32Array(windowed(description).uniformOf(planned.parts[1]!, launch));
  expect([...words]).toEqual([2048, 2048, 2048, 3999, 0, 0, 32, 0, 0, 64, 1, 1]);
});

test('a function that gets pointers to two arrays is refused with its position', () => {
  const source = `${HEAD} b[i] = at(&b, i) + at(&c, i); }
@group(0) @binding(3) var<storage, read_write> c: array<f32>;
fn at(p: ptr<storage, array<f32>, read_write>, i: u32) -> f32 { return (*p)[i]; }`;
  expect(() => windowed(describe(parser, source))).toThrow(
    /^5:77: this is 'b' at one call of the function and 'c' at another/,
  );
});
