import { expect, test } from 'vitest';
import { finished, limited, type Slices } from './slices.js';

function* counted(slices: number): Slices<string> {
  for (let at = 0; at < slices; at++) yield;
  return 'done';
}
const all = { slices: 10, ms: 100, now: () => 0 };

test('work that keeps within its limits has its result', () => {
  expect(finished(limited(counted(9), all, () => 'given up'))).toBe('done');
});

test('work of too many slices is given up', () => {
  expect(finished(limited(counted(10), all, () => 'given up'))).toBe('given up');
});

test('work is given up for the time that it takes itself, not for what goes on between', () => {
  let clock = 0;
  const now = () => clock;
  const ticking = function* (): Slices<string> {
    for (let at = 0; at < 4; at++) {
      clock += 20;
      yield;
    }
    return 'done';
  };
  const run = (ms: number) => {
    const work = limited(ticking(), { slices: 10, ms, now }, () => 'given up');
    for (;;) {
      const { done, value } = work.next();
      if (done === true) return value;
      clock += 1000;
    }
  };
  expect(run(100)).toBe('done');
  expect(run(60)).toBe('given up');
});
