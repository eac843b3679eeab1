/** Whether a server or cluster can have a space's pages: asked before the space opens. */
import { addressIn } from './address.js';
import { type ConnectionOptions, ValkeyConnection } from './connection.js';
import { PartDownError, ValkeyError } from './errors.js';
import { openNamed, throughFailover } from './failover.js';
import { firstOf, standsAlone } from './first-of.js';
import { type HostAddresses, hostAddresses } from './host-addresses.js';
import { replyText } from './replies.js';
import { type SlotMap, slotMapOf, unserved } from './slots.js';

/** Memory of a server, or of several of a cluster together. */
export interface ServerMemory {
  /** Whose it is, in words. */
  readonly shown: string;
  /** Its maxmemory, or what its machine has where there is none. */
  readonly limitBytes: number;
  readonly usedBytes: number;
}

/** What was found out. */
export interface Checked {
  /** Null where a server does not tell: its user may not ask. */
  readonly memory: ServerMemory | null;
  /** The addresses that were given, the one that answered first. */
  readonly urls: readonly string[];
  /** Addresses of their names, for threads that speak with them later. */
  readonly hosts: HostAddresses;
}

export interface CheckOptions extends ConnectionOptions {
  readonly timeoutMs: number;
  /** All is kept in this key's slot: of a cluster only its server is needed. */
  readonly key?: string;
}

/** The same, with how long servers that others name may take to answer. */
interface AskOptions extends Omit<CheckOptions, 'timeoutMs'> {
  readonly namedMs: number;
}

/**
 * @param urls of servers of one cluster, or of one that stands alone: the first that answers as it
 * should is asked. Of a cluster a server that has died is waited for until a replica has taken
 * over, up to `timeoutMs`
 * @throws ValkeyError when none can be reached, or one refuses the connection, or would not keep
 * what it is given
 */
export function checkServer(urls: readonly string[], options: CheckOptions): Promise<Checked> {
  return throughFailover(options.timeoutMs, (namedMs) =>
    firstOf(urls, async (url) => ({
      memory: await checkOne(url, urls.length > 1, { ...options, namedMs }),
      urls: [url, ...urls.filter((each) => each !== url)],
      hosts: hostAddresses(),
    })),
  );
}

async function checkOne(
  url: string,
  isOneOfMany: boolean,
  { namedMs, ...options }: AskOptions,
): Promise<ServerMemory | null> {
  const connection = await ValkeyConnection.open(url, options);
  try {
    const { mode, role } = connection.info;
    if (mode === 'cluster')
      return await checkCluster(connection, { ...options, timeoutMs: namedMs });
    if (mode === 'sentinel') refuse(connection, 'is a sentinel; name the server that it watches');
    if (isOneOfMany) throw standsAlone(connection.address.shown);
    if (role !== 'master')
      refuse(connection, `is a ${role}, which cannot be written; name the primary`);
    return await checkMemory(connection);
  } finally {
    connection.close();
  }
}

/** The slots that are needed have a server, and all of these keep what they are given. */
async function checkCluster(
  connection: ValkeyConnection,
  { key, ...options }: ConnectionOptions & Pick<CheckOptions, 'key'>,
): Promise<ServerMemory | null> {
  const { address } = connection;
  const map = slotMapOf(await connection.call(['CLUSTER', 'SLOTS']), address);
  const needed = key === undefined ? map.servers : await ownersOf(key, map);
  if (key === undefined ? map.missing > 0 : needed.length === 0)
    throw down(connection, unserved(address.shown, map.missing).message);
  const about = replyText(await connection.call(['CLUSTER', 'INFO']));
  const state = /^cluster_state:(\w+)/m.exec(about)?.[1] ?? 'unknown';
  const why = `CLUSTERDOWN its state is ${state}`;
  const memories = await memoriesOf(connection, needed, map, options).catch(
    (error: ValkeyError) => {
      // The cluster has found out by itself that the server is gone.
      throw state !== 'ok' && error instanceof PartDownError ? down(connection, why, error) : error;
    },
  );
  if (state !== 'ok') throw down(connection, why);
  if (memories.length < needed.length) return null;
  if (memories.length === 1) return memories[0];
  const sum = (of: (memory: ServerMemory) => number): number =>
    memories.reduce((all, each) => all + of(each), 0);
  return {
    limitBytes: sum(({ limitBytes }) => limitBytes),
    usedBytes: sum(({ usedBytes }) => usedBytes),
    shown: `the ${memories.length} servers of the cluster of ${address.shown}`,
  };
}

async function ownersOf(key: string, map: SlotMap): Promise<readonly string[]> {
  const { default: slotOf } = await import('cluster-key-slot');
  return [map.ownerOf(slotOf(key)) ?? []].flat();
}

/** Of all servers that tell. */
async function memoriesOf(
  { address }: ValkeyConnection,
  names: readonly string[],
  map: SlotMap,
  options: ConnectionOptions,
): Promise<ServerMemory[]> {
  const memories: ServerMemory[] = [];
  for (const name of names) {
    const as = `one of its cluster, with ${map.shareOf(name)}`;
    const server = await openNamed(address, addressIn(address, name), as, options);
    try {
      const memory = await checkMemory(server);
      if (memory !== null) memories.push(memory);
    } finally {
      server.close();
    }
  }
  return memories;
}

async function checkMemory(connection: ValkeyConnection): Promise<ServerMemory | null> {
  let about: string;
  try {
    about = replyText(await connection.call(['INFO', 'memory']));
  } catch (error) {
    // Not every user may ask; what becomes of that is told when the memory is full.
    if ((error as ValkeyError).code === 'REPLY') return null;
    throw error;
  }
  const figure = (name: string): number =>
    Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(about)?.[1] ?? 0);
  const most = figure('maxmemory');
  const policy = /^maxmemory_policy:(\S+)/m.exec(about)?.[1] ?? 'noeviction';
  if (most > 0 && policy !== 'noeviction')
    refuse(
      connection,
      `evicts keys when its memory is full (maxmemory-policy ${policy}), and with them pages of arrays; set maxmemory-policy noeviction`,
    );
  const limitBytes = most > 0 ? most : figure('total_system_memory');
  return limitBytes > 0
    ? { shown: connection.address.shown, limitBytes, usedBytes: figure('used_memory') }
    : null;
}

/** @param cause which server it lacks, as far as that is known */
function down({ address }: ValkeyConnection, why: string, cause?: ValkeyError): PartDownError {
  const lacks = cause === undefined ? '' : `: ${cause.message}`;
  return new PartDownError(
    'REFUSED',
    `${address.shown} is part of a cluster that is down (${why})${lacks}`,
    { cause },
  );
}

function refuse({ address }: ValkeyConnection, why: string): never {
  throw new ValkeyError('REFUSED', `${address.shown} ${why}`);
}
