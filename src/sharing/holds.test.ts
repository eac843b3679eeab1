import { expect, test } from 'vitest';
import { Holds } from './holds.js';

type Word = 'taken' | 'wanted' | 'gone';

/**
 * Hundredths of a millisecond for which a block is kept that was given again after each of these.
 */
function holdAfter(...times: readonly (readonly Word[])[]): number {
  const holds = new Holds();
  holds.given(0, 10);
  for (const words of times) {
    for (const word of words) holds[word](0);
    holds.given(0, 10);
  }
  return Math.round(holds.left(0, 10) * 100);
}

const AT_ONCE: readonly Word[] = ['taken', 'wanted', 'gone'];

test('a block that was never given is not kept', () => {
  expect(new Holds().left(0, 10)).toBe(0);
});

test('a block is kept for a moment after it was given, and no longer', () => {
  const holds = new Holds();
  holds.given(0, 10);
  expect(holds.left(0, 10.15)).toBeCloseTo(0.05);
  expect(holds.left(0, 10.25)).toBe(0);
});

test('what is wanted back before others can have it is kept for twice as long, up to a limit', () => {
  expect([
    holdAfter(AT_ONCE),
    holdAfter(AT_ONCE, AT_ONCE),
    holdAfter(AT_ONCE, AT_ONCE, AT_ONCE, AT_ONCE),
  ]).toEqual([40, 80, 100]);
});

test('what others have had is kept for a moment again, however soon it is wanted', () => {
  expect(holdAfter(AT_ONCE, AT_ONCE, ['taken', 'gone', 'wanted'])).toBe(20);
});

test('a second thread that wants a block changes nothing', () => {
  expect(holdAfter(['taken', 'wanted', 'wanted', 'gone', 'wanted'])).toBe(40);
});
