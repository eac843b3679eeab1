import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ScriptedServer, scriptedPair } from '../../test/harness/scripted-server.js';
import { valkeyAddress } from './address.js';
import { checkServer } from './check.js';
import { openFor } from './open-for.js';

/** Longer than a test may take: whoever waits for so long fails it. */
const LONG_MS = 60_000;

let pair: [ScriptedServer, ScriptedServer];
beforeEach(async () => {
  pair = await scriptedPair();
});
afterEach(async () => {
  for (const each of pair) await each.stop();
});

/** How a program that opens something there goes on, by both. */
async function opened(
  ...servers: ScriptedServer[]
): Promise<{ checked: readonly string[]; asked: string }> {
  const urls = servers.map(({ url }) => url);
  const { urls: checked } = await checkServer(urls, { timeoutMs: LONG_MS });
  const { connection } = await openFor('key', urls.map(valkeyAddress), {});
  connection.close();
  return { checked, asked: connection.address.shown };
}

test('a cluster of whose addresses the first does not answer is opened by the next, which is the first from then on', async () => {
  const [dead, alive] = pair;
  alive.halves = [alive, alive];
  await dead.stop();
  expect(await opened(dead, alive)).toEqual({ checked: [alive.url, dead.url], asked: alive.url });
});

test('a cluster of which no address answers is refused by all of their names', async () => {
  for (const each of pair) await each.stop();
  const urls = pair.map(({ url }) => url);
  const attempts = [
    checkServer(urls, { timeoutMs: LONG_MS }),
    openFor('key', urls.map(valkeyAddress), {}),
  ];
  for (const attempt of attempts) {
    const message = await attempt.catch((error: Error) => error.message);
    expect(message).toMatch(/^none of 2 servers can be used: /);
    for (const url of urls) expect(message).toContain(`there is no connection to ${url}`);
  }
});

test('servers that stand alone are refused where several are named', async () => {
  const [one, other] = pair;
  for (const each of pair) each.mode = 'standalone';
  const urls = [one.url, other.url];
  const refused = {
    code: 'REFUSED',
    message: expect.stringContaining(`${one.url} is part of no cluster`),
  };
  await expect(checkServer(urls, { timeoutMs: LONG_MS })).rejects.toMatchObject(refused);
  await expect(openFor('key', urls.map(valkeyAddress), {})).rejects.toMatchObject(refused);
  expect(await opened(one)).toEqual({ checked: [one.url], asked: one.url });
});

test('a server that has died is waited for until another one has its slots', async () => {
  const [alive, dead] = pair;
  await dead.stop();
  const opening = checkServer([dead.url, alive.url], { timeoutMs: LONG_MS });
  setTimeout(() => (alive.halves = [alive, alive]), 50);
  expect((await opening).urls).toEqual([alive.url, dead.url]);
});

test('a cluster that has found out that a server is gone is waited for until that is past', async () => {
  const [alive] = pair;
  alive.halves = [alive, alive];
  alive.state = 'fail';
  const opening = checkServer([alive.url], { timeoutMs: LONG_MS });
  setTimeout(() => (alive.state = 'ok'), 50);
  expect((await opening).urls).toEqual([alive.url]);
});

test('a server in whose place none comes in time is named, with its slots and what is to be done', async () => {
  const [alive, dead] = pair;
  await dead.stop();
  for (const [state, code] of [
    ['ok', 'UNREACHABLE'],
    ['fail', 'REFUSED'],
  ]) {
    alive.state = state;
    const error = await checkServer([alive.url], { timeoutMs: 100 }).catch((each) => each);
    expect(error.code).toBe(code);
    expect(error.message).toContain(
      `${alive.url} names ${dead.url} as one of its cluster, with 8192 of 16384 slots: there is no connection`,
    );
    expect(error.message).toMatch(
      /; no replica has taken over within 100 ms; have the cluster repaired \(valkey-cli --cluster check\), or give timeoutMs more/,
    );
  }
});

test('of a cluster no more is needed than the server that has the key that all depends on', async () => {
  const [alive, dead] = pair;
  await dead.stop();
  const check = (key: string, timeoutMs: number): Promise<unknown> =>
    checkServer([alive.url], { timeoutMs, key });
  // Of the lower half, and of the upper one.
  await expect(check('bar', LONG_MS)).resolves.toMatchObject({ urls: [alive.url] });
  await expect(check('foo', 100)).rejects.toThrow(`${alive.url} names ${dead.url}`);
  alive.halves = [alive];
  await expect(check('bar', LONG_MS)).resolves.toMatchObject({ urls: [alive.url] });
  await expect(check('foo', 100)).rejects.toThrow(
    /8192 of 16384 slots of the cluster .* have no server/,
  );
});
