import { expect, test } from 'vitest';
import type { Planning } from '../../drivers/wgsl-launch.js';
import { LaunchPlans } from './launch-plans.js';

/** Plans by a clock that goes on by a millisecond with each slice of the work. */
function plansOf() {
  const clock = { ms: 0 };
  const work = function* (name: string, slices: number): Planning<string> {
    for (let at = 0; at < slices; at++) {
      clock.ms++;
      yield;
    }
    return name;
  };
  /** What was asked for, and is not answered yet. */
  const asked: { at: number; done: (content: Uint8Array | null) => void }[] = [];
  const plans = new LaunchPlans(
    () => clock.ms,
    ({ at }, done) => asked.push({ at, done }),
  );
  return { clock, work, plans, asked };
}

test('what is known already is there at once', () => {
  const { plans, work } = plansOf();
  const found: (string | null)[] = [];
  plans.start(
    work('known', 0),
    () => false,
    (each) => found.push(each),
  );
  expect([found, plans.busy]).toEqual([['known'], false]);
});

test('a step ends after two milliseconds, and the next one goes on with another plan', () => {
  const { clock, plans, work } = plansOf();
  const found: (string | null)[] = [];
  const done = (each: string | null) => found.push(each);
  plans.start(work('long', 7), () => false, done);
  plans.start(work('short', 4), () => false, done);
  const ends: number[] = [];
  while (plans.step() > 0) ends.push(clock.ms);
  expect(ends).toEqual([4, 6, 8, 9, 11, 11]);
  expect([found, plans.busy]).toEqual([['short', 'long'], false]);
});

test('a plan that is wanted no more is given up', () => {
  const { plans, work } = plansOf();
  const found: (string | null)[] = [];
  let isOver = false;
  plans.start(
    work('long', 100),
    () => isOver,
    (each) => found.push(each),
  );
  plans.step();
  isOver = true;
  plans.step();
  expect([found, plans.busy]).toEqual([[null], false]);
});

test('a plan that asks for bytes goes on when they are there', () => {
  const { plans, asked } = plansOf();
  const asking = function* (): Planning<string> {
    const first = yield { at: 10, bytes: 1 };
    const second = yield { at: 20, bytes: 1 };
    return `${first} ${second}`;
  };
  const found: (string | null)[] = [];
  plans.start(
    asking(),
    () => false,
    (each) => found.push(each),
  );
  expect([asked.map(({ at }) => at), plans.busy]).toEqual([[10], false]);
  asked[0]?.done(Uint8Array.of(5));
  plans.step();
  expect(asked.map(({ at }) => at)).toEqual([10, 20]);
  asked[1]?.done(null);
  plans.step();
  expect([found, plans.busy]).toEqual([['5 null'], false]);
});
