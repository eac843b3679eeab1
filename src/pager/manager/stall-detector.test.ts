import { expect, it } from 'vitest';
import type { ThreadState } from '../../linux/threads/thread-state.js';
import { StallDetector } from './stall-detector.js';

/**
 * What the looks say of a manager that beats no more and does the same from one look to the next.
 */
function stillAfter(looks: number, doing: ThreadState['doing'], ranEach: number): number {
  const stalls = new StallDetector(500);
  let ranMs = 1000;
  let still = stalls.look(7, { doing, ranMs });
  for (let look = 0; look < looks; look++) {
    ranMs += ranEach;
    still = stalls.look(7, { doing, ranMs });
  }
  return still;
}

it('counts a loop that does not end by the time that it ran', () => {
  expect(stillAfter(20, 'running', 500)).toBe(10_000);
  expect(stillAfter(20, 'running', 25)).toBe(500);
});

it('does not count time in which it had no processor, or was held', () => {
  expect(stillAfter(1000, 'running', 0)).toBe(0);
  expect(stillAfter(1000, 'held', 0)).toBe(0);
});

it('counts a sleep, and a wait in the kernel in which nothing moves', () => {
  expect(stillAfter(20, 'sleeping', 0)).toBe(10_000);
  expect(stillAfter(20, 'sleeping', 1)).toBe(10_000);
  expect(stillAfter(20, 'waiting', 0)).toBe(10_000);
  expect(stillAfter(20, 'waiting', 2)).toBe(40);
});

it('begins again with every beat, and counts all when nothing is known', () => {
  const stalls = new StallDetector(500);
  expect(stalls.look(1, null)).toBe(0);
  expect(stalls.look(1, null)).toBe(500);
  expect(stalls.look(2, null)).toBe(0);
  expect(stalls.look(2, { doing: 'sleeping', ranMs: 5 })).toBe(500);
  stalls.forgive();
  expect(stalls.look(2, { doing: 'sleeping', ranMs: 5 })).toBe(500);
});
