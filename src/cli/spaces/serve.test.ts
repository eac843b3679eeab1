import { expect, test } from 'vitest';
import { placeOf } from './serve.js';

test('a space that is started again lies elsewhere, beside the first place of a program', () => {
  const places = Array.from({ length: 14 }, (_, at) => placeOf('jobs', 70_000 + at, new Set()));
  expect([...places].sort((a, b) => a - b)).toEqual(Array.from({ length: 14 }, (_, at) => at + 1));
});

test('it lies at no place that a process still has in use, unless all are', () => {
  const old = placeOf('jobs', 70_000, new Set());
  const next = placeOf('jobs', 70_014, new Set([0, old]));
  expect([0, old]).not.toContain(next);
  const all = new Set(Array.from({ length: 15 }, (_, place) => place));
  expect(placeOf('jobs', 70_000, all)).toBe(old);
});
