/** Whether a server, or a cluster, can have pages of a space: asked once, before the space is opened. */
import { addressIn, type ValkeyAddress } from './address.js';
import { certificateProblem } from './certificates.js';
import { type ConnectionOptions, ValkeyConnection } from './connection.js';
import { ValkeyError } from './errors.js';
import { slotMapOf, unserved } from './slots.js';

/** @throws ValkeyError when it cannot be reached, refuses the connection, or would not keep what it is given */
export async function checkServer(url: string, options: ConnectionOptions): Promise<void> {
  const connection = await ValkeyConnection.open(url, options);
  try {
    const { mode, role } = connection.info;
    if (mode === 'cluster') {
      await checkCluster(connection, options);
      return;
    }
    if (mode === 'sentinel') refuse(connection, 'is a sentinel; name the server that it watches');
    if (role !== 'master') refuse(connection, `is a ${role}, which cannot be written; name the primary`);
    await checkMemory(connection);
  } finally {
    connection.close();
  }
}

/** All slots have a server, and all servers keep what they are given. */
async function checkCluster(connection: ValkeyConnection, options: ConnectionOptions): Promise<void> {
  const { address } = connection;
  const map = slotMapOf(await connection.call(['CLUSTER', 'SLOTS']), address);
  if (map.missing > 0) throw down(connection, unserved(address.shown, map.missing).message);
  const about = textOf(await connection.call(['CLUSTER', 'INFO']));
  const state = /^cluster_state:(\w+)/m.exec(about)?.[1] ?? 'unknown';
  if (state !== 'ok') throw down(connection, `CLUSTERDOWN its state is ${state}`);
  for (const name of map.servers) {
    const server = await openNamed(connection, addressIn(address, name), options);
    try {
      await checkMemory(server);
    } finally {
      server.close();
    }
  }
}

/** A server that another one has named. It may have a name that is good among servers only, or a port where it does not speak TLS. */
async function openNamed(
  { address: { shown, tls } }: ValkeyConnection,
  named: ValkeyAddress,
  options: ConnectionOptions,
): Promise<ValkeyConnection> {
  try {
    return await ValkeyConnection.open(named, options);
  } catch (cause) {
    const { code, message } = cause as ValkeyError;
    const unlessTls =
      tls && certificateProblem((cause as ValkeyError).cause) === null
        ? '; servers name ports where they speak TLS if they are told tls-cluster yes'
        : '';
    throw new ValkeyError(code, `${shown} names ${named.shown} as one of its cluster: ${message}${unlessTls}`, {
      cause,
    });
  }
}

async function checkMemory(connection: ValkeyConnection): Promise<void> {
  const about = textOf(await connection.call(['INFO', 'memory']));
  const most = Number(/^maxmemory:(\d+)/m.exec(about)?.[1] ?? 0);
  const policy = /^maxmemory_policy:(\S+)/m.exec(about)?.[1] ?? 'noeviction';
  if (most > 0 && policy !== 'noeviction')
    refuse(
      connection,
      `drops what it has when its memory is full (maxmemory-policy ${policy}), and pages of arrays with it; set maxmemory-policy noeviction`,
    );
}

function down({ address }: ValkeyConnection, why: string): ValkeyError {
  const text = `${address.shown} is part of a cluster that is down (${why}); have it repaired: valkey-cli --cluster check`;
  return new ValkeyError('REFUSED', text);
}

function refuse({ address }: ValkeyConnection, why: string): never {
  throw new ValkeyError('REFUSED', `${address.shown} ${why}`);
}

function textOf(answer: unknown): string {
  return Buffer.from(answer as Uint8Array).toString();
}
