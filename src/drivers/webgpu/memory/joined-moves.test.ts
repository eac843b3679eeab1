import { expect, test } from 'vitest';
import { File, type Move, Packet } from '../link/protocol.js';
import { JoinedMoves } from './joined-moves.js';

const KIB = 1024;

function made(): { moves: JoinedMoves; said: [number, Move][] } {
  const said: [number, Move][] = [];
  const post = (kind: number, each: readonly Move[]): void => {
    for (const move of each) said.push([kind, move]);
  };
  return { moves: new JoinedMoves(post), said };
}

test('pieces that continue each other on both sides are one move, with the tokens of all', () => {
  const { moves, said } = made();
  for (let at = 0; at < 4; at++)
    moves.add(Packet.Write, 7 + at, File.Host, (100 + at) * KIB, [[3, (20 + at) * KIB, KIB]]);
  expect(said).toEqual([]);
  expect(moves.isWaiting).toBe(true);
  moves.flush();
  const move = {
    tokens: [7, 8, 9, 10],
    file: File.Host,
    at: 100 * KIB,
    parts: [[3, 20 * KIB, 4 * KIB]],
  };
  expect(said).toEqual([[Packet.Write, move]]);
  expect(moves.isWaiting).toBe(false);
});

test.each([
  ['the other way', Packet.Read, 1, 1, 3],
  ['elsewhere on the host', Packet.Write, 2, 1, 3],
  ['elsewhere in the buffer', Packet.Write, 1, 2, 3],
  ['in another buffer', Packet.Write, 1, 1, 4],
] as const)(
  'what goes %s is a move of its own, behind the first',
  (_, kind, at, offset, buffer) => {
    const { moves, said } = made();
    moves.add(Packet.Write, 1, File.Host, 0, [[3, 0, KIB]]);
    moves.add(kind, 2, File.Host, at * KIB, [[buffer, offset * KIB, KIB]]);
    moves.flush();
    expect(said.map(([each, { tokens }]) => [each, tokens])).toEqual([
      [Packet.Write, [1]],
      [kind, [2]],
    ]);
  },
);

test('zeros continue zeros', () => {
  const { moves, said } = made();
  moves.add(Packet.Write, 1, File.None, 0, [[3, 0, KIB]]);
  moves.add(Packet.Write, 2, File.None, 0, [[3, KIB, KIB]]);
  moves.add(Packet.Write, 3, File.Host, 0, [[3, 2 * KIB, KIB]]);
  moves.flush();
  expect(said.map(([, { tokens, parts }]) => [tokens, parts])).toEqual([
    [[1, 2], [[3, 0, 2 * KIB]]],
    [[3], [[3, 2 * KIB, KIB]]],
  ]);
});

test('what lies in several pieces goes by itself, and none is larger than 2 MiB', () => {
  const { moves, said } = made();
  moves.add(Packet.Read, 1, File.Host, 0, [[3, 0, KIB]]);
  moves.add(Packet.Read, 2, File.Host, KIB, [
    [3, KIB, KIB],
    [4, 0, KIB],
  ]);
  moves.add(Packet.Read, 3, File.Host, 0, [[3, 0, 2048 * KIB]]);
  moves.add(Packet.Read, 4, File.Host, 2048 * KIB, [[3, 2048 * KIB, KIB]]);
  moves.flush();
  expect(said.map(([, { tokens }]) => tokens)).toEqual([[1], [2], [3], [4]]);
});

test('what is of another kind than is to be said waits', () => {
  const { moves, said } = made();
  moves.add(Packet.Write, 1, File.Host, 0, [[3, 0, KIB]]);
  moves.flush(Packet.Read);
  expect(moves.isWaiting).toBe(true);
  moves.add(Packet.Read, 2, File.Host, 0, [[3, 0, KIB]]);
  moves.flush(Packet.Read);
  expect(said.map(([kind]) => kind)).toEqual([Packet.Write, Packet.Read]);
});

test('what is to be read goes in one packet, as far as that has room', () => {
  const said: number[][] = [];
  const moves = new JoinedMoves((_, each) => said.push(each.map(({ tokens }) => tokens?.[0] ?? 0)));
  for (let token = 1; token <= 10; token++)
    moves.add(Packet.Read, token, File.Host, 0, [[3, 0, KIB]]);
  moves.flush();
  moves.flush();
  expect(said).toEqual([
    [1, 2, 3, 4, 5, 6, 7, 8],
    [9, 10],
  ]);
});

test('small writes from many places go in one packet, which has no more than 2 MiB', () => {
  const said: number[] = [];
  const moves = new JoinedMoves((_, each) => said.push(each.length));
  for (let at = 0; at < 600; at++)
    moves.add(Packet.Write, at, File.Host, at * 8 * KIB, [[3, at * 8 * KIB, 4 * KIB]]);
  moves.flush();
  expect(said).toEqual([512, 88]);
});

test('what nobody waits for has no token, and adds none to what it continues', () => {
  const { moves, said } = made();
  moves.add(Packet.Write, null, File.None, 0, [[3, 0, KIB]]);
  moves.flush();
  moves.add(Packet.Write, null, File.None, 0, [[3, 0, KIB]]);
  moves.add(Packet.Write, 7, File.None, 0, [[3, KIB, KIB]]);
  moves.add(Packet.Write, null, File.None, 0, [[3, 2 * KIB, KIB]]);
  moves.flush();
  expect(said.map(([, { tokens, parts }]) => [tokens, parts[0][2]])).toEqual([
    [null, KIB],
    [[7], 3 * KIB],
  ]);
});
