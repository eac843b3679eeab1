/** A device's process as the manager has it: started, talked to without waiting, ended. */

import { closeDescriptor } from '../../linux/base/libc.js';
import { endChild } from '../../linux/processes/kill.js';
import { mayOpenPidfd, pidfdOpen, pidfdSendSignal } from '../../linux/processes/process.js';
import { createSocketPair, type Message, MessageSocket } from '../../linux/sockets/socket.js';
import { Outbox } from './outbox.js';
import { MAX_PACKET_BYTES } from './protocol.js';
import { type StartedChild, startChild } from './start-child.js';

const SIGKILL = 9;

interface Start {
  /** Of the device. */
  readonly name: string;
  readonly program: URL;
  readonly nodeOptions: readonly string[];
  /** Descriptors that it gets, from 4 on; 3 is its end of the socket. */
  readonly descriptors: readonly number[];
}

export class DeviceProcess {
  readonly socket: MessageSocket;
  /** Readable when the process has ended; without pidfds, an end of a socket it keeps open. */
  readonly pidfd: number;
  readonly pid: number;
  /** Resolves when the event loop has reaped the process. */
  readonly exited: Promise<void>;
  private readonly byPidfd = mayOpenPidfd();
  /** Its descriptors are closed: their numbers may be those of another process by now. */
  private closed = false;
  private readonly child: StartedChild;
  private readonly outbox: Outbox;
  private readonly name: string;
  /** Why it was killed, if the manager did it. */
  private why: string | null = null;
  /** What went wrong with it first. */
  private problem = '';

  constructor({ name, program, nodeOptions, descriptors }: Start) {
    this.name = name;
    /** Descriptors that are to be closed if it does not start. */
    const opened: number[] = [];
    let child: StartedChild | null = null;
    try {
      const [ours, theirs] = createSocketPair();
      opened.push(ours, theirs);
      const life = this.byPidfd ? null : createSocketPair();
      const given = life === null ? [] : life.slice(1);
      if (life !== null) opened.push(...life);
      child = startChild(program, nodeOptions, [theirs, ...descriptors, ...given]);
      this.pid = child.pid;
      this.pidfd = life === null ? pidfdOpen(child.pid) : life[0];
      this.socket = new MessageSocket(ours, MAX_PACKET_BYTES);
      for (const fd of [theirs, ...given]) closeDescriptor(fd);
    } catch (error) {
      if (child !== null) endChild(child);
      for (const fd of opened) closeDescriptor(fd);
      throw error;
    }
    this.child = child;
    this.outbox = new Outbox(this.socket);
    this.exited = new Promise((resolve) => this.child.once('exit', () => resolve()));
  }

  /** Whether packets wait for room in the socket. */
  get waiting(): boolean {
    return this.outbox.waiting > 0;
  }

  /** Whether nothing is known of why it ended. */
  get endedByItself(): boolean {
    return this.why === null && this.problem === '';
  }

  /** Why it has ended, for a message. */
  get endReason(): string {
    const ended = `the process of device ${this.name} (pid ${this.pid}) has ended`;
    return this.why ?? (this.problem === '' ? ended : `${ended}: ${this.problem}`);
  }

  post(packet: Uint8Array, fds: readonly number[] = []): void {
    try {
      if (!this.outbox.post(packet, fds)) this.kill();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Sends what waits, as far as the process takes it. */
  sendRest(): void {
    try {
      if (!this.outbox.flush()) this.kill();
    } catch (error) {
      this.fail(error);
    }
  }

  /** Null: nothing has come. */
  receive(): Message | null {
    try {
      const message = this.socket.receive();
      if (message !== 'closed') return message;
      // It ends, or a kernel has closed what is not its own.
      this.kill();
    } catch (error) {
      this.fail(error);
    }
    return null;
  }

  /** It cannot be talked to, or served, any more. */
  fail(error: unknown): void {
    if (this.problem === '') this.problem = error instanceof Error ? error.message : String(error);
    this.kill();
  }

  /** Ends it at once, also one that is stopped. */
  kill(why: string | null = null): void {
    this.why ??= why;
    if (this.closed) return;
    if (this.byPidfd) pidfdSendSignal(this.pidfd, SIGKILL);
    // The event loop has not reaped it as long as this does anything, so that it means no other
    // process.
    else endChild(this.child);
  }

  close(): void {
    this.closed = true;
    closeDescriptor(this.pidfd);
    this.socket.close();
  }
}
