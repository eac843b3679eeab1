import { expect, test } from 'vitest';
import { placeOf } from './serve.js';

test('a space that is started again lies elsewhere, beside the first place of a program', () => {
  const places = Array.from({ length: 14 }, (_, at) => placeOf('jobs', 70_000 + at));
  expect([...places].sort((a, b) => a - b)).toEqual(Array.from({ length: 14 }, (_, at) => at + 1));
});
