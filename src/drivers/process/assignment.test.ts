import { expect, test } from 'vitest';
import { Assignment } from './assignment.js';

/** The same words, as another thread has them. */
const sharing = (assignment: Assignment): Assignment => new Assignment(assignment.memory);

test('a launch is given, begun and finished once', () => {
  const control = new Assignment();
  const unit = sharing(control);
  for (const launch of [1, 2, 2 ** 32 - 1]) {
    expect(control.give(launch)).toBe(true);
    expect(unit.begin(launch)).toBe(true);
    expect(unit.finish(launch)).toBe(true);
  }
  expect(unit.end()).toBe(0);
});

test('a kernel that has not begun is kept from it, and its unit goes on', () => {
  const control = new Assignment();
  control.give(7);
  expect(sharing(control).abort(7)).toBe(false);
  expect(control.begin(7)).toBe(false);
  expect(control.give(8)).toBe(true);
  expect(control.begin(8)).toBe(true);
});

test('a unit is ended for the launch that it runs, and for no other', () => {
  const unit = new Assignment();
  const main = sharing(unit);
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
  const unit = new Assignment();
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
  const unit = new Assignment();
  unit.give(2 ** 32 - 2);
  expect(unit.end()).toBe(2 ** 32 - 2);
  expect(unit.give(9)).toBe(false);
  expect(unit.end()).toBe(0);
});
