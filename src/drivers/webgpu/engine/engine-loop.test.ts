import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSocketPair, MessageSocket } from '../../../linux/sockets/socket.js';
import { clockAt, runEngineLoop } from './engine-loop.js';

/** What a turn takes. */
const TURN_MS = 0.03125;

let socket: MessageSocket;
let other: MessageSocket;
let taken: number[][];
/** How long the loop has slept after each turn in which nothing happened. */
let sleeps: number[];

beforeEach(() => {
  const [ours, theirs] = createSocketPair();
  [socket, other] = [new MessageSocket(ours), new MessageSocket(theirs)];
  taken = [];
  sleeps = [];
});

afterEach(() => {
  socket.close();
  other.close();
});

/**
 * Has the loop make so many turns in which nothing happens; at the end the other side goes.
 * @param meanwhile called before each sleep; returns how much has happened so far
 */
function run(
  turns: number,
  isBusy: boolean,
  meanwhile: (turn: number) => number = () => 0,
): Promise<void> {
  let ms = 0;
  let events = 0;
  const sleep = (forMs: number): boolean => {
    sleeps.push(forMs);
    ms += TURN_MS + forMs;
    events = meanwhile(sleeps.length);
    if (sleeps.length === turns) other.close();
    return true;
  };
  return new Promise((closed) => {
    const work = {
      isBusy,
      get events() {
        return events;
      },
      take: (packet: Uint8Array) => taken.push([...packet]),
      closed,
    };
    runEngineLoop(socket, work, { now: () => ms, sleep });
  });
}

test('turns follow each other for 0.05 ms, and then after a sixteenth of the time that was quiet, at most 0.5 ms', async () => {
  await run(100, true);
  let quietMs = 0;
  for (const ms of sleeps) {
    expect(ms).toBe(quietMs < 0.05 ? 0 : Math.min(quietMs / 16, 0.5));
    quietMs += TURN_MS + ms;
  }
  expect([sleeps[0], sleeps[1], sleeps[2], sleeps[99]]).toEqual([0, 0, 0.00390625, 0.5]);
});

test('turns follow each other again when something has happened, or a packet has come', async () => {
  await run(40, true, (turn) => {
    if (turn === 30) other.send(Uint8Array.of(1));
    return turn >= 20 ? 1 : 0;
  });
  for (const turn of [20, 30]) {
    expect(sleeps[turn - 1]).toBeGreaterThan(0);
    expect(sleeps.slice(turn, turn + 3)).toEqual([0, 0, 0.00390625]);
  }
});

test('while nothing is under way a turn follows after 100 ms', async () => {
  await run(3, false);
  expect(sleeps).toEqual([100, 100, 100]);
});

test('between two turns the event loop has its own, by which WebGPU finds out what has been done', async () => {
  let turns = 0;
  const seen: number[] = [];
  const turn = (): void => {
    turns++;
    if (seen.length < 5) setImmediate(turn);
  };
  setImmediate(turn);
  await run(5, true, () => seen.push(turns));
  expect(seen).toEqual([0, 1, 2, 3, 4]);
});

test('packets are taken in their order', async () => {
  other.send(Uint8Array.of(1, 2));
  other.send(Uint8Array.of(3));
  await run(1, false);
  expect(taken).toEqual([[1, 2], [3]]);
});

test('a packet ends the sleep at the socket', () => {
  const clock = clockAt(socket);
  expect(clock.sleep(0)).toBe(false);
  other.send(Uint8Array.of(1));
  expect(clock.sleep(60_000)).toBe(true);
});
