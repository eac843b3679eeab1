import { expect, test } from 'vitest';
import { Packet } from '../link/protocol.js';
import { SpareBuffers } from './spare-buffers.js';

function made(mostBytes: number): { spares: SpareBuffers; said: [number, unknown][] } {
  const said: [number, unknown][] = [];
  return { spares: new SpareBuffers(mostBytes, (kind, what) => said.push([kind, what])), said };
}

test('a buffer that was given up is used for the next one of its size, once', () => {
  const { spares, said } = made(100);
  spares.create(1, 10);
  spares.giveUp(1, 10);
  spares.create(2, 20);
  spares.create(3, 10);
  spares.create(4, 10);
  expect(said).toEqual([
    [Packet.Create, [1, 10]],
    [Packet.Create, [2, 20]],
    [Packet.Reuse, [1, 3]],
    [Packet.Create, [4, 10]],
  ]);
});

test('those that there is no room for beside what is used go, the oldest first', () => {
  const { spares, said } = made(100);
  for (const buffer of [1, 2, 3]) spares.giveUp(buffer, 20);
  expect(spares.areTooMany(40)).toBe(false);
  expect(spares.areTooMany(41)).toBe(true);
  spares.trim(70);
  expect(said).toEqual([
    [Packet.Destroy, [1]],
    [Packet.Destroy, [2]],
  ]);
  spares.trim(Number.POSITIVE_INFINITY);
  expect(said.at(-1)).toEqual([Packet.Destroy, [3]]);
  expect(spares.areTooMany(1000)).toBe(false);
});

test('a buffer that is there is there under its next number, until it goes', () => {
  const { spares } = made(100);
  spares.create(1, 10);
  expect(spares.isThere(1)).toBe(false);
  spares.noteThere(1);
  spares.giveUp(1, 10);
  spares.create(2, 10);
  spares.create(3, 10);
  expect([1, 2, 3].map((buffer) => spares.isThere(buffer))).toEqual([false, true, false]);
  spares.giveUp(2, 10);
  spares.trim(Number.POSITIVE_INFINITY);
  expect(spares.isThere(2)).toBe(false);
});
