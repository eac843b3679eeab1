/**
 * A machine as a member of a shared array: its cache, the connection to the server and its leases.
 * It runs on an event loop of its own, and says to the memory what is to be done with blocks.
 *
 * The lease begins, for this machine, before the server is asked for it, and is over a quarter
 * earlier than the server thinks: so long may the memory take to take rights from threads, and so
 * much may clocks differ. A machine that is suspended is found out by either clock.
 */
import { Cache, type CacheCommands, type CachedBlock } from '../coherence/cache.js';
import type { Notice, Request, Right } from '../coherence/messages.js';
import { type ValkeyAddress, valkeyAddress } from '../valkey/address.js';
import type { Argument, ConnectionOptions, ValkeyConnection } from '../valkey/connection.js';
import { ValkeyError } from '../valkey/errors.js';
import { Pauses } from '../valkey/link.js';
import { openFor } from '../valkey/open-for.js';
import { type Reply as Answer, replyText } from '../valkey/replies.js';
import { Holds } from './holds.js';
import {
  commandOf,
  departure,
  type Keys,
  keysOf,
  noticeOf,
  renewal,
  replyOf,
  SCRIPT,
} from './steps.js';

/**
 * What a cache commands, but for its requests to the server. After `install` it calls `installed`,
 * after `restrict` `restricted`. No bytes of a content stand for zeros.
 */
export interface SharedMemory extends Omit<CacheCommands<Uint8Array>, 'send'> {
  /** Whether operations run that would fail without rights: a session is kept for them. */
  readonly isHeld: boolean;
  /** The lease of a machine that owned the block has ended: what it had not flushed is lost. */
  abandoned(block: number): void;
  /** There is a connection again (null), or there is none and why. */
  connection(failure: ValkeyError | null): void;
}

export interface MemberOptions {
  /** Of one server, or of several of one cluster. */
  readonly urls: readonly string[];
  readonly name: string;
  /** Names the array that the program opened (description.ts). */
  readonly made: string;
  readonly blocks: number;
  readonly memory: SharedMemory;
  /** How long others wait for a machine that says nothing. */
  readonly leaseMs?: number;
  /** How long the server may leave a request unanswered: a lease unless said otherwise. */
  readonly timeoutMs?: number;
  readonly tls?: ConnectionOptions['tls'];
}

const LEASE_MS = 5000;
/** The part of a lease after which the machine takes it for over. */
const OWN_PART = 0.75;
const RENEWALS = 4;
/** How often it is looked whether operations have ended for which a session is kept. */
const KEPT_MS = 5;
const GIVEN_UP_AT_ONCE = 64;

export class Member {
  private readonly keys: Keys;
  private readonly cache: Cache<Uint8Array>;
  private readonly leaseMs: number;
  private readonly holds = new Holds();
  /** What the server says whenever it is asked for these blocks, though it begins sessions. */
  private readonly errors = new Map<number, ValkeyError>();
  private readonly timer: NodeJS.Timeout;
  /** That can be asked for the one that has the array: several in a cluster. */
  private servers: readonly ValkeyAddress[];
  private connection: ValkeyConnection | null = null;
  /** A connection without a session yet, since operations use what the last one gave. */
  private next: ValkeyConnection | null = null;
  /** Why there is none. */
  private failure = new ValkeyError('UNREACHABLE', 'there is no connection yet');
  /** By `performance.now`, when the server answered last. */
  heardAt = performance.now();
  private digest = '';
  /** When the lease was last asked for that has been given, by two clocks. */
  private leasedAt = this.clocks();
  private askedAt = this.clocks();
  private lastRenewal = 0;
  private readonly pauses = new Pauses();
  /** There is a session on the connection, or was when nothing was wrong. */
  private welcomed = false;
  private closing = false;
  /** While it closes: those before it have been given up. */
  private firstLeft = 0;
  /** Told whether the server has what was changed. */
  private givenUp: (all: boolean) => void = () => undefined;
  private closed = false;

