import { expect, test } from 'vitest';
import { Lookout } from './lookout.js';

/**
 * Looks for something that comes after so many milliseconds, every 10 us; returns for how long, and
 * whether it was seen.
 */
function look(lookout: Lookout, at: number, after: number): { ms: number; seen: boolean } {
  lookout.expect(at);
  let time = at;
  for (; lookout.lasts(time); time += 0.01) {
    if (time - at < after) continue;
    lookout.came(time);
    return { ms: time - at, seen: true };
  }
  return { ms: time - at, seen: false };
}

test('what comes soon is seen each time', () => {
  const lookout = new Lookout('launch-end');
  for (let second = 0; second < 1000; second++) expect(look(lookout, second, 0.05).seen).toBe(true);
});

test('what takes long is looked for seldom', () => {
  const lookout = new Lookout('launch-end');
  let ms = 0;
  for (let second = 0; second < 1000; second++) ms += look(lookout, second, 5).ms;
  expect(ms).toBeGreaterThan(0);
  // On the average less than 2 us each.
  expect(ms).toBeLessThan(2);
});

test('how often something is not looked for after that can be said', () => {
  const lookout = new Lookout('launch-end', 0.1, 8);
  for (let second = 0; second < 3; second++) look(lookout, second, 5);
  let looks = 0;
  for (let second = 3; second < 11; second++) looks += look(lookout, second, 0.05).seen ? 1 : 0;
  expect(looks).toBe(0);
  expect(look(lookout, 11, 0.05).seen).toBe(true);
});

test('what begins to come soon is seen again', () => {
  const lookout = new Lookout('launch-end');
  for (let second = 0; second < 10; second++) look(lookout, second, 5);
  let seen = 0;
  for (let second = 10; second < 1010; second++) if (look(lookout, second, 0.05).seen) seen++;
  expect(seen).toBeGreaterThan(700);
});

test('nothing is looked for that is not expected', () => {
  const lookout = new Lookout('launch-end');
  expect(lookout.lasts(1)).toBe(false);
  lookout.expect(1);
  lookout.came(1);
  expect(lookout.lasts(1)).toBe(false);
});

test('while looks take the CPU away they are fewer and fewer, until one does not', () => {
  const lookout = new Lookout('launch-end');
  let looks = 0;
  const play = (late: boolean): void => {
    lookout.expect(0);
    if (!lookout.lasts(0)) return;
    looks++;
    lookout.came(late ? 3 : 0.05);
  };
  for (let second = 0; second < 100_000; second++) play(true);
  expect(looks).toBeLessThan(16);
  for (let second = 0; second < 13_000; second++) play(false);
  looks = 0;
  for (let second = 0; second < 200; second++) play(false);
  expect(looks).toBe(200);
  play(true);
  for (let second = 0; second < 200; second++) play(false);
  expect(looks).toBe(201);
  play(false);
  expect(looks).toBe(202);
});

test('what comes later is seen by a poll that looks longer', () => {
  for (const [limit, seen] of [
    [0.1, false],
    [0.3, true],
  ] as const)
    expect(look(new Lookout('launch-end', limit), 0, 0.2).seen).toBe(seen);
});

test('a look that took the CPU away for long is the last for a while, whether it saw something or not', () => {
  for (const sees of [true, false]) {
    const lookout = new Lookout('launch-end');
    lookout.expect(0);
    if (sees) lookout.came(3);
    else lookout.lasts(3);
    let looks = 0;
    for (let second = 1; second <= 200; second++) if (look(lookout, second, 0.05).seen) looks++;
    expect(looks).toBe(0);
    expect(look(lookout, 201, 0.05).seen).toBe(true);
  }
});
