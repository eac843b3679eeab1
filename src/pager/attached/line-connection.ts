/** The manager's end of the stream by which a thread of another process asks. */
import { EAGAIN, EINTR } from '../../linux/base/constants.js';
import { addressOf, closeDescriptor, errno, libc } from '../../linux/base/libc.js';
import { setNonBlocking } from '../../linux/sockets/local-socket.js';
import { MessageSocket, messageArea } from '../../linux/sockets/socket.js';
import type { Codec } from '../protocol/attaching.js';
import { encodeFrame, FrameReader } from '../protocol/frames.js';
import type { FromManager, ToManager } from '../protocol/messages.js';
import type { Connection } from '../protocol/transport.js';
import { NONE_LEFT, SentDescriptors } from './sent-descriptors.js';

const READ_BYTES = 64 * 1024;
/** What waits for a client that does not read; one that lets more come together is cut off. */
const MOST_WAITING = 64 * 2 ** 20;

const area = messageArea(READ_BYTES);

/** What a client may ask, and how it is answered where it may not. */
export interface Gate {
  /**
   * The message as the manager is to see it, with the descriptor. Throws for what the client may
   * not ask.
   * @param fd that came with it; null: none did; NONE_LEFT: it could not be had
   */
  pass(message: unknown, fd: number | null): ToManager;
  refuse(message: unknown, error: unknown): FromManager | null;
}

export class LineConnection implements Connection {
  readonly attached = false;
  private readonly reader: FrameReader;
  private readonly socket: MessageSocket;
  private readonly sent = new SentDescriptors();
  private waiting: Uint8Array[] = [];
  private waitingBytes = 0;
  private ended = false;

  constructor(
    private fd: number,
    readonly thread: number,
    private readonly codec: Codec,
    private readonly gate: Gate,
    readonly process: number,
    readonly ranges: ReadonlySet<number> | null,
  ) {
    this.reader = new FrameReader(codec);
    this.socket = new MessageSocket(fd, READ_BYTES, area);
    setNonBlocking(fd);
  }

  /** To poll; -1 once it is closed. */
  get descriptor(): number {
    return this.fd;
  }

  /** Whether messages wait for room in the socket. */
  get wantsRoom(): boolean {
    return this.waiting.length > 0;
  }

  get hasEnded(): boolean {
    return this.ended;
  }

  take(): ToManager | undefined {
    for (;;) {
      let message: unknown;
      try {
        message = this.reader.next();
        if (message === undefined && this.read()) continue;
      } catch {
        // What comes after bytes that are no message cannot be told apart.
        this.end();
        return undefined;
      }
      if (message === undefined) return undefined;
      const fd = this.sent.takeFor(message);
      try {
        const passed = this.gate.pass(message, fd);
        this.sent.lend(passed.id, fd);
        return passed;
      } catch (error) {
        if (fd !== null && fd !== NONE_LEFT) closeDescriptor(fd);
        const refusal = this.gate.refuse(message, error);
        if (refusal !== null) this.post(refusal);
      }
    }
  }

  post(message: FromManager): void {
    if ('id' in message) this.sent.answered(message.id, message.error !== null);
    if (this.ended) return;
    let frame: Uint8Array;
    try {
      frame = encodeFrame(message, this.codec);
    } catch {
      // It holds what only threads of this process can share.
      if ('id' in message) this.post({ id: message.id, value: null, error: NOT_BETWEEN_PROCESSES });
      return;
    }
    this.waiting.push(frame);
    this.waitingBytes += frame.length;
    this.flush();
    if (this.waitingBytes > MOST_WAITING) this.end();
  }

  /** Sends what waits, as far as the socket takes it. */
  flush(): void {
    while (this.waiting.length > 0) {
      const [frame] = this.waiting;
      const sent = this.ended ? -1 : libc.write(this.fd, addressOf(frame), frame.length);
      if (sent < 0) {
        const number = errno();
        if (number === EINTR) continue;
        if (number !== EAGAIN) this.end();
        return;
      }
      this.waitingBytes -= sent;
      if (sent === frame.length) this.waiting.shift();
      else this.waiting[0] = frame.subarray(sent);
    }
  }

  /** The client sees its messages by the socket itself. */
  raise(): void {}

  /** Nothing more is read or sent; the manager forgets the client when it looks. */
  end(): void {
    this.ended = true;
    this.waiting = [];
    this.waitingBytes = 0;
  }

  close(): void {
    this.end();
    this.sent.close();
    if (this.fd >= 0) closeDescriptor(this.fd);
    this.fd = -1;
  }

  /** Whether bytes have come. */
  private read(): boolean {
    if (this.ended) return false;
    try {
      const come = this.socket.receive();
      if (come === null) return false;
      if (come !== 'closed' && this.sent.add(come.fds)) {
        this.reader.push(come.bytes);
        return true;
      }
    } catch {}
    this.end();
    return false;
  }
}

const NOT_BETWEEN_PROCESSES = {
  name: 'OnememError',
  code: 'OTHER_PROCESS',
  message:
    'the answer holds memory that only threads of the process which opened the space can share; ask there',
  details: {},
} as const;
