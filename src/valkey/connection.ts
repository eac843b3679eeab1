/**
 * A connection to one Valkey or Redis server. Commands may be sent one behind the other without
 * waiting; each has a promise of its answer. A connection that is lost fails what has no answer
 * yet, and is not made again: its owner knows what is to be asked anew.
 *
 * One rule says when a server is too slow: as long as commands wait for answers, something must
 * come, or something long go, every `timeoutMs`. A connection where nothing does is ended. So what
 * is large may take its time, and a command that blocks on the server has no place here. What is
 * short goes as far as the system's buffers, whether the server lives or not.
 */
import type { NetConnectOpts, Socket } from 'node:net';
import type { ConnectionOptions as TlsConnectOptions } from 'node:tls';
import { type ValkeyAddress, valkeyAddress } from './address.js';
import { ValkeyError } from './errors.js';
import { lookupBy } from './host-addresses.js';
import { otherProgramRemedy, silenceRemedy, whyLost, whyNone } from './no-answer.js';
import { type Reply, ReplyReader, replyText } from './replies.js';

export type Argument = string | number | Uint8Array;

/** What is to be known of certificates, as node:tls takes it. */
export type TlsOptions = Pick<
  TlsConnectOptions,
  'ca' | 'cert' | 'key' | 'passphrase' | 'servername' | 'rejectUnauthorized'
>;

/** Whatever commands can be sent by. */
export type Caller = Pick<ValkeyConnection, 'call'>;

/**
 * Waits a little until both arrays are full. Returns how many bytes have come; 0 also where
 * something is wrong, which the next read is told.
 */
export type Receive = (first: Uint8Array, second: Uint8Array) => number;

/** Sends the first bytes, as far as they go at once; returns how many. A failure is told later. */
export type Send = (bytes: Uint8Array, length: number) => number;

export interface ConnectionOptions {
  readonly timeoutMs?: number;
  readonly tls?: TlsOptions;
  /**
   * For threads that may stand still while an answer comes: what waits for the rest of a long one
   * from a socket, which must be gone on with when that has taken long. Each piece costs the
   * program and the server less then. With TLS nothing is received this way.
   */
  readonly receiverOf?: (fd: number) => Receive | null;
  /** Sends short commands faster than a stream of Node.js. Not used with TLS. */
  readonly senderOf?: (fd: number) => Send;
  /** Hears what the server says unasked: `invalidate`, messages of channels. */
  readonly onPush?: (message: readonly Reply[]) => void;
  /** Is told once why the connection is gone, after all commands have been. */
  readonly onEnd?: (reason: ValkeyError) => void;
}

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  /** standalone, cluster or sentinel. */
  readonly mode: string;
  /** master, or what is copied from one: replica, in older versions slave. */
  readonly role: string;
  /** Of this connection, among the server's clients. */
  readonly id: number;
}

interface Command {
  readonly into: readonly Uint8Array[];
  /** Strings of the answer so far. */
  strings: number;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: ValkeyError) => void;
}

const TIMEOUT_MS = 5000;
/** What is read before it is known whose it is. The rest of what is long is read into its place. */
const BUFFER_BYTES = 2 ** 14;
/** What ends a string. */
const TAIL_BYTES = 2;
/** Arguments from here on are sent from where they lie. */
const COPIED_BYTES = 2048;
/** Commands of more characters have time for a stream. */
const SHORT = 512;
/** A character has no more bytes than these. */
const CHARACTER_BYTES = 3;
const SUBSCRIBED: ReadonlySet<string> = new Set(['subscribe', 'psubscribe', 'ssubscribe']);
/** What HELLO and functions need. */
const LEAST_VERSION = 7;

