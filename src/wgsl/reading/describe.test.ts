import { expect, test } from 'vitest';
import { describe, uniformMembers } from './describe.js';
import { loadParser } from './parser.js';
import { WgslError } from './wgsl-error.js';

const parser = await loadParser();
const read = (source: string, entry?: string, overrides = {}) =>
  describe(parser, source, entry, { overrides });

/** What stands wrong, as the message begins. */
function wrong(source: string, entry?: string): string {
  try {
    read(source, entry);
  } catch (error) {
    expect(error).toBeInstanceOf(WgslError);
    return (error as WgslError).message;
  }
  throw new Error('nothing was refused');
}

const SAXPY = `
struct Params { alpha: f32, count: u32 }
@group(0) @binding(2) var<uniform> params: Params;
@group(0) @binding(0) var<storage> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<storage, read_write> unused: array<u32>;
fn add(i: u32) { y[i] += params.alpha * x[i]; }
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < params.count) { add(id.x); }
}`;

test('variables that the entry point and what it calls name, with their places, types and rights', () => {
  const { resources, entryPoint } = read(SAXPY);
  expect(
    resources.map(({ name, binding, space, access }) => [name, binding, space, access]),
  ).toEqual([
    ['x', 0, 'storage', 'read'],
    ['y', 1, 'storage', 'read_write'],
    ['params', 2, 'uniform', 'read'],
  ]);
  expect(resources[0]).toMatchObject({
    runtimeArray: { stride: 4, length: null },
    position: { line: 4, column: 1 },
  });
  expect(entryPoint.workgroupSize).toEqual([64, 1, 1]);
});

test('variables of one place are refused only where an entry point uses both', () => {
  const { resources } = read(`@group(0) @binding(0) var<storage> a: array<u32>;
@group(0) @binding(0) var<storage> b: array<f32>;
@compute @workgroup_size(1) fn main() { let n = arrayLength(&b); }`);
  expect(resources.map(({ name }) => name)).toEqual(['b']);
});

test('what other shaders of the module have is left alone', () => {
  const { entryPoint, functions } = read(`
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@group(1) @binding(0) var image: texture_2d<f32>; @group(1) @binding(1) var images: binding_array<texture_2d<f32>, 4>;
struct Seen { @builtin(position) at: vec4f, @location(0) @interpolate(flat, either) id: u32 }
@vertex fn see(@builtin(vertex_index) i: u32) -> Seen { return Seen(vec4f(), i); }
fn hide(a: f32) { if (a > 1.0) { discard; } }
@fragment fn draw(seen: Seen) -> @location(0) vec4f { hide(seen.at.x); return textureLoad(image, vec2u(), 0); }
@compute @workgroup_size(64) fn step(@builtin(global_invocation_id) id: vec3u) { y[id.x] += 1.0; }`);
  expect([entryPoint.name, [...functions.keys()]]).toEqual(['step', ['step']]);
});

test('comparisons that the parser takes for lists of parameters are read as what they are', () => {
  const { functions } = read(`@compute @workgroup_size(1) fn main() {
  let a = u32(1 < N) >> 2u; let b = select(1.0, select(2.0, 3.0, a < 5u), a > 0u); /* < */ }
const N = 3;`);
  const [, second] = functions.get('main')!.body.body;
  expect(second).toMatchObject({
    value: {
      parameters: [
        {},
        { parameters: [{}, {}, { kind: 'binary', operator: '<' }] },
        { kind: 'binary', operator: '>' },
      ],
    },
  });
});

test('names of values that nothing declares are told, each at its first place', () => {
  const { undeclared } = read(`const known = 2u;
@group(0) @binding(0) var<storage, read_write> a: array<u32>;
fn used(n: u32) -> u32 { var t = n; loop { if (t > limit) { break; } t += known; } return t; }
fn unused() -> u32 { return other; }
@compute @workgroup_size(1) fn main() { for (var i = 0u; i < limit; i++) { a[i] = used(max(i, wdith)); } }`);
  expect(undeclared).toEqual([
    { name: 'limit', position: { line: 5, column: 62 } },
    { name: 'wdith', position: { line: 5, column: 95 } },
  ]);
});

