import { expect, test } from 'vitest';
import { overridesIn } from '../../wgsl/reading/overrides.js';
import { loadParser } from '../../wgsl/reading/parser.js';
import { constantsOf } from './wgsl-constants.js';

const parser = await loadParser();
const OVERRIDES = overridesIn(
  parser,
  `override wide: u32 = 64;
@id(7) override scale: f32;
override fast = true;
override shift = -3;
override half: f32 = scale / 2.0;`,
);
const constants = (given: unknown) => constantsOf('k', OVERRIDES, given);

test('values are given by name or by number, and reach the pipeline by what it calls them', () => {
  expect(constants({ wide: 128, 7: 0.5, fast: false, shift: -1 })).toEqual([
    { name: 'wide', key: 'wide', value: 128 },
    { name: 'scale', key: '7', value: 0.5 },
    { name: 'fast', key: 'fast', value: false },
    { name: 'shift', key: 'shift', value: -1 },
  ]);
  expect(constants({ scale: 2 })).toEqual([{ name: 'scale', key: '7', value: 2 }]);
});

test.each([
  [{ wdie: 1 }, /the module of kernel k has no override wdie; did you mean wide\?/],
  [{ 8: 1 }, /has no override 8/],
  [
    { wide: 1.5 },
    /^kernel k, WGSL 1:1: constant wide: it is u32: a whole number from 0 to 4294967295, not 1.5$/,
  ],
  [{ wide: -1 }, /it is u32/],
  [{ wide: true }, /it is u32/],
  [{ shift: 2 ** 31 }, /WGSL 4:1: constant shift: it is i32/],
  [{ scale: Number.NaN }, /WGSL 2:\d+: constant scale: it is f32/],
  [{ half: 1e39 }, /it is f32/],
  [{ fast: 1 }, /it is bool: true or false, not 1/],
  [{ scale: 1, 7: 1 }, /it is given twice, as 7 and as scale/],
  [64, /constants of kernel k is an object such as { wide: 64 }, not 64/],
])('refused: %j', (given, expected) => {
  expect(() => constants(given)).toThrow(expected);
});
