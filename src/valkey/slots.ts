/**
 * Which server of a cluster has which keys. A cluster cuts all keys into slots, by a checksum of
 * what stands between the first braces of a key, and has a primary for each slot
 * (https://valkey.io/topics/cluster-spec). CLUSTER SLOTS is asked for them, since it names
 * primaries that are in use and nothing else, with the port of the kind of connection that asks;
 * CLUSTER SHARDS lists servers that have failed, too.
 */
import type { ValkeyAddress } from './address.js';
import { ValkeyError } from './errors.js';
import { type Reply, replyText } from './replies.js';

const SLOTS = 16_384;

/** Slots and the servers that have them, by names of the form HOST:PORT. */
export class SlotMap {
  /** One more than the place of the server in `names`; 0: no server has the slot. */
  private readonly owners = new Uint16Array(SLOTS);
  private readonly names: string[] = [];

  /** A server that stands alone has everything. */
  static of(server: string): SlotMap {
    const map = new SlotMap();
    map.give(0, SLOTS - 1, server);
    return map;
  }

  /** Those that have slots, each once. */
  get servers(): readonly string[] {
    const used = new Set(this.owners);
    return this.names.filter((_, at) => used.has(at + 1));
  }

  ownerOf(slot: number): string | null {
    return this.names[this.owners[slot] - 1] ?? null;
  }

  give(first: number, last: number, server: string): void {
    let at = this.names.indexOf(server);
    if (at === -1) at = this.names.push(server) - 1;
    this.owners.fill(at + 1, first, last + 1);
  }

  shareOf(server: string): string {
    const number = this.names.indexOf(server) + 1;
    const count = this.owners.reduce((sum, owner) => (owner === number ? sum + 1 : sum), 0);
    return `${count} of ${SLOTS} slots`;
  }

  /** How many slots have no server. */
  get missing(): number {
    return this.owners.reduce((count, owner) => (owner === 0 ? count + 1 : count), 0);
  }
}

/**
 * What CLUSTER SLOTS answered. @param asked the server that answered, which leaves out its own host
 * where it knows no better
 */
export function slotMapOf(answer: Reply, asked: ValkeyAddress): SlotMap {
  const map = new SlotMap();
  for (const range of answer as Reply[]) {
    const [first, last, primary] = range as [number, number, Reply[]];
    map.give(first, last, serverName(replyText(primary[0]), Number(primary[1]), asked));
  }
  return map;
}

/** Where a server says that a key is. */
export interface Redirection {
  /** `moved`: from now on. `ask`: this time, while its slot is on its way there. */
  readonly kind: 'moved' | 'ask';
  readonly slot: number;
  readonly server: string;
}

/** @param error what a command was answered by the server `asked`; null: it is no redirection */
export function redirectionOf(error: unknown, asked: ValkeyAddress): Redirection | null {
  if (!(error instanceof ValkeyError)) return null;
  const found = /^(MOVED|ASK) (\d+) (\S*):(\d+)/.exec(error.message);
  if (found === null) return null;
  const [, kind, slot, host, port] = found;
  return {
    kind: kind === 'ASK' ? 'ask' : 'moved',
    slot: Number(slot),
    server: serverName(host, Number(port), asked),
  };
}

/** Whether the answer may change in a while: a slot moves, a server failed or still loads. */
export function passes(error: unknown): boolean {
  return (
    error instanceof ValkeyError &&
    ['TRYAGAIN', 'CLUSTERDOWN', 'LOADING', 'MASTERDOWN'].includes(error.word)
  );
}

/** The error of a slot that no server has. */
export function unserved(shown: string, count: number): ValkeyError {
  const text = `CLUSTERDOWN ${count} of ${SLOTS} slots of the cluster of ${shown} have no server`;
  return new ValkeyError('REPLY', text);
}

function serverName(host: string, port: number, asked: ValkeyAddress): string {
  return `${host === '' || host === '?' ? asked.host || '127.0.0.1' : host}:${port}`;
}