export class ValkeyConnection {
  info: ServerInfo = { name: '', version: '', mode: '', role: '', id: 0 };
  private readonly reader = new ReplyReader(this);
  /** Commands without an answer, the oldest first. */
  private readonly commands: Command[] = [];
  private socket: Socket;
  private readonly buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
  private readonly tail = Buffer.allocUnsafeSlow(TAIL_BYTES);
  private readonly short = Buffer.allocUnsafeSlow(SHORT * CHARACTER_BYTES);
  private receive: Receive | null = null;
  private sendNow: Send | null = null;
  private corked = false;
  private isConnected = false;
  /** Times that something came or went. */
  private moves = 0;
  private reason: ValkeyError | null = null;
  private readonly timer: NodeJS.Timeout;

  private constructor(
    readonly address: ValkeyAddress,
    private readonly options: ConnectionOptions,
    private readonly connected: (error: ValkeyError | null) => void,
  ) {
    const { timeoutMs = TIMEOUT_MS } = options;
    this.timer = setTimeout(() => this.tooSlow(timeoutMs), timeoutMs).unref();
    this.socket = this.connect();
    this.socket.once('error', (error) => this.end(this.lost(error)));
    this.socket.once('close', () => this.end(this.lost(null)));
  }

  /**
   * Connects, authenticates, and chooses the database.
   *
   * @param server its URL, or what that says
   * @throws ValkeyError URL, UNREACHABLE, TIMEOUT, REFUSED
   */
  static async open(
    server: string | ValkeyAddress,
    options: ConnectionOptions = {},
  ): Promise<ValkeyConnection> {
    const address = typeof server === 'string' ? valkeyAddress(server) : server;
    let connected: (error: ValkeyError | null) => void = () => undefined;
    const ready = new Promise<ValkeyError | null>((resolve) => {
      connected = resolve;
    });
    const connection = new ValkeyConnection(address, options, connected);
    const error = await ready;
    if (error !== null) throw error;
    try {
      await connection.greet();
    } catch (cause) {
      connection.close();
      throw cause;
    }
    if (connection.reason !== null) throw connection.reason;
    return connection;
  }

  get isOpen(): boolean {
    return this.reason === null;
  }

  /** Commands that have no answer yet. */
  get load(): number {
    return this.commands.length;
  }

  /**
   * Sends a command. One that subscribes names one channel: each has an answer of its own.
   * Arguments of bytes are sent from where they lie, and must not change before the answer.
   *
   * @param into where the strings of bytes of the answer are written, in their order; one that is
   * not there (null) has its place, too. The answer has parts of these arrays then. They are
   * written to no more when the promise has been settled.
   */
  call(args: readonly Argument[], into: readonly Uint8Array[] = []): Promise<Reply> {
    return new Promise((resolve, reject) => {
      if (this.reason !== null) {
        reject(this.reason);
        return;
      }
      if (this.commands.length === 0) this.timer.refresh();
      this.commands.push({ into, strings: 0, resolve, reject });
      this.send(args);
    });
  }

  /** Ends the connection; unanswered commands fail. @param reason of their failure */
  close(
    reason = new ValkeyError('ENDED', `the connection to ${this.address.shown} was closed`),
  ): void {
    this.end(reason);
  }

  /** @internal */
  target(): Uint8Array | null {
    const command = this.commands[0];
    return command?.into[command.strings++] ?? null;
  }

  /** @internal */
  reply(value: Reply): void {
    const command = this.commands.shift();
    if (command === undefined) throw new ValkeyError('PROTOCOL', 'an answer came to no request');
    if (value instanceof ValkeyError) command.reject(value);
    else command.resolve(value);
  }

  /** @internal */
  pushed(message: readonly Reply[]): void {
    // A subscription is confirmed by what is said unasked, where the answer to the command would
    // be.
    if (SUBSCRIBED.has(replyText(message[0]))) this.reply(message);
    else this.options.onPush?.(message);
  }

