import { expect, it } from 'vitest';
import { TimeSlice } from './time-slice.js';

it('gives at least one thing a round, and no more for long once a millisecond is over', () => {
  let now = 0;
  const slice = new TimeSlice(() => now);
  expect(slice.take()).toBe(true);
  now = 5;
  let more = 0;
  while (slice.take()) more++;
  expect(more).toBeLessThan(8);
  expect(slice.take()).toBe(false);
  slice.renew();
  expect(slice.take()).toBe(true);
});

it('goes on for as long as the millisecond lasts', () => {
  const slice = new TimeSlice(() => 0);
  for (let taken = 0; taken < 1000; taken++) expect(slice.take()).toBe(true);
});
