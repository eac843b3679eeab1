import { expect, test } from 'vitest';
import { withoutComments } from './comments.js';

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