  constructor(private readonly options: MemberOptions) {
    const { name, made, blocks, leaseMs = LEASE_MS } = options;
    this.keys = keysOf(name);
    this.servers = options.urls.map(valkeyAddress);
    this.leaseMs = leaseMs;
    const { memory } = options;
    const commands: CacheCommands<Uint8Array> = {
      send: (request) => this.send(request),
      install: (block, content, right) => memory.install(block, content, right),
      spoiled: (block) => memory.spoiled(block),
      restrict: (block, right) => memory.restrict(block, right),
      ended: () => memory.ended(),
      contentOf: (block) => memory.contentOf(block),
      clean: (block) => memory.clean(block),
      flushed: (block) => memory.flushed(block),
      lost: (block) => memory.lost(block),
      forgotten: () => {
        this.abandon();
        memory.forgotten();
      },
    };
    this.cache = new Cache(Cache.empty(blocks, made), commands);
    this.timer = setInterval(() => this.tick(), leaseMs / RENEWALS / 2);
    void this.connect();
  }

  /** Whether what it was granted is its own still. */
  get hasSession(): boolean {
    return this.cache.state.session !== 0;
  }

  /** A thread waits for a right. A machine that leaves asks for nothing more. */
  touch(block: number, right: Right): void {
    if (this.closing) return;
    this.look();
    this.holds.wanted(block);
    this.cache.touch(block, right);
  }

  /** No thread waits for the block any more. */
  forget(block: number): void {
    this.errors.delete(block);
    this.cache.forget(block);
  }

  /** Why the server does not do what it was asked last for a block. */
  errorOf(block: number): ValkeyError | null {
    return this.errors.get(block) ?? null;
  }

  /** Has what was written to the block put on the server; `flushed` follows, or `lost`. */
  flush(block: number): void {
    this.look();
    this.cache.flush(block);
  }

  /** @param ageMs how long ago threads were given the block, whose word may come later */
  installed(block: number, ageMs = 0): void {
    this.holds.given(block, performance.now() - ageMs);
    this.cache.installed(block);
    this.giveUp();
  }

  /** @param changed whether it was written since it was installed, or was last clean */
  restricted(block: number, changed: boolean): void {
    this.cache.restricted(block, changed);
    this.giveUp();
  }

  /** Its content could not be put in its place, where the memory keeps it until it can. */
  notInstalled(block: number): void {
    this.cache.notInstalled(block);
    this.giveUp();
  }

  /** Asks the server something else, over the same connection. */
  ask(args: readonly Argument[]): Promise<Answer> {
    const { connection } = this;
    return connection === null ? Promise.reject(this.failure) : connection.call(args);
  }

  /** As if the machine had died: others get its blocks after its lease. Threads lose rights. */
  abandon(): void {
    this.closed = true;
    clearInterval(this.timer);
    this.connection?.close();
    this.connection = null;
    this.next?.close();
    this.next = null;
    this.cache.disconnected();
    this.cache.leaseEnded();
    this.givenUp(false);
  }

  /** Gives up all blocks, and leaves. False: the server did not get all changes in time. */
  async close(): Promise<boolean> {
    this.closing = true;
    for (const block of this.cache.state.blocks.keys()) this.cache.forget(block);
    let limit: NodeJS.Timeout | undefined;
    const given = new Promise<boolean>((resolve) => {
      this.givenUp = resolve;
      limit = setTimeout(() => resolve(false), this.leaseMs);
    });
    this.giveUp();
    const all = await given;
    clearTimeout(limit);
    this.closed = true;
    clearInterval(this.timer);
    const { connection } = this;
    this.connection = null;
    if (connection === null) return all;
    await this.run(connection, departure(this.keys, this.cache.state.session)).catch(
      () => undefined,
    );
    connection.close();
    return all;
  }

