import { expect, it } from 'vitest';
import { PageRuns } from './page-runs.js';

const all = (runs: PageRuns): string =>
  runs
    .pieces(1000)
    .map(({ first, count }) => `${first}+${count}`)
    .join(' ');

it('joins runs that touch or overlap, and keeps the others apart', () => {
  const runs = new PageRuns();
  for (const [first, count] of [
    [10, 5],
    [30, 5],
    [15, 1],
    [0, 3],
    [33, 7],
  ])
    runs.add(first, count);
  expect(all(runs)).toBe('0+3 10+6 30+10');
  const more = new PageRuns();
  more.add(2, 29);
  runs.addAll(more);
  expect(all(runs)).toBe('0+40');
  expect(runs.pieces(16)).toEqual([
    { first: 0, count: 16 },
    { first: 16, count: 16 },
    { first: 32, count: 8 },
  ]);
});

it('is right, if too large, for more runs than it keeps', () => {
  const runs = new PageRuns();
  for (let page = 0; page < 20_000; page += 2) runs.add(page, 1);
  const pieces = runs.pieces(2 ** 30);
  expect(pieces.length).toBeLessThanOrEqual(4096);
  for (let page = 0; page < 20_000; page += 2)
    expect(pieces.some(({ first, count }) => page >= first && page < first + count)).toBe(true);
});
