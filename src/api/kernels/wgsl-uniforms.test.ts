import { expect, test } from 'vitest';
import { bytes, f32, kernel, u32 } from './kernel.js';
import { arrayOf, mat4x4f, struct, uniform, vec2f, vec2u, vec4f } from './uniform-parameters.js';
import { moduleArguments } from './wgsl-kernel.js';

const PARAMS = `struct Grid { cells: vec2u, step: f32 }
struct Params { size: vec2u, scale: f32, _pad: u32, m: mat4x4f, grid: Grid, lights: array<vec4f, 2>, end: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { y[id.x] = params.scale; }`;

/** Places in the uniform variables: name, type, offset; or why there are none. */
function bound(parameters: object, wgsl = PARAMS) {
  try {
    const { wgsl: code } = kernel({ y: f32.inout, ...parameters }, { wgsl }, { name: 'k' });
    return code!.bindings.flatMap((each) =>
      each.kind === 'uniform'
        ? each.members.map(({ name, type, offset }) => `${name} ${type} ${offset}`)
        : [],
    );
  } catch (error) {
    return (error as Error).message;
  }
}

const GRID = struct({ cells: vec2u, step: f32 });
const MEMBERS = { size: vec2u, scale: f32, m: mat4x4f, grid: GRID, lights: arrayOf(vec4f, 2) };

test('a uniform structure is one parameter, which leaves pads and the launch’s members out, or says that the module does', () => {
  expect(bound({ params: struct(MEMBERS) })).toEqual(['params bytes 0', 'end u32 128']);
  expect(bound({ params: struct({ ...MEMBERS, _pad: u32, end: u32 }) })).toEqual([
    'params bytes 0',
  ]);
  expect(bound({ params: uniform })).toEqual(['params bytes 0']);
  expect(bound({ params: bytes.uniform })).toEqual(['params bytes 0']);
});

test('members are parameters by their names, or by their paths, where parts of them are', () => {
  const { grid: _, ...flat } = MEMBERS;
  const own = { ...flat, 'params.grid.cells': vec2u, 'params.grid.step': f32 };
  const places = ['size bytes 0', 'scale f32 8', 'm bytes 16'];
  expect(bound(own)).toEqual([
    ...places,
    'params.grid.cells bytes 80',
    'params.grid.step f32 88',
    'lights bytes 96',
    'end u32 128',
  ]);
  const [size, m, lights] = [uniform, uniform, uniform];
  const grid = struct({ cells: uniform, step: f32 });
  expect(bound({ size, m, lights, grid, 'params.scale': f32, end: u32 })).toEqual([
    'size bytes 0',
    'params.scale f32 8',
    'm bytes 16',
    'grid bytes 80',
    'lights bytes 96',
    'end u32 128',
  ]);
});

test.each([
  [
    { ...MEMBERS, size: vec2f },
    'uniform params.size is vec2<u32>, and size is vec2<f32>; declare size: vec2u',
  ],
  [
    { ...MEMBERS, scale: u32 },
    'uniform params.scale is f32, and scale is u32 of the kernel; declare scale: f32',
  ],
  [
    { ...MEMBERS, m: f32.in },
    'uniform params.m is mat4x4<f32>, and m is f32.in of the kernel; declare m: mat4x4f',
  ],
  [
    { ...MEMBERS, lights: arrayOf(vec4f, 3) },
    /lights is array<vec4<f32>, 2>, and lights is array<vec4<f32>, 3>; declare lights: arrayOf\(vec4f, 2\)/,
  ],
  [
    { params: struct({ ...MEMBERS, sise: u32 }) },
    /uniform params\.sise is nothing: .*the structure has size, .*, and params\.sise is u32/,
  ],
  [
    { params: struct({ ...MEMBERS, grid: struct({ cells: vec2u }) }) },
    /params\.grid\.step is f32, and params\.grid\.step is not declared; add step: f32/,
  ],
  [
    { size: vec2u, scale: f32 },
    /uniform params\.m is mat4x4<f32>, and m is no parameter of the kernel; give the kernel a parameter m: mat4x4f$/,
  ],
  [
    { params: struct(MEMBERS), scale: f32 },
    /scale is part of variable params, which parameter params gives as a whole/,
  ],
  [{ params: struct(MEMBERS), 'params.scale': f32 }, /params\.scale is part of variable params/],
] as const)(
  'a parameter that does not fit is refused with what does: %#',
  (parameters, expected) => {
    expect(bound(parameters)).toMatch(expected);
  },
);

const VIEWS = `struct View { stride: u32, offset: u32, pad: u32 }
struct Other { n: u32, pad: f32 }
@group(0) @binding(0) var<uniform> source: View;
@group(0) @binding(1) var<uniform> goal: View;
@group(0) @binding(2) var<uniform> other: Other;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < other.n) { y[goal.offset + id.x * goal.stride] = y[source.offset + id.x * source.stride]; } }`;

test('members of one name are told apart by their variables, and pads need not be', () => {
  expect(bound({ stride: u32, offset: u32, n: u32 }, VIEWS)).toMatch(
    /stride is a member of source and of goal; give the kernel parameters 'source\.stride' and 'goal\.stride' in place of stride/,
  );
  const paths = {
    'source.stride': u32,
    'goal.stride': u32,
    'source.offset': u32,
    'goal.offset': u32,
    n: u32,
  };
  const places = [
    'source.stride u32 0',
    'source.offset u32 4',
    'goal.stride u32 0',
    'goal.offset u32 4',
    'n u32 0',
  ];
  expect(bound(paths, VIEWS)).toEqual(places);
  expect(bound({ ...paths, pad: f32 }, VIEWS)).toEqual([...places, 'pad f32 4']);
  const view = struct({ stride: u32, offset: u32 });
  expect(bound({ source: view, stride: u32, offset: u32, n: u32 }, VIEWS)).toEqual([
    'source bytes 0',
    'stride u32 0',
    'offset u32 4',
    'n u32 0',
  ]);
});

test('parameters of variables that the entry point does not use are left out, and others are refused', () => {
  const wgsl = `${VIEWS}\n@group(1) @binding(0) var<storage> z: array<u32>; @compute @workgroup_size(1) fn other() { y[0] = f32(z[0]); }`;
  const parameters = { y: f32.inout, z: u32.in, source: uniform, n: u32 };
  const { wgsl: code } = kernel(parameters, { wgsl, entryPoint: 'other' });
  expect([...moduleArguments(code!).unused]).toEqual(['source', 'n']);
  expect(() => kernel({ ...parameters, m: u32 }, { wgsl, entryPoint: 'other' })).toThrow(
    /entry point other uses no variable for m; it uses: y, z$/,
  );
});

test('what the text never stores to may be only read, whatever its declaration allows', () => {
  const wgsl = `@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
fn at(p: ptr<storage, array<f32>, read_write>, i: u32) -> f32 { let own = p; return (*own)[i]; }
fn put(p: ptr<storage, f32, read_write>) { *p = 1.0; }
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  let all = &y; var value = at(&x, id.x); value += 1.0; put(&all[id.x]); }`;
  const { wgsl: code } = kernel({ x: f32.in, y: f32.inout }, { wgsl });
  expect([...moduleArguments(code!).readOnly]).toEqual(['x']);
  expect(() => kernel({ x: f32.in, y: f32.in }, { wgsl })).toThrow(
    /the module writes y, but parameter y is only read/,
  );
});
