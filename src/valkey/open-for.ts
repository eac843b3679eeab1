/** A connection to the server that has a key, and with it all keys that have the same hash tag. */
import { addressIn, type ValkeyAddress } from './address.js';
import { type ConnectionOptions, ValkeyConnection } from './connection.js';
import { openNamed } from './failover.js';
import { firstOf, standsAlone } from './first-of.js';
import { slotMapOf, unserved } from './slots.js';

export interface Opened {
  readonly connection: ValkeyConnection;
  /** All servers to ask next time: those that have slots, this key's first. */
  readonly servers: readonly ValkeyAddress[];
}

export interface OpenOptions extends ConnectionOptions {
  /** As `timeoutMs`, for a server that another one has named as the one that has the key. */
  readonly namedMs?: number;
}

/**
 * @param servers of one cluster, or one that stands alone: the first that answers is asked
 * @throws ValkeyError as `firstOf` does
 */
export async function openFor(
  key: string,
  servers: readonly ValkeyAddress[],
  options: OpenOptions,
): Promise<Opened> {
  return firstOf(servers, (server) => openFrom(key, server, servers, options));
}

async function openFrom(
  key: string,
  server: ValkeyAddress,
  servers: readonly ValkeyAddress[],
  { namedMs, ...options }: OpenOptions,
): Promise<Opened> {
  const connection = await ValkeyConnection.open(server, options);
  try {
    if (connection.info.mode !== 'cluster') {
      if (servers.length > 1) throw standsAlone(server.shown);
      return { connection, servers };
    }
    // Loaded for clusters alone.
    const { default: slotOf } = await import('cluster-key-slot');
    const map = slotMapOf(await connection.call(['CLUSTER', 'SLOTS']), server);
    const slot = slotOf(key);
    const owner = map.ownerOf(slot);
    if (owner === null) throw unserved(server.shown, map.missing);
    const known = map.servers.map((name) => addressIn(server, name));
    const first = addressIn(server, owner);
    // The server that answered stays the last resort: it may be known by a name that others cannot
    // reach, or have none.
    const all = [first, ...known, ...servers].filter(
      (each, at, list) => list.findIndex(({ shown }) => shown === each.shown) === at,
    );
    if (server.host === first.host && server.port === first.port)
      return { connection, servers: all };
    connection.close();
    const named = namedMs === undefined ? options : { ...options, timeoutMs: namedMs };
    return {
      connection: await openNamed(server, first, `the server of slot ${slot}`, named),
      servers: all,
    };
  } catch (error) {
    connection.close();
    throw error;
  }
}
