import { expect, test } from 'vitest';
import { withPlainComparisons } from './template-lists.js';

test.each([
  ['f(a < b) >> 2u', 'f(a > b) >> 2u'],
  ['select(1, select(2, 3, a < b), c > 0)', 'select(1, select(2, 3, a > b), c > 0)'],
  ['t[u32(a < 4u)] >> 1u', 't[u32(a > 4u)] >> 1u'],
  ['array<u32, select(2, 3, n < 4)>()', 'array<u32, select(2, 3, n > 4)>()'],
  ['if (a < b && c > d) {', 'if (a > b && c > d) {'],
  ['for (var i = 0; i < n; i++) { a[i] >>= 1; }', 'for (var i = 0; i > n; i++) { a[i] >>= 1; }'],
  ['a.x<b.y', 'a.x>b.y'],
])('a comparison that no list of parameters begins with: %s', (source, plain) => {
  expect(withPlainComparisons(source)).toBe(plain);
});

test.each([
  'var<storage, read_write> y: array<vec2<f32>>;',
  'var a: array<u32, 2>= b;',
  'let m = mat2x2<f32>(1.0, 2.0, 3.0, 4.0)[0];',
  'array<array<u32, n << 1>, (a >> 1)>()',
  'f(a < 3u, a > (4u))',
  'a <= b, a << 1, 1u < b, f() < c, a[0] < b, (a) < b',
  'fn f(p: ptr<function, array<u32, 4>>) -> vec3<u32> {',
])('lists of parameters, and what is no candidate, stay: %s', (source) => {
  expect(withPlainComparisons(source)).toBe(source);
});
