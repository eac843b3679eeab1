import { expect, test } from 'vitest';
import { Holds } from './holds.js';

/** Hundredths of a millisecond for which a block is kept, having been wanted so long after it was taken before. */
function holdAfter(...pauses: readonly number[]): number {
  const holds = new Holds();
  let now = 10;
  for (const pause of pauses) {
    holds.given(0, now);
    holds.taken(0, now + 5);
    holds.wanted(0, now + 5 + pause);
    now += 10;
  }
  holds.given(0, now);
  return Math.round(holds.left(0, now) * 100);
}

test('a block that was never given is not kept', () => {
  expect(new Holds().left(0, 10)).toBe(0);
});

test('a block is kept for a moment after it was given, and no longer', () => {
  const holds = new Holds();
  holds.given(0, 10);
  expect(holds.left(0, 10.15)).toBeCloseTo(0.05);
  expect(holds.left(0, 10.25)).toBe(0);
});

test('what is wanted back at once is kept for twice as long, up to a limit', () => {
  expect([holdAfter(0.1), holdAfter(0.1, 0.1), holdAfter(0.1, 0.1, 0.1, 0.1)]).toEqual([40, 80, 100]);
});

test('what is wanted later is kept for a moment again', () => {
  expect(holdAfter(0.1, 0.1, 3)).toBe(20);
});

test('a second thread that wants a block changes nothing', () => {
  const holds = new Holds();
  holds.given(0, 10);
  holds.taken(0, 11);
  holds.wanted(0, 11.1);
  holds.wanted(0, 11.15);
  holds.given(0, 12);
  expect(holds.left(0, 12)).toBeCloseTo(0.4);
});