  /** As if others wanted every block. Some are given up at once: the next look costs little. */
  private giveUp(): void {
    if (!this.closing) return;
    const { session, blocks } = this.cache.state;
    // What is waited for would be granted to a machine that has gone.
    const isLeft = ({ right, epoch, doing, waiting }: CachedBlock): boolean =>
      right !== 'none' || epoch !== 0 || doing !== 'nothing' || waiting;
    while (this.firstLeft < blocks.length && !isLeft(blocks[this.firstLeft])) this.firstLeft++;
    if (this.firstLeft === blocks.length) {
      this.givenUp(true);
      return;
    }
    if (session === 0) return;
    const end = Math.min(this.firstLeft + GIVEN_UP_AT_ONCE, blocks.length);
    let withdrew = false;
    for (let block = this.firstLeft; block < end; block++) {
      const { right, epoch, doing, waiting } = blocks[block];
      if (doing !== 'nothing') continue;
      if (right !== 'none' || epoch !== 0)
        this.cache.notice({ kind: 'recall', to: session, block, right: 'write' });
      else if (waiting) {
        this.cache.withdraw(block);
        withdrew = true;
      }
    }
    // Nothing comes of that which would have it looked again.
    if (withdrew) this.giveUp();
  }

  private run(connection: ValkeyConnection, args: ReturnType<typeof departure>): Promise<Answer> {
    return connection.call(['EVALSHA', this.digest, ...args]);
  }

  private async connect(): Promise<void> {
    const { tls, timeoutMs = this.leaseMs } = this.options;
    let opened: ValkeyConnection | null = null;
    try {
      const { connection, servers } = await openFor(this.keys.leases, this.servers, {
        ...(tls === undefined ? {} : { tls }),
        timeoutMs: Math.min(timeoutMs, this.leaseMs),
        // What the server says is heard in its order, which promises keep: answers are handled one
        // turn later than they come.
        onPush: (message) => queueMicrotask(() => this.pushed(opened, message)),
        onEnd: (reason) => this.disconnected(opened, reason),
      });
      opened = connection;
      this.servers = servers;
      this.digest = replyText(await connection.call(['SCRIPT', 'LOAD', SCRIPT]));
      for (const channel of [this.keys.channel, this.keys.granted(connection.info.id)])
        await connection.call(['SSUBSCRIBE', channel]);
      if (this.closed) connection.close();
      if (!connection.isOpen) return;
      this.next = connection;
      if (await this.mayKeep(connection)) this.keep();
      else this.begin();
    } catch (error) {
      // One that was opened has said so itself.
      if (opened === null) this.pause(error as ValkeyError);
      else (opened as ValkeyConnection).close(error as ValkeyError);
    }
  }

  /**
   * Whether operations may go on with what the last session gave, of which the server must know.
   * They have the lease for it that it gives.
   */
  private async mayKeep(connection: ValkeyConnection): Promise<boolean> {
    const { session } = this.cache.state;
    if (session === 0 || !this.options.memory.isHeld) return false;
    const asked = this.clocks();
    const answer = await this.run(connection, renewal(this.keys, session, this.leaseMs));
    if (answer !== 1 || this.cache.state.session !== session) return false;
    this.leasedAt = asked;
    return true;
  }

  /**
   * Nothing is said in the session that is kept, as if there were no connection: it is not known
   * what was under way when the last one broke.
   */
  private keep(): void {
    if (this.next === null) return;
    this.welcome();
    setTimeout(() => {
      if (this.options.memory.isHeld) this.keep();
      else this.begin();
    }, KEPT_MS);
  }

  /** Begins a session on the connection that has come. */
  private begin(): void {
    const { next } = this;
    if (next === null) return;
    this.next = null;
    this.connection = next;
    this.cache.connected();
  }

  private disconnected(connection: ValkeyConnection | null, reason: ValkeyError): void {
    if (connection === null) return;
    if (this.next === connection) this.next = null;
    if (this.connection === connection) {
      this.connection = null;
      this.cache.disconnected();
    }
    this.pause(reason);
  }

  /** Tries again later. */
  private pause(reason: ValkeyError): void {
    if (this.closed) return;
    this.welcomed = false;
    this.failure = reason;
    this.options.memory.connection(reason);
    void this.pauses.next().then(() => {
      if (!this.closed) void this.connect();
    });
  }

