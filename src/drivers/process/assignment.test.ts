import { expect, test } from 'vitest';
import { ASSIGNMENT_WORDS, Assignment } from './assignment.js';

/** As two threads have it, over the same words. */
function shared(): [Assignment, Assignment] {
  const words = new Int32Array(ASSIGNMENT_WORDS);
  return [new Assignment(words), new Assignment(words)];
}

test('a launch is given, begun and finished once', () => {
  const [control, unit] = shared();
  for (const launch of [1, 2, 2 ** 32 - 1]) {
    expect(control.give(launch)).toBe(true);
    expect(unit.begin(launch)).toBe(true);
    expect(unit.finish(launch)).toBe(true);
  }
  expect(unit.end()).toBe(0);
});

test('a kernel that has not begun is kept from it, and its unit goes on', () => {
  const [control, main] = shared();
  control.give(7);
  expect(main.abort(7)).toBe(false);
  expect(control.begin(7)).toBe(false);
  expect(control.give(8)).toBe(true);
  expect(control.begin(8)).toBe(true);
});

test('a unit is ended for the launch that it runs, and for no other', () => {
  const [unit, main] = shared();
  unit.give(7);
  unit.begin(7);
  expect(main.abort(6)).toBe(false);
  expect(main.abort(7)).toBe(true);
  expect(unit.finish(7)).toBe(false);
  expect(main.end()).toBe(7);
  unit.give(8);
  expect(main.abort(8)).toBe(false);
});

test('a launch that has ended by itself is not aborted any more', () => {
  const [unit] = shared();
  unit.give(7);
  unit.begin(7);
  expect(unit.finish(7)).toBe(true);
  expect(unit.abort(7)).toBe(false);
  unit.give(8);
  unit.begin(8);
  expect(unit.abort(7)).toBe(false);
  expect(unit.finish(8)).toBe(true);
});

test('a unit that has ended is given nothing, and says what it had', () => {
  const [unit] = shared();
  unit.give(2 ** 32 - 2);
  expect(unit.end()).toBe(2 ** 32 - 2);
  expect(unit.give(9)).toBe(false);
  expect(unit.end()).toBe(0);
});

test('a unit that takes the place of one that has ended is given launches', () => {
  const [main, manager] = shared();
  manager.give(7);
  main.end();
  main.setOver(7);
  expect([manager.isOver(7), manager.isOver(8)]).toEqual([true, false]);
  main.renew();
  expect(main.given).toBe(0);
  expect(manager.give(8)).toBe(true);
  expect(main.given).toBe(8);
});