  private connect(): Socket {
    const { host, port, path, tls } = this.address;
    const onread = {
      // Asked again after each piece that has come.
      buffer: (): Uint8Array => (this.reason === null ? this.reader.room() : null) ?? this.buffer,
      callback: (length: number, buffer: Uint8Array): boolean => this.came(length, buffer),
    };
    const place = path === null ? { host, port, noDelay: true, lookup: lookupBy() } : { path };
    const ready = (): void => {
      this.isConnected = true;
      if (!tls) this.findWays();
      this.moved();
      this.connected(null);
    };
    // Loaded with the first connection: every program that imports the library has this module, and
    // few have a server.
    if (!tls)
      return process
        .getBuiltinModule('node:net')
        .connect({ ...place, onread } as NetConnectOpts, ready);
    // Its types do not know that TLS reads into one buffer, too.
    const options: TlsConnectOptions & { onread: object } = {
      ...place,
      ...this.options.tls,
      onread,
    };
    return process.getBuiltinModule('node:tls').connect(options, ready);
  }

  private async greet(): Promise<void> {
    const { user, password, db, shown } = this.address;
    const auth = password === '' ? [] : ['AUTH', user, password];
    let hello: Reply;
    try {
      hello = await this.call(['HELLO', 3, ...auth, 'SETNAME', 'onemem']);
      if (db !== 0) await this.call(['SELECT', db]);
    } catch (cause) {
      throw refusal(shown, cause as ValkeyError);
    }
    const said = hello instanceof Map ? hello : new Map<Reply, Reply>();
    const word = (name: string): string => replyText(said.get(name));
    const id = Number(said.get('id') ?? 0);
    this.info = {
      name: word('server'),
      version: word('version'),
      mode: word('mode'),
      role: word('role'),
      id,
    };
    if (!(Number.parseInt(this.info.version, 10) >= LEAST_VERSION))
      throw new ValkeyError(
        'REFUSED',
        `${shown} is version '${this.info.version}'; it must be Valkey, or Redis 7 or newer`,
      );
  }

  /** Small arguments are written into one piece with what stands between arguments. */
  private send(args: readonly Argument[]): void {
    let text = `*${args.length}\r\n`;
    let at = 0;
    for (; at < args.length && text.length <= SHORT; at++) {
      const argument = args[at];
      if (typeof argument === 'object') break;
      text += stringOf(argument);
    }
    if (at === args.length && this.sendShort(text)) return;
    const { socket } = this;
    if (!this.corked) {
      this.corked = true;
      socket.cork();
      process.nextTick(() => {
        this.corked = false;
        socket.uncork();
      });
    }
    let parts: (string | Uint8Array)[] = [];
    let isLong = false;
    for (; at < args.length; at++) {
      const argument = args[at];
      if (typeof argument !== 'object') {
        text += stringOf(argument);
        continue;
      }
      parts.push(`${text}$${argument.length}\r\n`, argument);
      text = '\r\n';
      if (argument.length < COPIED_BYTES) continue;
      parts.pop();
      socket.write(joined(parts));
      socket.write(argument);
      parts = [];
      isLong = true;
    }
    socket.write(joined([...parts, text]), isLong ? this.moved : undefined);
  }

  /** Sends a command at once that is short, unless others are to go before it. */
  private sendShort(text: string): boolean {
    const { sendNow, socket, short } = this;
    if (sendNow === null || this.corked || text.length > SHORT) return false;
    // The descriptor of a socket that has ended may be another file's.
    if (!socket.writable || socket.writableLength > 0) return false;
    const length = short.write(text);
    const sent = sendNow(short, length);
    if (sent < length) socket.write(Buffer.from(short.subarray(sent, length)));
    return true;
  }

  private came(length: number, buffer: Uint8Array): boolean {
    this.moved();
    if (this.reason !== null) return false;
    try {
      if (buffer === this.buffer) this.reader.read(buffer.subarray(0, length));
      else this.reader.filled(length);
      this.receiveRest();
    } catch (error) {
      this.end(this.broken(error));
    }
    return true;
  }