test('a name that a function declares hides the variable', () => {
  const { resources } = read(`@group(0) @binding(0) var<storage, read_write> a: array<u32>;
@group(0) @binding(1) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(1) fn main() { b[0] = 1; { let a = 2u; b[1] = a; } }`);
  expect(resources.map(({ name }) => name)).toEqual(['b']);
});

test('members of a uniform structure lie where the layout rules say', () => {
  const { resources } = read(`
struct Inner { a: f32, @align(16) b: f32 }
struct P { n: u32, v: vec3f, w: f32, m: mat3x3f, h: vec2<i32>, inner: Inner, @size(32) s: u32, last: array<vec4u, COUNT * 2> }
const COUNT = 3u;
@group(1) @binding(5) var<uniform> p: P;
@group(1) @binding(6) var<storage, read_write> o: array<u32>;
@compute @workgroup_size(1) fn main() { o[0] = p.n; }`);
  expect(
    uniformMembers(resources[0]!).map(({ name, offset, size }) => [name, offset, size]),
  ).toEqual([
    ['n', 0, 4],
    ['v', 16, 12],
    ['w', 28, 4],
    ['m', 32, 48],
    ['h', 80, 8],
    ['inner', 96, 32],
    ['s', 128, 32],
    ['last', 160, 96],
  ]);
  expect(resources[0]!.minBytes).toBe(256);
});

test('strides of arrays: vectors of three take the room of four, structures are rounded up', () => {
  const strides = [
    'vec3f',
    'vec2<f32>',
    'f16',
    'S',
    'atomic<u32>',
    'array<f32, 5>',
    'mat2x3f',
    'Alias',
  ].map((type) => {
    const source = `enable f16;\nstruct S { a: vec3f, b: u32, c: u32 } alias Alias = vec4u;
@group(0) @binding(0) var<storage, read_write> a: array<${type}>;
@compute @workgroup_size(1) fn main() { let n = arrayLength(&a); }`;
    return read(source).resources[0]!.runtimeArray!.stride;
  });
  expect(strides).toEqual([16, 8, 2, 32, 4, 20, 32, 16]);
});

test('a structure may end with a runtime-sized array', () => {
  const { resources } = read(`struct List { count: atomic<u32>, items: array<vec2u> }
@group(0) @binding(0) var<storage, read_write> list: List;
@compute @workgroup_size(1) fn main() { list.items[0] = vec2u(1); }`);
  expect(resources[0]).toMatchObject({
    minBytes: 16,
    runtimeArray: { stride: 8 },
    type: { kind: 'struct' },
  });
});

test('workgroup sizes by constants and overrides', () => {
  const source = `const TILE = 8; override wide: u32 = TILE * 2;
@compute @workgroup_size(wide, TILE) fn main(@builtin(local_invocation_index) i: u32) { }`;
  expect(read(source).entryPoint.workgroupSize).toEqual([16, 8, 1]);
  expect(read(source, 'main', { wide: 32 }).entryPoint.workgroupSize).toEqual([32, 8, 1]);
});

test('lengths of arrays by overrides, and overrides by others', () => {
  const source = `override wide: u32; override half = wide / 2; override unused: u32;
var<workgroup> tile: array<f32, half>;
@compute @workgroup_size(half) fn main(@builtin(local_invocation_index) i: u32) { tile[i] = 1.0; }`;
  expect(read(source, 'main', { wide: 32 }).entryPoint.workgroupSize).toEqual([16, 1, 1]);
  expect(wrong(source)).toMatch(
    /^1:1: override wide \(u32\) has no value; give it one: constants: { wide: ... }$/,
  );
});

