import { expect, test } from 'vitest';
import { CONTROL_WORDS, Control } from '../protocol/control.js';
import { Attention } from './attention.js';

function made(): { attention: Attention; control: Int32Array; ask(): boolean } {
  const control = new Int32Array(new SharedArrayBuffer(4 * CONTROL_WORDS));
  /** As a client asks; returns whether it has to wake the manager. */
  const ask = (): boolean => {
    Atomics.add(control, Control.Asked, 1);
    return Atomics.load(control, Control.Awake) === 0;
  };
  return { attention: new Attention(control), control, ask };
}

test('a manager that is not up, or sleeps, is woken, and one that is awake is not', () => {
  const { attention, ask } = made();
  expect(ask()).toBe(true);
  attention.wake();
  expect(ask()).toBe(false);
  attention.sleep();
  expect(ask()).toBe(true);
});

test('what was asked of a manager that was awake keeps it from sleeping', () => {
  const { attention, ask } = made();
  attention.wake();
  expect(attention.sleep()).toBe(true);
  attention.wake();
  ask();
  expect(attention.sleep()).toBe(false);
  expect([attention.take(), attention.take(), attention.isAsked]).toEqual([true, false, false]);
  expect(attention.sleep()).toBe(true);
});

test('a word that has come round is news', () => {
  const { attention, control, ask } = made();
  control[Control.Asked] = 2 ** 31 - 1;
  attention.take();
  ask();
  expect(attention.take()).toBe(true);
});
