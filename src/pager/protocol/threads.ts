/**
 * The transport between threads of one process. Each client has a broadcast channel, which either
 * end reads without an event loop. An eventfd wakes the manager where it sleeps, and a word of
 * shared memory a client that waits with its thread stopped.
 */
import { BroadcastChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { randomName } from '../../linux/base/random.js';
import { threadExists, threadId } from '../../linux/processes/process.js';
import { notifyEventfd } from '../../linux/threads/eventfd.js';
import { Control } from './control.js';
import type { FromManager, ToManager } from './messages.js';
import type { SpaceHandle } from './space.js';
import type { Connection, Line, Transport } from './transport.js';

/** What a client says on the channel of the space, before it talks on one of its own. */
interface Hello {
  readonly client: string;
  /** The word that the manager raises. */
  readonly answers: SharedArrayBuffer;
  readonly thread: number;
  readonly attached: boolean;
}

function helloChannel(space: string): string {
  return `onemem ${space}`;
}

function clientChannel(space: string, client: string): string {
  return `onemem ${space} ${client}`;
}

/** Takes a message without the event loop, for broadcast channels, too: Node's types lack it. */
function receive<T>(channel: BroadcastChannel): T | undefined {
  return (receiveMessageOnPort(channel as unknown as MessagePort) as { message: T } | undefined)
    ?.message;
}

/**
 * A channel that the manager reads. Now and then the manager lets its event loop turn, to start or
 * reap a device or to load a module; the loop then takes what has come and hands it to a listener,
 * or drops it if there is none.
 */
class Inbox<T> {
  private readonly channel: BroadcastChannel;
  private delivered: T[] = [];
  /** The next message's place in the list, which is not moved up for each. */
  private head = 0;
  private closed = false;

  constructor(name: string) {
    this.channel = new BroadcastChannel(name);
    this.channel.onmessage = (event) => {
      this.delivered.push((event as unknown as { data: T }).data);
    };
    this.channel.unref();
  }

  close(): void {
    this.closed = true;
    this.channel.close();
  }

  /** Nothing, once it is closed: an answer may come when the thread that asked has ended. */
  post(message: FromManager): void {
    if (!this.closed) this.channel.postMessage(message);
  }

  take(): T | undefined {
    if (this.closed) return undefined;
    if (this.head < this.delivered.length) return this.delivered[this.head++];
    if (this.head > 0) {
      this.delivered = [];
      this.head = 0;
    }
    return receive<T>(this.channel);
  }
}

/** The manager's end. */
export class ThreadTransport implements Transport {
  private readonly hello: Inbox<Hello>;

  constructor(private readonly space: string) {
    this.hello = new Inbox(helloChannel(space));
  }

  accept(): Connection | undefined {
    const hello = this.hello.take();
    return hello === undefined ? undefined : new ThreadConnection(this.space, hello);
  }

  close(): void {
    this.hello.close();
  }
}

class ThreadConnection implements Connection {
  readonly thread: number;
  readonly attached: boolean;
  readonly process = null;
  readonly ranges = null;
  private readonly inbox: Inbox<ToManager>;
  private readonly answers: Int32Array;

  constructor(space: string, { client, answers, thread, attached }: Hello) {
    this.thread = thread;
    this.attached = attached;
    this.inbox = new Inbox(clientChannel(space, client));
    this.answers = new Int32Array(answers);
  }

  get hasEnded(): boolean {
    return !threadExists(this.thread);
  }

  take(): ToManager | undefined {
    return this.inbox.take();
  }

  post(message: FromManager): void {
    this.inbox.post(message);
  }

  raise(): void {
    Atomics.add(this.answers, 0, 1);
    Atomics.notify(this.answers, 0);
  }

  close(): void {
    this.inbox.close();
  }
}

/** Between two looks of a thread that waits for the manager whether the space is still there. */
const LOOK_MS = 1000;

/** A client's end. */
export class ThreadLine implements Line {
  readonly thread = threadId();
  private readonly channel: BroadcastChannel;
  private readonly answers = new Int32Array(new SharedArrayBuffer(4));
  private readonly control: Int32Array;

  /**
   * Returns when the manager listens.
   * @param assertOpen throws when the space has been closed meanwhile
   * @param listener called, by the event loop, with messages that were not taken
   */
  constructor(
    private readonly handle: SpaceHandle,
    attached: boolean,
    assertOpen: () => void,
    listener: (message: FromManager) => void,
  ) {
    const client = randomName();
    this.control = new Int32Array(handle.control);
    this.channel = new BroadcastChannel(clientChannel(handle.name, client));
    this.channel.onmessage = (message) =>
      listener((message as unknown as { data: FromManager }).data);
    this.channel.unref();
    const hello = new BroadcastChannel(helloChannel(handle.name));
    try {
      const answers = this.answers.buffer as SharedArrayBuffer;
      hello.postMessage({ client, answers, thread: this.thread, attached } satisfies Hello);
      notifyEventfd(handle.wakeFd);
      // A broadcast reaches only threads that listen already: the manager raises the word when it
      // has heard it.
      while (!this.wait(0, LOOK_MS)) assertOpen();
    } catch (error) {
      this.channel.close();
      throw error;
    } finally {
      hello.close();
    }
  }

  post(message: ToManager): void {
    this.channel.postMessage(message);
    Atomics.add(this.control, Control.Asked, 1);
    if (Atomics.load(this.control, Control.Awake) === 0) notifyEventfd(this.handle.wakeFd);
  }

  take(): FromManager | undefined {
    return receive<FromManager>(this.channel);
  }

  get raised(): number {
    return Atomics.load(this.answers, 0);
  }

  wait(raised: number, limitMs: number): boolean {
    return Atomics.wait(this.answers, 0, raised, limitMs) !== 'timed-out';
  }

  keepLoop(on: boolean): void {
    if (on) this.channel.ref();
    else this.channel.unref();
  }

  close(): void {
    this.channel.close();
  }
}