  /** Waits for the rest of a long string, where the thread may. */
  private receiveRest(): void {
    const { receive, reader, tail } = this;
    const room = receive === null ? null : reader.room();
    if (receive === null || room === null) return;
    const count = receive(room, tail);
    if (count === 0) return;
    this.moved();
    reader.filled(Math.min(count, room.length));
    if (count > room.length) reader.read(tail.subarray(0, count - room.length));
  }

  /** Finds the ways of a socket past its stream. */
  private findWays(): void {
    // Node.js has no other name for a socket's descriptor. Without it each piece is heard of, and
    // each command goes by the stream.
    const { _handle: handle } = this.socket as Socket & {
      readonly _handle?: { readonly fd?: number };
    };
    const fd = handle?.fd ?? -1;
    if (fd < 0) return;
    this.receive = this.options.receiverOf?.(fd) ?? null;
    this.sendNow = this.options.senderOf?.(fd) ?? null;
  }

  private readonly moved = (): void => {
    this.moves++;
    if (this.reason === null) this.timer.refresh();
  };

  private tooSlow(timeoutMs: number): void {
    if (this.commands.length === 0 && this.isConnected) return;
    const { moves } = this;
    // It may be this thread that stood still: what has come meanwhile is looked at before.
    setImmediate(() => {
      if (this.moves === moves)
        this.end(
          new ValkeyError(
            'TIMEOUT',
            `${this.address.shown} has not answered for ${timeoutMs} ms${this.silence()}`,
          ),
        );
    });
  }

  private lost(error: Error | null): ValkeyError {
    const { address } = this;
    const { shown } = address;
    const options = { cause: error ?? undefined };
    if (this.hasGreeted)
      return new ValkeyError(
        'ENDED',
        `the connection to ${shown} is gone: ${whyLost(error)}`,
        options,
      );
    return new ValkeyError(
      'UNREACHABLE',
      `there is no connection to ${shown}: ${whyNone(address, error)}`,
      options,
    );
  }

  private broken(error: unknown): ValkeyError {
    const { address } = this;
    const message = error instanceof ValkeyError ? error.message : String(error);
    const code = error instanceof ValkeyError ? error.code : 'PROTOCOL';
    const remedy = this.hasGreeted ? '' : `; ${otherProgramRemedy(address)}`;
    return new ValkeyError(code, `${address.shown}: ${message}${remedy}`, { cause: error });
  }

  private silence(): string {
    return this.hasGreeted ? '' : `; ${silenceRemedy(this.address, this.isConnected)}`;
  }

  /** Whether the other end is known to be a server. */
  private get hasGreeted(): boolean {
    return this.info.version !== '';
  }

  private end(reason: ValkeyError): void {
    if (this.reason !== null) return;
    this.reason = reason;
    clearTimeout(this.timer);
    // Nothing is read from, or written to, the memory of commands after this.
    this.socket.destroy();
    this.connected(reason);
    for (const command of this.commands.splice(0)) command.reject(reason);
    this.options.onEnd?.(reason);
  }
}

function stringOf(argument: string | number): string {
  const said = String(argument);
  return `$${Buffer.byteLength(said)}\r\n${said}\r\n`;
}

function joined(parts: readonly (string | Uint8Array)[]): string | Buffer {
  if (parts.length === 1 && typeof parts[0] === 'string') return parts[0];
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

function refusal(shown: string, cause: ValkeyError): ValkeyError {
  if (cause.code !== 'REPLY') return cause;
  if (/SELECT is not allowed in cluster mode/.test(cause.message))
    return new ValkeyError(
      'REFUSED',
      `${shown} is part of a cluster, which has no databases; leave the database out`,
    );
  const why = {
    NOAUTH: 'it wants a password, which the url can have: valkey://USER:PASSWORD@HOST',
    WRONGPASS: 'user and password of the url are not known to it',
    NOPROTO: 'it is too old: it must be Valkey, or Redis 7 or newer',
  }[cause.word];
  return new ValkeyError('REFUSED', `${shown} refuses the connection: ${why ?? cause.message}`, {
    cause,
  });
}
