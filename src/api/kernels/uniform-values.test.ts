import { d } from 'typegpu';
import { expect, test } from 'vitest';
import { describe } from '../../wgsl/reading/describe.js';
import { loadParser } from '../../wgsl/reading/parser.js';
import {
  arrayOf,
  mat2x3f,
  mat4x4f,
  struct,
  uniform,
  valueTypeOf,
  vec2i,
  vec2u,
  vec3f,
} from './uniform-parameters.js';
import { bytesOfBytes, bytesOfValue, halfOf, plainValue } from './uniform-values.js';

const parser = await loadParser();

/** The type of a uniform variable. */
function typeOf(declarations: string, name: string) {
  const text = `${declarations}\n@group(0) @binding(0) var<uniform> u: ${name};
@compute @workgroup_size(1) fn main() { let a = u; }`;
  return describe(parser, text).resources[0]!.type;
}

const PARAMS = typeOf(
  `struct Light { place: vec3f, power: f32, tint: vec3f }
struct Params { size: vec2u, shift: i32, _pad: f32, m: mat3x3f, lights: array<Light, 2>, @align(16) n: u32 }`,
  'Params',
);

const words = (content: Uint8Array, at: number, count: number) => [
  ...new Uint32Array(content.buffer).subarray(at / 4, at / 4 + count),
];
const floats = (content: Uint8Array, at: number, count: number) => [
  ...new Float32Array(content.buffer).subarray(at / 4, at / 4 + count),
];

const LIGHTS = [
  { place: [1, 2, 3], power: 4, tint: { x: 5, y: 6, z: 7 } },
  { place: new Float32Array([8, 9, 10]), power: 11, tint: d.vec3f(12, 13, 14) },
];
const VALUE = { size: [640, 480], shift: -2, m: [1, 2, 3, 4, 5, 6, 7, 8, 9], lights: LIGHTS, n: 5 };

test('a structure lies as the module’s layout has it: vectors, columns of matrices, arrays of structures', () => {
  const content = bytesOfValue('p', PARAMS, VALUE, new Set());
  expect(content.length).toBe(144);
  expect(words(content, 0, 4)).toEqual([640, 480, 2 ** 32 - 2, 0]);
  expect(floats(content, 16, 12)).toEqual([1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0]);
  expect(floats(content, 64, 16)).toEqual([1, 2, 3, 4, 5, 6, 7, 0, 8, 9, 10, 11, 12, 13, 14, 0]);
  expect(words(content, 128, 1)).toEqual([5]);
});

test('matrices come as columns, one list, or with rows padded; arrays of vectors as one list', () => {
  const m = typeOf('', 'mat2x3f');
  const expected = [1, 2, 3, 0, 4, 5, 6, 0];
  for (const value of [
    [1, 2, 3, 4, 5, 6],
    [[1, 2, 3], new Float32Array([4, 5, 6])],
    new Float32Array([1, 2, 3, 9, 4, 5, 6, 9]),
  ])
    expect(floats(bytesOfValue('m', m, value, new Set()), 0, 8)).toEqual(expected);
  expect(
    floats(
      bytesOfValue('m', typeOf('', 'mat3x3f'), d.mat3x3f(1, 2, 3, 4, 5, 6, 7, 8, 9), new Set()),
      0,
      12,
    ),
  ).toEqual([1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0]);
  const a = typeOf('', 'array<vec4u, 2>');
  expect(
    words(bytesOfValue('a', a, Uint32Array.of(1, 2, 3, 4, 5, 6, 7, 8), new Set()), 0, 8),
  ).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

test('bytes are taken as they are, with the end of the variable or without', () => {
  const two = typeOf('struct P { a: u32, b: u32 }', 'P');
  const given = Uint32Array.of(7, 8, 9, 10);
  for (const value of [given, given.buffer, given.subarray(0, 2)]) {
    expect(words(bytesOfBytes('p', two, value), 0, 2)).toEqual([7, 8]);
    expect(words(bytesOfValue('p', two, value, new Set()), 0, 2)).toEqual([7, 8]);
  }
  expect(() => bytesOfBytes('p', two, given.subarray(0, 3))).toThrow(
    'p has 8 bytes in the module, not 12',
  );
  expect(() => bytesOfBytes('p', two, [7, 8])).toThrow(
    /p takes bytes, a typed array or an ArrayBuffer, not an array/,
  );
});

test.each([
  [{ ...VALUE, size: [640] }, 'p.size takes 2 numbers, not 1'],
  [
    { ...VALUE, size: [640, -1] },
    'p.size[1] is u32: it takes whole numbers from 0 to 4294967295, not -1',
  ],
  [{ ...VALUE, shift: '2' }, 'p.shift is i32: it takes a number, not "2"'],
  [{ ...VALUE, m: [1, 2, 3] }, 'p.m takes 9 numbers, 3 columns of 3, not 3'],
  [{ ...VALUE, lights: [LIGHTS[0]] }, 'p.lights takes 2 elements, not 1'],
  [
    { ...VALUE, lights: [LIGHTS[0], { place: [1, 2, 3] }] },
    /p\.lights\[1\]\.power: no value was given; .*place, power, tint/,
  ],
  [{ ...VALUE, n: undefined }, /p\.n: no value was given/],
  [{ ...VALUE, nn: 1 }, 'p has no member nn; did you mean n?'],
  [7, /p takes an object \{ size, shift, .* \}, not 7/],
])('a value that does not fit is refused by its place: %#', (value, expected) => {
  expect(() => bytesOfValue('p', PARAMS, value, new Set())).toThrow(expected);
});

test('functions get plain numbers, lists and objects', () => {
  const type = valueTypeOf(
    struct({ size: vec2i, m: mat2x3f, at: arrayOf(vec3f, 1), any: uniform }),
  );
  const value = {
    size: d.vec2i(-1, 2),
    m: new Float32Array(6),
    at: [1, 2, 3],
    any: { deep: [Uint8Array.of(1), 2] },
  };
  expect(plainValue('p', type!, value)).toEqual({
    size: [-1, 2],
    m: [0, 0, 0, 0, 0, 0],
    at: [[1, 2, 3]],
    any: { deep: [[1], 2] },
  });
});

test('schemas of TypeGPU say what ours do', () => {
  const theirs = d.struct({
    size: d.vec2u,
    m: d.mat4x4f,
    n: d.align(16, d.u32),
    at: d.arrayOf(d.vec3f, 4),
  });
  const ours = struct({ size: vec2u, m: mat4x4f, n: { type: 'u32' }, at: arrayOf(vec3f, 4) });
  expect(valueTypeOf(theirs)).toEqual(valueTypeOf(ours));
});

test.each([
  [0, 0],
  [-0, 0x8000],
  [1, 0x3c00],
  [-2, 0xc000],
  [65504, 0x7bff],
  [65519, 0x7bff],
  [65520, 0x7c00],
  [-Infinity, 0xfc00],
  [2 ** -14, 0x0400],
  [2 ** -24, 0x0001],
  [2 ** -25, 0x0000],
  [3 * 2 ** -25, 0x0002],
  [1 + 2 ** -11, 0x3c00],
  [1 + 3 * 2 ** -11, 0x3c02],
  [2 - 2 ** -12, 0x4000],
])('%d as a half', (value, bits) => {
  expect(halfOf(value)).toBe(bits);
});
