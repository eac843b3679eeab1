/**
 * A cluster of a test's own: three servers with a third of the slots each, and a replica of the
 * first one where it is asked for.
 */
import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import slotOf from 'cluster-key-slot';
import { ValkeyConnection } from '../../src/valkey/connection.js';
import { type Certificate, tlsSettings } from './certificates.js';
import { until } from './processes.js';
import { sleep } from './suite.js';
import { ValkeyServer } from './valkey-server.js';

const SLOTS = 16_384;
const PRIMARIES = 3;
/** After so long the others take a server for failed. */
const NODE_TIMEOUT_MS = 1500;

/** What the servers are told besides. */
export interface ClusterSettings {
  readonly lines?: Readonly<Record<string, string | number>>;
  /** They speak TLS alone, with clients and with each other. */
  readonly tls?: Certificate;
  /** That clients, and the servers among each other, need. */
  readonly password?: string;
}

export class ClusterServer implements AsyncDisposable {
  private constructor(
    readonly server: ValkeyServer,
    readonly port: number,
    readonly bus: number,
    private readonly connection: ValkeyConnection,
    /** By which the others know it. */
    readonly id: string,
    private readonly settings: ClusterSettings,
  ) {}

  static async start(
    port: number,
    bus: number,
    settings: ClusterSettings = {},
  ): Promise<ClusterServer> {
    const { lines = {}, tls, password = '' } = settings;
    const server = await ValkeyServer.start(
      {
        'cluster-enabled': 'yes',
        'cluster-port': bus,
        'cluster-node-timeout': NODE_TIMEOUT_MS,
        'cluster-announce-ip': '127.0.0.1',
        // Else a restart of the cluster would wait for what a test does not look at.
        'cluster-replica-validity-factor': 0,
        'repl-diskless-sync-delay': 0,
        ...(tls === undefined
          ? {}
          : { ...tlsSettings(tls, port), port: 0, 'tls-cluster': 'yes', 'tls-replication': 'yes' }),
        ...(password === '' ? {} : { requirepass: password, masterauth: password }),
        ...lines,
      },
      port,
    );
    const url = `${server.url}?password=${encodeURIComponent(password)}`;
    const connection = await ValkeyConnection.open(url, { timeoutMs: 60_000 });
    const id = textOf(await connection.call(['CLUSTER', 'MYID']));
    return new ClusterServer(server, port, bus, connection, id, settings);
  }

  get url(): string {
    return this.urlAt('127.0.0.1');
  }

  /** @param host a name of this machine */
  urlAt(host: string): string {
    const { tls, password = '' } = this.settings;
    const user = password === '' ? '' : `:${encodeURIComponent(password)}@`;
    return `${tls === undefined ? 'valkey' : 'valkeys'}://${user}${host}:${this.port}`;
  }

  /** What MIGRATE to another server of the cluster needs to be let in there. */
  get login(): readonly string[] {
    const { password = '' } = this.settings;
    return password === '' ? [] : ['AUTH', password];
  }

  async ask(...args: (string | number)[]): Promise<unknown> {
    return this.connection.call(args);
  }

  async text(...args: (string | number)[]): Promise<string> {
    return textOf(await this.ask(...args));
  }

  /** How often it has answered with an error of this kind. */
  async errors(word: string): Promise<number> {
    return Number(
      new RegExp(`errorstat_${word}:count=(\\d+)`).exec(
        await this.text('INFO', 'errorstats'),
      )?.[1] ?? 0,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.connection.close();
    await this.server[Symbol.asyncDispose]();
  }
}

export class ValkeyCluster implements AsyncDisposable {
  private constructor(
    readonly primaries: readonly ClusterServer[],
    /** Of the first one. */
    readonly replica: ClusterServer | null,
  ) {}