  private send(request: Request<Uint8Array>): void {
    const { connection } = this;
    // What is not said is asked again in the next session.
    if (connection === null) return;
    const { session } = this.cache.state;
    if (request.kind === 'hello') this.askedAt = this.clocks();
    this.run(connection, commandOf(this.keys, request, this.leaseMs, connection.info.id)).then(
      (answer) => this.answered(connection, session, request, answer),
      // A server that cannot do what it is asked is tried again from the beginning: for want of
      // memory, say, or since another one of its cluster has the array now.
      (error: ValkeyError) => {
        const isNeeded = request.kind === 'acquire' || request.kind === 'flush';
        if (isNeeded && error.code === 'REPLY') this.errors.set(request.block, error);
        connection.close(error);
      },
    );
  }

  private answered(
    connection: ValkeyConnection,
    session: number,
    request: Request<Uint8Array>,
    answer: Answer,
  ): void {
    if (this.connection !== connection) return;
    this.heardAt = performance.now();
    if ('block' in request && this.errors.delete(request.block)) this.pauses.reset();
    if (request.kind === 'flush' || request.kind === 'release') this.holds.gone(request.block);
    const reply = replyOf(request, answer);
    if (reply === undefined) return;
    if (reply.kind === 'welcome') {
      this.leasedAt = this.askedAt;
      this.lastRenewal = performance.now();
      this.welcome();
    } else this.look();
    this.cache.reply(session, reply);
    this.giveUp();
  }

  /** There is a server again that does what it is asked. */
  private welcome(): void {
    if (this.welcomed) return;
    this.welcomed = true;
    // What it does not do for a block ends the connection again.
    if (this.errors.size === 0) this.pauses.reset();
    this.options.memory.connection(null);
  }

  private pushed(connection: ValkeyConnection | null, message: readonly Answer[]): void {
    if (connection === null || this.connection !== connection) return;
    const kind = replyText(message[0]);
    // The array is another server's from now on.
    if (kind === 'sunsubscribe')
      connection.close(new ValkeyError('ENDED', 'another server of the cluster has the array'));
    if (kind !== 'smessage') return;
    const notice = noticeOf(message[2] as Uint8Array);
    if (notice.kind === 'lost') {
      // It may be this machine's own lease that has ended: rights are taken before programs are
      // told, which read what others have then.
      this.look();
      this.options.memory.abandoned(notice.block);
    } else this.noticed(notice);
  }

  /** What threads waited for is theirs for a moment. A recall that comes late is as good. */
  private noticed(notice: Exclude<Notice<Uint8Array>, { kind: 'lost' }>): void {
    if (notice.to !== this.cache.state.session) return;
    // Timers are too coarse for a part of a millisecond.
    const now = performance.now();
    if (notice.kind === 'recall' && this.holds.left(notice.block, now) > 0) {
      setImmediate(() => this.noticed(notice));
      return;
    }
    if (notice.kind === 'recall') this.holds.taken(notice.block);
    else this.look();
    this.cache.notice(notice);
    this.giveUp();
  }

  private tick(): void {
    this.look();
    this.cache.remind();
    const { connection } = this;
    const { session } = this.cache.state;
    const now = performance.now();
    if (connection === null || session === 0 || now - this.lastRenewal < this.leaseMs / RENEWALS)
      return;
    this.lastRenewal = now;
    const asked = this.clocks();
    this.run(connection, renewal(this.keys, session, this.leaseMs)).then(
      (answer) => {
        if (this.connection !== connection || session !== this.cache.state.session) return;
        this.heardAt = performance.now();
        if (answer === 1) this.leasedAt = asked;
        else this.cache.leaseEnded();
      },
      (error: ValkeyError) => connection.close(error),
    );
  }

  /** Whether the lease is over is the first thing to know, whatever has happened. */
  private look(): void {
    const [steady, wall] = this.clocks();
    const passed = Math.max(steady - this.leasedAt[0], wall - this.leasedAt[1]);
    if (passed <= this.leaseMs * OWN_PART) return;
    this.cache.leaseEnded();
    this.begin();
  }

  private clocks(): readonly [number, number] {
    return [performance.now(), Date.now()];
  }
}
