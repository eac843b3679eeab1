import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ScriptedServer, scriptedPair } from '../../test/harness/scripted-server.js';
import { agreedArray, type KnownArray } from './description.js';
import { keysOf } from './steps.js';

/** Longer than a test may take: whoever waits for so long fails it. */
const LONG_MS = 60_000;
const ARRAY = { type: 'f64', length: 8, blockBytes: 4096 };
const KNOWN = { ...ARRAY, made: '1.5' };
const ANSWER = '*4\r\n$3\r\nf64\r\n$1\r\n8\r\n$4\r\n4096\r\n$3\r\n1.5\r\n';

let pair: [ScriptedServer, ScriptedServer];
beforeEach(async () => {
  pair = await scriptedPair();
});
afterEach(async () => {
  for (const each of pair) await each.stop();
});

function agree(timeoutMs: number): Promise<KnownArray | null> {
  return agreedArray([pair[0].url], 'numbers', ARRAY, { timeoutMs });
}

test('the server of an array that has died is waited for until another one has its slot', async () => {
  const [alive, dead] = pair;
  await dead.stop();
  alive.halves = [dead, dead];
  alive.answers.push(ANSWER);
  const agreed = agree(LONG_MS);
  setTimeout(() => (alive.halves = [alive, alive]), 50);
  expect(await agreed).toEqual(KNOWN);
});

test.each([
  'CLUSTERDOWN The cluster is down',
  'LOADING It reads what it had kept',
  'MOVED 7 127.0.0.1:1',
])('a server that answers %s is asked again', async (said) => {
  const [alive] = pair;
  alive.halves = [alive, alive];
  alive.answers.push(`-${said}\r\n`, ANSWER);
  expect(await agree(LONG_MS)).toEqual(KNOWN);
  expect(alive.heard.filter((each) => each.includes(keysOf('numbers').shape))).toHaveLength(2);
});

test('the server of an array in whose place none comes in time is named, with the slot and what is to be done', async () => {
  const [alive, dead] = pair;
  await dead.stop();
  alive.halves = [dead, dead];
  const { message } = await agree(100).catch((error) => error);
  expect(message).toMatch(
    new RegExp(
      `^${alive.url} names ${dead.url} as the server of slot \\d+: there is no connection`,
    ),
  );
  expect(message).toMatch(/; no replica has taken over within 100 ms; have the cluster repaired/);
});

test('what does not pass otherwise is told as that', async () => {
  const [alive] = pair;
  alive.halves = [alive, alive];
  alive.answers.push(
    ...Array.from({ length: 100 }, () => '-LOADING It reads what it had kept\r\n'),
  );
  const { message } = await agree(100).catch((error) => error);
  expect(message).toBe(
    'LOADING It reads what it had kept; that has not passed within 100 ms; try again later, or give a longer timeoutMs',
  );
});
