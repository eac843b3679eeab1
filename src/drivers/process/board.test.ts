import { expect, test } from 'vitest';
import type { DriverLaunch } from '../driver.js';
import { LaunchBoard } from './board.js';

const UNITS = 3;

/** As the manager and a unit have it. */
function shared(): [LaunchBoard, LaunchBoard] {
  const memory = new ArrayBuffer(LaunchBoard.bytesFor(UNITS));
  return [new LaunchBoard(memory, UNITS), new LaunchBoard(memory, UNITS)];
}

const launch = (id: number, value: number | bigint, source = '() => 1'): DriverLaunch => ({
  id,
  kernelName: 'k',
  code: { kind: 'inline', source },
  parameters: [
    { name: 'x', kind: 'array', type: 'f32', use: 'inout', offset: 4096, length: 7 },
    { name: 'n', kind: 'scalar', value },
  ],
  begin: id,
  end: 2 ** 40 + id,
  size: 2 ** 50,
});

test('a unit reads what the manager has written, launch after launch', () => {
  const [manager, unit] = shared();
  for (const [id, value] of [-0, 0, Number.NaN, 2n ** 63n - 1n, 2n ** 63n - 1n, 5].entries()) {
    const written = launch(id, value);
    manager.write(written, 1);
    const { description, range } = unit.read();
    const { kernelName, code, parameters, begin, end, size } = written;
    expect(range).toEqual({ begin, end, size });
    expect(description).toEqual({ kernelName, code, parameters });
  }
});

test('what has not changed is not read again, and what has is, also by a reader that missed launches', () => {
  const [manager, unit] = shared();
  manager.write(launch(1, 5), 1);
  const { description } = unit.read();
  manager.write(launch(2, 5), 1);
  expect(unit.read().description).toBe(description);
  manager.write(launch(3, 5, '() => 2'), 1);
  manager.write(launch(4, 5), 1);
  expect(unit.read().description).toEqual(description);
});

test('the thread that ends the last part has the manager told that does not look', () => {
  const [manager, unit] = shared();
  for (const id of [1, 2 ** 32 - 1]) {
    manager.write(launch(id, 0), UNITS);
    expect(manager.unwatch()).toBe(false);
    expect([unit.endPart(2, id), unit.endPart(0, id)]).toEqual([false, false]);
    expect([0, 1, 2].map((each) => manager.unit(each).isOver(id))).toEqual([true, false, true]);
    expect(unit.endPart(1, id)).toBe(true);
  }
});

test('a manager that looks sees the end itself, and nobody tells it', () => {
  const [manager, unit] = shared();
  for (const id of [1, 2]) {
    manager.write(launch(id, 0), 2);
    expect([unit.endPart(0, id), manager.allOver]).toEqual([false, false]);
    expect([unit.endPart(1, id), manager.allOver]).toEqual([false, true]);
  }
});

test('a manager that looks no more learns of an end that nobody told it', () => {
  const [manager, unit] = shared();
  manager.write(launch(1, 0), 1);
  unit.endPart(0, 1);
  expect(manager.unwatch()).toBe(true);
});

test('a launch that has no room on the board is refused, with the remedy', () => {
  const [manager] = shared();
  expect(() => manager.write(launch(1, 0, 'x'.repeat(2 ** 17)), 1)).toThrow(
    /kernel k .* module of its own/,
  );
});
