/**
 * Servers of a test's own that answer what they are told to: those of a cluster of which the test
 * is the rest.
 */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { type Reply, ReplyReader } from '../../src/valkey/replies.js';

export class ScriptedServer {
  readonly heard: string[] = [];
  port = 0;
  mode: 'cluster' | 'standalone' = 'cluster';
  /** Of its cluster, as it believes. */
  state = 'ok';
  /** The servers that have the lower and the upper half of the slots, as this one believes. */
  halves: readonly ScriptedServer[] = [];
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

  /** It has the same address when it is started again. */
  async stop(): Promise<void> {
    const { server } = this;
    if (server === null) return;
    this.server = null;
    server.close();
    for (const socket of this.sockets) socket.destroy();
    await once(server, 'close');
  }

  get url(): string {
    return `valkey://127.0.0.1:${this.port}`;
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    const reader = new ReplyReader({
      target: () => null,
      pushed: () => undefined,
      reply: (value) =>
        socket.write(
          this.answer((value as Reply[]).map((each) => Buffer.from(each as Uint8Array).toString())),
        ),
    });
    socket.on('error', () => undefined).on('data', (bytes) => reader.read(bytes));
  }

  private answer(command: readonly string[]): string {
    const [word, what] = command;
    if (word === 'HELLO')
      return `%5\r\n+server\r\n+valkey\r\n+version\r\n+8.0.0\r\n+mode\r\n+${this.mode}\r\n+role\r\n+master\r\n+id\r\n:1\r\n`;
    if (word === 'INFO') return '$0\r\n\r\n';
    if (word === 'CLIENT') return '+OK\r\n';
    if (word !== 'CLUSTER') {
      this.heard.push(command.join(' '));
      return word === 'ASKING' ? '+OK\r\n' : (this.answers.shift() ?? '+OK\r\n');
    }
    if (what === 'INFO') return `$${14 + this.state.length}\r\ncluster_state:${this.state}\r\n`;
    const ranges = this.halves.map(
      ({ port }, half) =>
        `*3\r\n:${half * 8192}\r\n:${half * 8192 + 8191}\r\n*2\r\n$9\r\n127.0.0.1\r\n:${port}\r\n`,
    );
    return `*${ranges.length}\r\n${ranges.join('')}`;
  }
}

/** Two servers with half of the slots each. */
export async function scriptedPair(): Promise<[ScriptedServer, ScriptedServer]> {
  const two: [ScriptedServer, ScriptedServer] = [
    await new ScriptedServer().start(),
    await new ScriptedServer().start(),
  ];
  for (const each of two) each.halves = two;
  return two;
}
