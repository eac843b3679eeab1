/**
 * The connection of a thread of another process to the manager of a space: a stream, which the
 * event loop reads, and which the thread reads itself while it waits for an answer.
 */
import type { Socket } from 'node:net';
import { EAGAIN, EINTR, POLLIN, POLLOUT } from '../../linux/base/constants.js';
import { SystemCallError } from '../../linux/base/errors.js';
import { addressOf, errno, libc } from '../../linux/base/libc.js';
import { NativeBuffer } from '../../linux/base/native-buffer.js';
import { Poller } from '../../linux/sockets/poll.js';
import { MessageSocket } from '../../linux/sockets/socket.js';
import { descriptorIn } from '../../pager/protocol/descriptors.js';
import { encodeFrame, FrameReader } from '../../pager/protocol/frames.js';
import type { FromManager, ToManager } from '../../pager/protocol/messages.js';
import type { Line } from '../../pager/protocol/transport.js';

const READ_BYTES = 64 * 1024;
/** So few that the kernel takes them all or none. */
const BYTES_WITH_DESCRIPTOR = 4;

export class ProcessLine implements Line {
  readonly thread: number;
  readonly raised = 0;
  private readonly reader = new FrameReader('v8');
  private readonly area = new NativeBuffer(READ_BYTES);
  private readonly poller = new Poller(1);
  private readonly socket: Socket;
  private readonly sender: MessageSocket;
  private isAwaited = false;

  /**
   * @param fd of the stream; it is closed with the line
   * @param listener called, by the event loop, with messages that were not taken
   * @param ended called when the manager is not there any more
   */
  constructor(
    private readonly fd: number,
    client: number,
    private readonly listener: (message: FromManager) => void,
    private readonly ended: () => void,
  ) {
    this.thread = -client;
    this.sender = new MessageSocket(fd, BYTES_WITH_DESCRIPTOR);
    const { Socket: Stream } = process.getBuiltinModule('node:net');
    this.socket = new Stream({ fd, readable: true, writable: true });
    this.socket.on('data', (piece: Buffer) => {
      this.reader.push(piece);
      this.drain();
    });
    this.socket.on('error', () => this.end());
    this.socket.on('close', () => this.end());
    this.socket.unref();
  }

  post(message: ToManager): void {
    const fd = descriptorIn(message);
    const frame = encodeFrame(fd === null ? message : { ...message, carries: true }, 'v8');
    for (
      let sent = fd === null ? 0 : this.sendWith(fd, frame);
      sent < frame.length && !this.hasEnded;
    ) {
      const rest = frame.subarray(sent);
      const count = libc.write(this.fd, addressOf(rest), rest.length);
      if (count >= 0) sent += count;
      else this.waitFor(POLLOUT);
    }
  }

  take(): FromManager | undefined {
    for (;;) {
      const message = this.reader.next() as FromManager | undefined;
      if (message !== undefined) {
        this.drainLater();
        return message;
      }
      if (!this.read()) return undefined;
    }
  }

  wait(_raised: number, limitMs: number): boolean {
    if (this.hasEnded) return false;
    this.poller.set(0, this.fd, POLLIN);
    return this.poller.wait(limitMs) > 0;
  }

  keepLoop(on: boolean): void {
    if (on) this.socket.ref();
    else this.socket.unref();
  }

  close(): void {
    this.hasEnded = true;
    this.socket.destroy();
  }

  private hasEnded = false;

  private read(): boolean {
    if (this.hasEnded) return false;
    const count = libc.read(this.fd, this.area.address, READ_BYTES);
    if (count > 0) {
      this.reader.push(this.area.bytes.subarray(0, count));
      return true;
    }
    const number = count < 0 ? errno() : 0;
    if (number === EINTR) return this.read();
    if (number !== EAGAIN) this.end();
    return false;
  }

  /** What came together with what was taken is for the event loop. */
  private drainLater(): void {
    if (this.isAwaited) return;
    this.isAwaited = true;
    setImmediate(() => {
      this.isAwaited = false;
      this.drain();
    });
  }

  private drain(): void {
    for (let message = this.reader.next(); message !== undefined; message = this.reader.next())
      this.listener(message as FromManager);
  }

  /** Sends the first bytes, and the descriptor with them. Returns how many bytes those are. */
  private sendWith(fd: number, frame: Uint8Array): number {
    const bytes = frame.subarray(0, BYTES_WITH_DESCRIPTOR);
    try {
      this.sender.send(bytes, [fd], true);
    } catch (error) {
      if (!(error instanceof SystemCallError)) throw error;
      this.end();
    }
    return bytes.length;
  }

  private waitFor(events: number): void {
    const number = errno();
    if (number === EINTR) return;
    if (number !== EAGAIN) {
      this.end();
      return;
    }
    this.poller.set(0, this.fd, events);
    this.poller.wait(1000);
  }

  private end(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.ended();
  }
}
