/**
 * The servers that have values: one that stands alone, or those of a cluster. What is done with a
 * key is done on a connection to the server that has the key's slot, and again where that is
 * another one by then, or the connection is lost: all that is asked here may be done twice.
 *
 * Which server has which slot is asked of any that answers, and again when one says MOVED or
 * CLUSTERDOWN, or is lost, until all slots have a server that is connected. So a replica that takes
 * over is found as soon as any server knows of it.
 */
import slotOf from 'cluster-key-slot';
import { addressIn, type ValkeyAddress, valkeyAddress } from './address.js';
import type { Argument, Caller, ValkeyConnection } from './connection.js';
import { ValkeyError } from './errors.js';
import { standsAlone } from './first-of.js';
import { type LinkOptions, Pauses, ValkeyLink } from './link.js';
import type { Reply } from './replies.js';
import { passes, redirectionOf, SlotMap, slotMapOf, unserved } from './slots.js';

/** A connection that is lost so often while something is asked for is lost because of it. */
const TRIES = 8;
/** More redirections than these are servers that do not agree, which takes time to pass. */
const REDIRECTIONS = 4;

/** The server of the URLs that answers first, which may be known to its cluster by another name. */
const FIRST = '';

export interface ServersOptions extends LinkOptions {
  /** Of one server, or of several of one cluster, which are all reached in the same way. */
  readonly urls: readonly string[];
  readonly timeoutMs: number;
}

export class ValkeyServers {
  private readonly addresses: readonly ValkeyAddress[];
  private readonly links = new Map<string, ValkeyLink>();
  /** Null: no server has answered yet. */
  private map: SlotMap | null = null;
  /** The map may be out of date. */
  private stale = false;
  private learning = false;
  /** Which of the servers is asked next. */
  private turn = 0;
  private readonly waiting = new Set<() => void>();
  private closed = false;

  /** @param changed is told whether all servers can be reached */
  constructor(
    private readonly options: ServersOptions,
    private readonly changed: (reachable: boolean) => void,
  ) {
    this.addresses = options.urls.map(valkeyAddress);
    this.linkTo(FIRST);
  }

  /**
   * Has something done where a key is, as often as needed.
   *
   * @throws ValkeyError when there is no connection for the time that servers have, or one answers
   * with an error that stays. Each action has that time for itself: the server may be back when one
   * that came before has been refused
   */
  async use<T>(key: string, action: (server: Caller) => Promise<T>): Promise<T> {
    const slot = slotOf(key);
    const until = performance.now() + this.options.timeoutMs;
    const pauses = new Pauses();
    let asked: string | null = null;
    let losses = 0;
    let redirections = 0;
    for (;;) {
      // Nothing is waited for where there is a connection, so that what is asked for first is sent
      // first.
      const connection: ValkeyConnection =
        this.linkOf(slot, asked)?.connection ?? (await this.connected(slot, asked, until));
      const caller = asked === null ? connection : asking(connection);
      asked = null;
      try {
        return await action(caller);
      } catch (error) {
        if (!connection.isOpen) {
          if (++losses === TRIES) throw error;
          continue;
        }
        const redirection = redirectionOf(error, connection.address);
        if (redirection === null && !passes(error)) throw error;
        if (redirection?.kind === 'ask') asked = redirection.server;
        else this.learn();
        if (redirection?.kind === 'moved') this.map?.give(slot, slot, redirection.server);
        if (redirection !== null && ++redirections <= REDIRECTIONS) continue;
        if (performance.now() >= until) throw error;
        await pauses.next(until - performance.now());
      }
    }
  }

  close(): void {
    this.closed = true;
    for (const link of this.links.values()) link.close();
  }

  private linkOf(slot: number, asked: string | null): ValkeyLink | null {
    const server = asked ?? this.map?.ownerOf(slot) ?? null;
    return server === null ? null : this.linkTo(server);
  }

