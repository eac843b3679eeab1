/**
 * Which servers of a cluster are asked what: servers of the test's own, which answer what they are
 * told to.
 */
import slotOf from 'cluster-key-slot';
import { afterEach, expect, it } from 'vitest';
import { type ScriptedServer, scriptedPair } from '../../test/harness/scripted-server.js';
import type { ValkeyConnection } from './connection.js';
import { ValkeyError } from './errors.js';
import { ValkeyServers } from './servers.js';

/** Of slots in the lower and in the upper half. */
const [LOW, HIGH] = ['b', 'a'];

const started: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of started.splice(0)) await each.close();
});

async function pair(): Promise<[ScriptedServer, ScriptedServer]> {
  const two = await scriptedPair();
  for (const each of two) started.push({ close: () => each.stop() });
  return two;
}

function connect(
  named: ScriptedServer | readonly ScriptedServer[],
  timeoutMs = 10_000,
  recognize?: (connection: ValkeyConnection) => Promise<void>,
) {
  const states: boolean[] = [];
  const urls = [named].flat().map(({ url }) => url);
  const servers = new ValkeyServers(
    { urls, timeoutMs, tls: {}, ...(recognize && { recognize }) },
    (up) => states.push(up),
  );
  started.unshift(servers);
  return { states, set: (key: string) => servers.use(key, (at) => at.call(['SET', key, 'x'])) };
}

it('asks the server that has the slot of a key', async () => {
  const [low, high] = await pair();
  expect([slotOf(LOW) < 8192, slotOf(HIGH) < 8192]).toEqual([true, false]);
  const { set, states } = connect(high);
  await Promise.all([set(LOW), set(HIGH), set(`x{${LOW}}`)]);
  expect([low.heard, high.heard]).toEqual([[`SET ${LOW} x`, `SET x{${LOW}} x`], [`SET ${HIGH} x`]]);
  expect(states.at(-1)).toBe(true);
});

it('follows a slot that has moved, and goes there at once the next time', async () => {
  const [low, high] = await pair();
  const { set } = connect(low);
  await set(LOW);
  low.answers.push(`-MOVED ${slotOf(LOW)} 127.0.0.1:${high.port}\r\n`);
  low.halves = [high, high];
  high.halves = [high, high];
  await set(LOW);
  await set(LOW);
  expect([low.heard.length, high.heard]).toEqual([2, [`SET ${LOW} x`, `SET ${LOW} x`]]);
});

it('asks the server that a slot is on its way to once, and says why it does', async () => {
  const [low, high] = await pair();
  const { set } = connect(low);
  low.answers.push(`-ASK ${slotOf(LOW)} 127.0.0.1:${high.port}\r\n`);
  await set(LOW);
  await set(LOW);
  expect([low.heard.length, high.heard]).toEqual([2, ['ASKING', `SET ${LOW} x`]]);
});

it('waits for a cluster that is down, and says so when that takes too long', async () => {
  const [low] = await pair();
  const { set } = connect(low, 3000);
  low.answers.push('-CLUSTERDOWN Hash slot not served\r\n');
  await set(LOW);
  expect(low.heard.length).toBe(2);
  low.answers.push(...new Array<string>(30).fill('-CLUSTERDOWN Hash slot not served\r\n'));
  await expect(set(LOW)).rejects.toMatchObject({ code: 'REPLY', word: 'CLUSTERDOWN' });
});

it('does with the server that takes over what was asked of one that died', async () => {
  const [low, high] = await pair();
  const { set, states } = connect(low);
  await Promise.all([set(LOW), set(HIGH)]);
  await low.stop();
  const written = set(LOW);
  await expect.poll(() => states.at(-1)).toBe(false);
  high.halves = [high, high];
  await written;
  expect(high.heard).toEqual([`SET ${HIGH} x`, `SET ${LOW} x`]);
  expect(states.at(-1)).toBe(true);
});

it('asks nothing of a new connection before it has been recognized, once for each server', async () => {
  const [low, high] = await pair();
  let failures = 1;
  const recognize = async (connection: ValkeyConnection): Promise<void> => {
    await connection.call(['EXISTS', String(connection.address.port)]);
    if (connection.address.port === low.port && failures-- > 0)
      throw new ValkeyError('REPLY', 'LOADING');
  };
  const { set } = connect(high, 10_000, recognize);
  await Promise.all([set(LOW), set(HIGH)]);
  expect(low.heard).toEqual([`EXISTS ${low.port}`, `EXISTS ${low.port}`, `SET ${LOW} x`]);
  expect(high.heard).toEqual([`EXISTS ${high.port}`, `SET ${HIGH} x`]);
});

it('begins at the first of its addresses that answers', async () => {
  const [low, high] = await pair();
  await low.stop();
  low.halves = high.halves = [high, high];
  const { set } = connect([low, high]);
  await Promise.all([set(LOW), set(HIGH)]);
  expect(high.heard).toEqual([`SET ${LOW} x`, `SET ${HIGH} x`]);
});

it('finds a cluster by another address when no server that it knew answers any more', async () => {
  const [low, high] = await pair();
  low.halves = [low, low];
  const { set, states } = connect([low, high]);
  await set(LOW);
  await low.stop();
  await expect.poll(() => states.at(-1)).toBe(false);
  high.halves = [high, high];
  await set(LOW);
  expect(high.heard).toEqual([`SET ${LOW} x`]);
});

it('names every address when none answers', async () => {
  const [low, high] = await pair();
  await Promise.all([low.stop(), high.stop()]);
  const { set } = connect([low, high], 300);
  const message = await set(LOW).catch((error: Error) => error.message);
  expect(message).toMatch(/^none of 2 servers can be used: /);
  for (const { url } of [low, high]) expect(message).toContain(`there is no connection to ${url}`);
});

it('asks no server that stands alone in place of others', async () => {
  const [low, high] = await pair();
  low.mode = 'standalone';
  const { set } = connect([low, high]);
  low.halves = high.halves = [high, high];
  await set(LOW);
  expect([low.heard, high.heard]).toEqual([[], [`SET ${LOW} x`]]);
  high.mode = 'standalone';
  await expect(connect([low, high], 300).set(LOW)).rejects.toMatchObject({
    code: 'REFUSED',
    message: `${low.url} is part of no cluster, and several addresses are for servers of one; name its address alone, or have it join the others`,
  });
});
