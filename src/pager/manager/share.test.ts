import { expect, it } from 'vitest';
import { Share } from './share.js';

it('gives at least one thing a round, and no more for long once a millisecond is over', () => {
  let now = 0;
  const share = new Share(() => now);
  expect(share.take()).toBe(true);
  now = 5;
  let more = 0;
  while (share.take()) more++;
  expect(more).toBeLessThan(8);
  expect(share.take()).toBe(false);
  share.renew();
  expect(share.take()).toBe(true);
});

it('goes on for as long as the millisecond lasts', () => {
  const share = new Share(() => 0);
  for (let taken = 0; taken < 1000; taken++) expect(share.take()).toBe(true);
});
