import { expect, test } from 'vitest';
import { describe } from './describe.js';
import { pagedModule } from './paged.js';
import { loadParser } from './parser.js';
import { withoutComments } from './rewriting.js';
import { windowed } from './windowed.js';

const parser = await loadParser();

test.each([
  ['a // b /* c\nd', 'a          \nd'],
  ['a /* // b */ c', 'a            c'],
  ['a /* b /* c */ d */ e', 'a                   e'],
  ['a /*/ b */ c', 'a          c'],
  ['a */* b */ c', 'a *        c'],
  ['a /* b\nc */ d', 'a     \n     d'],
  ['a / b * c', 'a / b * c'],
  ['a // b', 'a     '],
  ['a /* b', 'a     '],
])('%j without its comments has all else where it was', (source, expected) => {
  expect(withoutComments(source)).toBe(expected);
});

test('a module that hides a word of WGSL that launches in parts need is refused where it does so', () => {
  const source = `@group(0) @binding(0) var<storage, read_write> a: array<u32>;
  fn min(x: f32) -> f32 { return x; }
  @compute @workgroup_size(1) fn main() { a[0] = 1; }`;
  const description = describe(parser, source);
  const refused = /^2:3: min hides what WGSL calls so, .*; give it another name$/;
  expect(() => windowed(description)).toThrow(refused);
  expect(() => pagedModule(description, description.resources)).toThrow(refused);
});
