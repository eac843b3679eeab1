/** The process of a device, as its driver in the manager has it: started, talked to without ever waiting for it, and ended. */
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startUnbound } from '../../linux/affinity.js';
import { knownBinary } from '../../linux/koffi-binary.js';
import { closeDescriptor } from '../../linux/libc.js';
import { mayOpenPidfd, pidfdOpen, pidfdSendSignal } from '../../linux/process.js';
import { createSocketPair, type Message, MessageSocket } from '../../linux/socket.js';
import { STANDARD_ERROR } from '../user-output.js';
import { Outbox } from './outbox.js';
import { MAX_PACKET_BYTES } from './protocol.js';

const SIGKILL = 9;

interface Start {
  /** Of the device. */
  readonly name: string;
  /** The module that the process runs. */
  readonly program: URL;
  /** Options of Node.js. */
  readonly nodeOptions: readonly string[];
  /** Descriptors that it gets, from 4 on; 3 is its end of the socket. */
  readonly descriptors: readonly number[];
}

export class DeviceProcess {
  readonly socket: MessageSocket;
  /** Ready for a poller when the process has ended. Where pidfds are denied, it is the end of a socket that the process keeps open. */
  readonly pidfd: number;
  readonly pid: number;
  /** Resolves when the event loop has reaped the process. */
  readonly exited: Promise<void>;
  private readonly byPidfd = mayOpenPidfd();
  private readonly child: ChildProcess;
  private readonly outbox: Outbox;
  private readonly name: string;
  /** Why it was killed, if the manager did it. */
  private why: string | null = null;
  /** What went wrong with it first. */
  private problem = '';

  constructor({ name, program, nodeOptions, descriptors }: Start) {
    this.name = name;
    const [ours, theirs] = createSocketPair();
    const life = this.byPidfd ? [] : createSocketPair();
    const binary = knownBinary();
    this.socket = new MessageSocket(ours, MAX_PACKET_BYTES);
    this.outbox = new Outbox(this.socket);
    // Standard output is the program's alone: what a device prints there goes to standard error.
    // Loaded with the first device: a space without any needs no processes.
    const { spawn } = process.getBuiltinModule('node:child_process');
    this.child = startUnbound(() =>
      spawn(process.execPath, [...nodeOptions, fileURLToPath(program), ...(binary === undefined ? [] : [binary])], {
        stdio: ['ignore', STANDARD_ERROR, STANDARD_ERROR, theirs, ...descriptors, ...life.slice(1)],
      }),
    );
    for (const fd of [theirs, ...life.slice(1)]) closeDescriptor(fd);
    if (this.child.pid === undefined) {
      // Node.js tells the reason later, when it is too late for the error that is thrown here.
      this.child.once('error', () => undefined);
      this.socket.close();
      throw new Error(
        `device ${name}: the process ${process.execPath} could not be started; look whether the limit of processes (ulimit -u) or ` +
          'of file descriptors (ulimit -n) is reached',
      );
    }
    this.pid = this.child.pid;
    this.exited = new Promise((resolve) => this.child.once('exit', () => resolve()));
    this.pidfd = this.byPidfd ? pidfdOpen(this.pid) : life[0];
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
    if (this.byPidfd) pidfdSendSignal(this.pidfd, SIGKILL);
    // The event loop has not reaped it as long as this does anything, so that it means no other process.
    else this.child.kill('SIGKILL');
  }

  close(): void {
    closeDescriptor(this.pidfd);
    this.socket.close();
  }
}
