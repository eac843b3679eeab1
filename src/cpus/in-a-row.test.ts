import { expect, test } from 'vitest';
import { InARow } from './in-a-row.js';

test('events are enough when so many of one kind have come in a row', () => {
  const row = new InARow(3);
  expect([true, true, false, true, true, true, true].map((is) => row.note(is))).toEqual([
    false,
    false,
    false,
    false,
    false,
    true,
    true,
  ]);
});

test('a row that begins anew may need another number of events', () => {
  const row = new InARow(1);
  row.note();
  row.begin(2);
  expect(row.isEnough).toBe(false);
  expect([row.note(), row.note()]).toEqual([false, true]);
});