test.each([
  ['fn f() {\n  let a = b + ;\n}', undefined, /^2:1\d: /],
  [SAXPY, 'other', /other is not a compute entry point of the module; there are: main$/],
  [SAXPY, 'add', /^7:1: add is not a compute entry point/],
  ['fn f() { let a = g(b, c < 7u) >> 2u ; let b = ; }', undefined, /^1:47: Expected expression/],
  [
    `fn f() { let a = ${'('.repeat(900)}b${')'.repeat(900)}; }`,
    undefined,
    /^1:\d+: Syntax nested too deeply, .*names/,
  ],
  [
    `fn f() { let a = ${'b +\n'.repeat(5000)} b; }\n@compute @workgroup_size(1) fn main() { f(); }`,
    'main',
    /^1:18: this expression has more than 4000 operators/,
  ],
  [
    '@compute @workgroup_size(1) fn main() { f(); }\nfn f() { discard; }',
    'main',
    /^2:10: discard is not supported/,
  ],
  [
    'fn f() {}',
    undefined,
    /^1:1: the module has no @compute entry point; write one, such as @compute @workgroup_size\(64\) fn main/,
  ],
  ['const a = 1;\nfn f() {}', 'f', /^2:1: the module has no @compute entry point/],
  [
    `${SAXPY}\n@compute @workgroup_size(1) fn other() {}`,
    undefined,
    /^1:1: the module has several @compute entry points; name one, by entryPoint .*: main, other$/,
  ],
  [
    '@compute @workgroup_size(8, 0) fn f() {}',
    undefined,
    /^1:29: @workgroup_size of entry point f is 0 in dimension y; it must be a whole number of 1 or more/,
  ],
  [
    '@compute @workgroup_size(f()) fn f() {}',
    undefined,
    /^1:26: @workgroup_size of entry point f is not a constant/,
  ],
  [
    '@compute @workgroup_size(1, 1, 1, 1) fn f() {}',
    undefined,
    /^1:10: @workgroup_size of entry point f has 4 numbers; .* three at most/,
  ],
  [
    'override n: u32;\n@compute @workgroup_size(n) fn f() {}',
    undefined,
    /^1:1: override n \(u32\) has no value/,
  ],
  [
    '@binding(0) var<storage> a: array<u32>; @compute @workgroup_size(1) fn f() { let n = arrayLength(&a); }',
    undefined,
    /^1:1: variable a has no @group; give it both, such as @group\(0\) @binding\(0\)$/,
  ],
  [
    'fn get() {}',
    undefined,
    /^1:4: Expected identifier after 'fn'; WGSL keeps 'get' for itself: choose another name$/,
  ],
  ['struct S { get: u32 }', undefined, /^1:11: .*; WGSL keeps 'get' for itself/],
  ['fn f(get: u32) {}', undefined, /^1:6: .*; WGSL keeps 'get' for itself/],
  ['struct S { a: u32 b: u32 }', undefined, /^1:19: Expected ',' after struct member$/],
  [
    'var<storage> a: array<u32>; @compute @workgroup_size(1) fn f() { let n = arrayLength(&a); }',
    undefined,
    /^1:1: variable a has no @group/,
  ],
  [
    '@group(0) @binding(0) var<storge> a: array<u32>; @compute @workgroup_size(1) fn f() { let n = arrayLength(&a); }',
    undefined,
    /^1:1: variable a is var<storge>, which nothing can be bound to; declare it var<storage, read>, .* or var<uniform>$/,
  ],
  [
    '@group(1) @binding(2) var<uniform> b: u32;\n@group(1) @binding(2) var<uniform> a: u32; @compute @workgroup_size(1) fn f() { let n = a + b; }',
    undefined,
    /^2:1: variables b and a are both at @group\(1\) @binding\(2\); give each a place of its own$/,
  ],
  [
    '@group(0) @binding(0) var<storage> a: array<nope>; @compute @workgroup_size(1) fn f() { let n = arrayLength(&a); }',
    undefined,
    /^1:45: type nope is not supported: it is no structure or alias of the module, and no type of numbers/,
  ],
])('refused, with the position: %s', (source, entry, expected) => {
  expect(wrong(source, entry)).toMatch(expected);
});
