import { expect, it } from 'vitest';
import { threadId } from '../processes/process.js';
import { parseThreadState, threadState } from './thread-state.js';

const stat = (name: string, state: string): string =>
  `77 (${name}) ${state} 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 1 0`;

it('reads what a thread does and how long it has run', () => {
  expect(parseThreadState(stat('node', 'R'), '1500000 20 3\n')).toEqual({
    doing: 'running',
    ranMs: 1.5,
  });
  expect(parseThreadState(stat('a) S (b', 'D'), null)).toEqual({ doing: 'waiting', ranMs: 2000 });
  for (const [letter, doing] of [
    ['S', 'sleeping'],
    ['I', 'sleeping'],
    ['T', 'held'],
    ['t', 'held'],
  ]) {
    expect(parseThreadState(stat('x', letter), null).doing).toBe(doing);
  }
});

it('knows of this thread, and nothing of one that is not there', () => {
  const before = threadState(threadId());
  expect(before?.doing).toBe('running');
  const until = performance.now() + 50;
  while (performance.now() < until);
  expect(threadState(threadId())?.ranMs).toBeGreaterThan(before?.ranMs ?? 0);
  expect(threadState(2 ** 22 + 1)).toBe(null);
});
