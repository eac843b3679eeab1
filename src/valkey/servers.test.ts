/** Which servers of a cluster are asked what: servers of the test's own, which answer what they are told to. */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import slotOf from 'cluster-key-slot';
import { afterEach, expect, it } from 'vitest';
import type { ValkeyConnection } from './connection.js';
import { ValkeyError } from './errors.js';
import { type Reply, ReplyReader } from './replies.js';
import { ValkeyServers } from './servers.js';

const HELLO =
  '%5\r\n+server\r\n+valkey\r\n+version\r\n+8.0.0\r\n+mode\r\n+cluster\r\n+role\r\n+master\r\n+id\r\n:1\r\n';
/** Of slots in the lower and in the upper half. */
const [LOW, HIGH] = ['b', 'a'];

/** A server of a cluster of which the test is the rest. */
class Scripted {
  readonly heard: string[] = [];
  port = 0;
  /** The servers that have the lower and the upper half of the slots, as this one believes. */
  halves: readonly Scripted[] = [];
  /** Answers to what has to do with keys, the next one first; then OK. */
  readonly answers: string[] = [];
  private readonly sockets = new Set<Socket>();
  private server: Server | null = null;

  async start(): Promise<this> {
    this.server = createServer((socket) => this.serve(socket)).listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
    this.port = (this.server.address() as { port: number }).port;
    return this;
  }

  async stop(): Promise<void> {
    this.server?.close();
    for (const socket of this.sockets) socket.destroy();
    await once(this.server as Server, 'close');
    this.server = null;
  }

  get isUp(): boolean {
    return this.server !== null;
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    const reader = new ReplyReader({
      target: () => null,
      pushed: () => undefined,
      reply: (value) =>
        socket.write(this.answer((value as Reply[]).map((each) => Buffer.from(each as Uint8Array).toString()))),
    });
    socket.on('error', () => undefined).on('data', (bytes) => reader.read(bytes));
  }

  private answer(command: readonly string[]): string {
    const [word] = command;
    if (word === 'HELLO') return HELLO;
    if (word === 'INFO') return '$0\r\n\r\n';
    if (word === 'CLIENT') return '+OK\r\n';
    if (word !== 'CLUSTER') {
      this.heard.push(command.join(' '));
      return word === 'ASKING' ? '+OK\r\n' : (this.answers.shift() ?? '+OK\r\n');
    }
    const ranges = this.halves.map(
      ({ port }, half) => `*3\r\n:${half * 8192}\r\n:${half * 8192 + 8191}\r\n*2\r\n$9\r\n127.0.0.1\r\n:${port}\r\n`,
    );
    return `*${ranges.length}\r\n${ranges.join('')}`;
  }
}

const started: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of started.splice(0)) await each.close();
});

/** Two servers with half of the slots each. */
async function pair(): Promise<Scripted[]> {
  const two = [await new Scripted().start(), await new Scripted().start()];
  for (const each of two) {
    each.halves = two;
    started.push({ close: () => (each.isUp ? each.stop() : undefined) });
  }
  return two;
}

function connect({ port }: Scripted, timeoutMs = 10_000, recognize?: (connection: ValkeyConnection) => Promise<void>) {
  const states: boolean[] = [];
  const servers = new ValkeyServers(
    { url: `valkey://127.0.0.1:${port}`, timeoutMs, tls: {}, ...(recognize && { recognize }) },
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
    if (connection.address.port === low.port && failures-- > 0) throw new ValkeyError('REPLY', 'LOADING');
  };
  const { set } = connect(high, 10_000, recognize);
  await Promise.all([set(LOW), set(HIGH)]);
  expect(low.heard).toEqual([`EXISTS ${low.port}`, `EXISTS ${low.port}`, `SET ${LOW} x`]);
  expect(high.heard).toEqual([`EXISTS ${high.port}`, `SET ${HIGH} x`]);
});
