/**
 * A Valkey or Redis server of a test's own: in a temporary folder, keeping nothing on disk, and
 * ended with the test whatever becomes of it.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ValkeyConnection } from '../../src/valkey/connection.js';
import { longTest, note, sleep, test, variantTest } from './suite.js';

const FINDER = fileURLToPath(new URL('../../../scripts/valkey-server.mjs', import.meta.url));
const STARTING_MS = 20_000;

export interface Programs {
  readonly server: string;
  readonly benchmark: string | null;
  readonly libraries: string;
}

let found: Programs | string | null = null;

/** The programs, or why there are none. They are fetched when they are not there. */
export function valkeyPrograms(): Programs | string {
  if (found !== null) return found;
  const { status, stdout, stderr } = spawnSync(process.execPath, [FINDER], {
    encoding: 'utf8',
    timeout: 240_000,
  });
  found =
    status === 0
      ? (JSON.parse(stdout) as Programs)
      : `no valkey-server, and none to be had: ${stderr.trim()}`;
  return found;
}

/** A test that needs a server: where none is to be had it says so aloud, and passes. */
export function testWithValkey(name: string, run: () => unknown, seconds = 60): void {
  declare(test, name, run, seconds);
}

/** One for `npm run test:long`. */
export function longTestWithValkey(name: string, run: () => unknown, seconds = 60): void {
  declare(longTest, name, run, seconds);
}

/** One of those that a loop makes: the first is always run. */
export function variantTestWithValkey(name: string, run: () => unknown, seconds = 60): void {
  const declared = (tested: string, _: () => unknown, limit?: number) =>
    variantTest(tested, run, limit);
  declare(declared, name, run, seconds);
}

function declare(kind: typeof test, name: string, run: () => unknown, seconds: number): void {
  kind(
    name,
    async () => {
      const programs = valkeyPrograms();
      if (typeof programs === 'string') note(`SKIPPED: ${programs}`);
      else await run();
    },
    // The first one may have to fetch the server.
    seconds + 60,
  );
}

export class ValkeyServer implements AsyncDisposable {
  private child: ChildProcess | null = null;
  private readonly folder = mkdtempSync(join(tmpdir(), 'onemem-valkey-'));
  private readonly kill = (): void => {
    this.child?.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  };

  private constructor(
    private readonly settings: Readonly<Record<string, string | number>>,
    private readonly port: number,
  ) {
    process.on('exit', this.kill);
  }

  /**
   * Starts a server that listens on a socket in its folder, and on a port if there is one.
   *
   * @param settings lines of its configuration
   */
  static async start(
    settings: Readonly<Record<string, string | number>> = {},
    port = 0,
  ): Promise<ValkeyServer> {
    const server = new ValkeyServer(settings, port);
    try {
      await server.restart();
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  /** Of the socket in the file system. */
  get url(): string {
    return `unix://${join(this.folder, 'socket')}`;
  }

  get pid(): number {
    return this.child?.pid as number;
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  /** Starts it again where it was: empty. */
  async restart(): Promise<void> {
    await this.stop();
    const { server, libraries } = valkeyPrograms() as Programs;
    const settings = {
      save: '',
      appendonly: 'no',
      dir: this.folder,
      port: this.port,
      bind: '127.0.0.1',
      ...this.settings,
    };
    const args = Object.entries({ unixsocket: this.file('socket'), ...settings }).flatMap(
      ([name, value]) => [`--${name}`, String(value)],
    );
    const env = {
      ...process.env,
      LD_LIBRARY_PATH: [libraries, process.env.LD_LIBRARY_PATH].filter(Boolean).join(':'),
    };
    const child = spawn(...withParent(server, args), { stdio: ['ignore', 'pipe', 'pipe'], env });
    this.child = child;
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    for (
      const end = Date.now() + STARTING_MS;
      !/ready to accept connections/i.test(output);
      await sleep(5)
    ) {
      if (child.exitCode !== null || child.signalCode !== null || Date.now() > end)
        throw new Error(`${server} did not start:\n${output}`);
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.child?.kill(signal);
  }

  /** Kills it as if its machine had gone. */
  async stop(): Promise<void> {
    const { child } = this;
    this.child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  /** Asks it something by a connection of its own. */
  async ask(...args: (string | number)[]): Promise<unknown> {
    const connection = await ValkeyConnection.open(this.url);
    try {
      return await connection.call(args);
    } finally {
      connection.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    process.off('exit', this.kill);
    this.kill();
  }
}

/**
 * The kernel ends it with this process where util-linux can have it so: a test may be killed
 * itself.
 */
function withParent(program: string, args: readonly string[]): [string, string[]] {
  const able = spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true']).status === 0;
  return able ? ['setpriv', ['--pdeathsig', 'KILL', program, ...args]] : [program, [...args]];
}

/** A port that no program listened on a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