  private linkTo(server: string): ValkeyLink {
    const known = this.links.get(server);
    if (known !== undefined) return known;
    const { addresses } = this;
    const [first] = addresses;
    const { recognize, ...options } = this.options;
    const link = new ValkeyLink(
      server === FIRST ? addresses : [addressIn(first, server)],
      {
        ...options,
        recognize: async (connection) => {
          // In a cluster nothing is kept by way of the first name.
          if (server === FIRST && connection.info.mode === 'cluster') return;
          if (server === FIRST && addresses.length > 1) throw standsAlone(connection.address.shown);
          await recognize?.(connection);
        },
      },
      () => this.linkChanged(link),
    );
    this.links.set(server, link);
    return link;
  }

  private async connected(
    slot: number,
    asked: string | null,
    until: number,
  ): Promise<ValkeyConnection> {
    for (;;) {
      const connection = this.linkOf(slot, asked)?.connection ?? null;
      if (connection !== null) return connection;
      const left = until - performance.now();
      if (left <= 0) throw this.problemOf(slot, asked);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => this.wake(), left);
        this.waiting.add(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
  }

  private problemOf(slot: number, asked: string | null): ValkeyError {
    const { map, addresses } = this;
    const link = map === null ? this.linkTo(FIRST) : this.linkOf(slot, asked);
    if (link === null) return unserved(addresses[0].shown, map?.missing ?? 0);
    const shown = link.addresses.map((each) => each.shown).join(', ');
    return link.problem ?? new ValkeyError('TIMEOUT', `${shown} does not answer`);
  }

  private wake(): void {
    const waiting = [...this.waiting];
    this.waiting.clear();
    for (const each of waiting) each();
  }

  private linkChanged(link: ValkeyLink): void {
    const { connection } = link;
    if (connection !== null && this.map === null && connection.info.mode !== 'cluster')
      this.map = SlotMap.of(FIRST);
    if (connection === null || this.map === null) this.learn();
    this.tell();
  }

  private tell(): void {
    this.changed(this.isComplete);
    this.wake();
  }

  /** Whether every slot has a server that is connected. */
  private get isComplete(): boolean {
    const { map, links } = this;
    if (map === null || map.missing > 0) return false;
    return map.servers.every((server) => (links.get(server)?.connection ?? null) !== null);
  }

  /** Finds out which server has which slot, until all of them can be used. */
  private learn(): void {
    this.stale = true;
    if (this.learning) return;
    this.learning = true;
    void this.learnAll();
  }

  private async learnAll(): Promise<void> {
    const pauses = new Pauses();
    for (;;) {
      this.stale = false;
      await this.learnOnce();
      if (this.closed || (!this.stale && this.isComplete)) break;
      await pauses.next();
    }
    this.learning = false;
  }

  private async learnOnce(): Promise<void> {
    const open = [...this.links.values()].flatMap(({ connection }) => connection ?? []);
    if (open.length === 0) return;
    // Another one each time: one that is cut off from the others tells what was.
    const connection = open[this.turn++ % open.length];
    if (connection.info.mode !== 'cluster') return;
    let answer: Reply;
    try {
      answer = await connection.call(['CLUSTER', 'SLOTS']);
    } catch {
      // The next one may know.
      return;
    }
    this.map = slotMapOf(answer, connection.address);
    const { servers } = this.map;
    for (const server of servers) this.linkTo(server);
    for (const [server, link] of this.links) {
      if (server === FIRST || servers.includes(server) || link.connection !== null) continue;
      link.close();
      this.links.delete(server);
    }
    this.tell();
  }
}

/** Commands to a server that a slot is on its way to. */
function asking(connection: ValkeyConnection): Caller {
  return {
    call: (args: readonly Argument[], into?: readonly Uint8Array[]): Promise<Reply> => {
      // What ends the connection fails the command, too.
      connection.call(['ASKING']).catch(() => undefined);
      return connection.call(args, into);
    },
  };
}