  static async start(withReplica = false, settings: ClusterSettings = {}): Promise<ValkeyCluster> {
    const servers = PRIMARIES + (withReplica ? 1 : 0);
    const ports = await freePorts(2 * servers);
    const all = await Promise.all(
      Array.from({ length: servers }, (_, at) =>
        ClusterServer.start(ports[2 * at], ports[2 * at + 1], settings),
      ),
    );
    const cluster = new ValkeyCluster(all.slice(0, PRIMARIES), all[PRIMARIES] ?? null);
    try {
      await cluster.join();
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
    return cluster;
  }

  get all(): readonly ClusterServer[] {
    return this.replica === null ? this.primaries : [...this.primaries, this.replica];
  }

  /**
   * Takes a slot from a server to another one, in two steps: between these it is on its way, with
   * half of what it has.
   */
  async migrate(
    slot: number,
    from: ClusterServer,
    to: ClusterServer,
  ): Promise<() => Promise<void>> {
    await to.ask('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
    await from.ask('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);
    const keys = (await from.ask('CLUSTER', 'GETKEYSINSLOT', slot, 100_000)) as Uint8Array[];
    const move = async (some: readonly Uint8Array[]): Promise<void> => {
      for (const key of some)
        await from.ask('MIGRATE', '127.0.0.1', to.port, textOf(key), 0, 30_000, ...to.login);
    };
    await move(keys.slice(0, Math.ceil(keys.length / 2)));
    return async () => {
      await move((await from.ask('CLUSTER', 'GETKEYSINSLOT', slot, 100_000)) as Uint8Array[]);
      for (const each of [to, from]) await each.ask('CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
    };
  }

  /** The server that has the slot of a key, by the order of the primaries. */
  ownerOf(key: string): ClusterServer {
    return this.primaries[Math.floor((slotOf(key) * PRIMARIES) / SLOTS)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.all.map((each) => each[Symbol.asyncDispose]()));
  }

  private async join(): Promise<void> {
    const { primaries, replica, all } = this;
    for (const [at, each] of primaries.entries()) {
      await each.ask('CLUSTER', 'SET-CONFIG-EPOCH', at + 1);
      const [first, end] = [at, at + 1].map((part) => Math.ceil((part * SLOTS) / PRIMARIES));
      await each.ask('CLUSTER', 'ADDSLOTSRANGE', first, end - 1);
    }
    for (const each of all.slice(1))
      await all[0].ask('CLUSTER', 'MEET', '127.0.0.1', each.port, each.bus);
    const isReady = async (each: ClusterServer): Promise<boolean> => {
      const about = await each.text('CLUSTER', 'INFO');
      return (
        about.includes('cluster_state:ok') && about.includes(`cluster_known_nodes:${all.length}\r`)
      );
    };
    for (const each of all) while (!(await isReady(each))) await sleep(20);
    if (replica === null) return;
    await replica.ask('CLUSTER', 'REPLICATE', primaries[0].id);
    while (!(await replica.text('INFO', 'replication')).includes('master_link_status:up'))
      await sleep(20);
  }
}

/** Different ports that no program listens on, and below those that systems give to connections. */
async function freePorts(count: number): Promise<number[]> {
  const held: Server[] = [];
  while (held.length < count) {
    const server = createServer().listen(10_000 + Math.floor(Math.random() * 20_000), '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (isFree) held.push(server);
  }
  const ports = held.map((server) => (server.address() as { port: number }).port);
  await Promise.all(held.map((server) => once(server.close(), 'close')));
  return ports;
}

/** Until the replica has all that its primary was given, which takes it 30 s at most. */
export async function replicated({ primaries: [primary] }: ValkeyCluster): Promise<void> {
  for (const late = Date.now() + 30_000; ; ) {
    assert.ok(Date.now() < late, 'the replica has what its primary was given');
    const about = await primary.text('INFO', 'replication');
    const offset = /^master_repl_offset:(\d+)/m.exec(about)?.[1];
    if (offset !== undefined && about.includes(`,offset=${offset},`)) return;
    await sleep(10);
  }
}

/** Until the replica has taken over. */
export async function tookOver({ replica }: ValkeyCluster): Promise<void> {
  assert.ok(replica !== null);
  let isPrimary = false;
  const ask = setInterval(async () => {
    isPrimary = (await replica.text('INFO', 'replication')).includes('role:master');
  }, 50);
  await until('the replica has taken over', () => isPrimary).finally(() => clearInterval(ask));
}

function textOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString() : String(value);
}
