/** One thread's connection to the manager of a space. */
import { randomUUID } from 'node:crypto';
import { BroadcastChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { notifyEventfd } from '../linux/eventfd.js';
import { threadId } from '../linux/process.js';
import type { Notice } from '../pager/protocol/notifiers.js';
import {
  type ClientHello,
  Control,
  clientChannel,
  type DeviceInfo,
  type FromManager,
  helloChannel,
  type Requests,
  type SpaceHandle,
  SpaceState,
  type StreamEvent,
  type ToManager,
  type WireError,
} from '../pager/protocol/requests.js';
import { fromWire, OnememError } from './errors.js';

/** How often a thread that waits for an answer looks whether the space is still there. */
const LOOK_MS = 1000;

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

export class Client {
  private readonly channel: BroadcastChannel;
  private readonly answers = new Int32Array(new SharedArrayBuffer(4));
  private readonly control: Int32Array;
  private readonly pending = new Map<number, Pending>();
  private readonly events = new Map<string, (event: StreamEvent) => void>();
  /** Functions of the program's that streams have not called yet. */
  private readonly calls = new Map<string, () => void>();
  /** Those that streams have called, while they run. */
  private readonly running = new Set<string>();
  /** What is done with the notices of subscriptions. */
  private readonly notices = new Map<number, (notice: Notice) => void>();
  /** Called with a range that some thread has freed, if this one has views of it; null: the space has been closed. */
  onFreed: (range: number | null) => void = () => undefined;
  /** Hears of devices that any thread has added, or started again. */
  onDevice: (info: DeviceInfo, instead: number | null) => void = () => undefined;
  private nextId = 1;
  private refs = 0;
  private closed = false;

  /** @param attached whether another thread opened the space */
  constructor(
    readonly handle: SpaceHandle,
    private readonly attached: boolean,
  ) {
    this.control = new Int32Array(handle.control);
    this.assertOpen('cannot attach');
    if (threadId() === Atomics.load(this.control, Control.ManagerThread)) {
      throw new OnememError(
        'MANAGER_THREAD',
        "cannot attach: this is the thread of the space's manager, which would wait for itself; a module that runs here may use the memory " +
          'that it was handed, and tables of its own',
      );
    }
    const client = randomUUID();
    this.channel = new BroadcastChannel(clientChannel(handle.name, client));
    this.channel.onmessage = (message) => this.handle_((message as unknown as { data: FromManager }).data);
    this.channel.unref();
    const hello = new BroadcastChannel(helloChannel(handle.name));
    try {
      const answers = this.answers.buffer as SharedArrayBuffer;
      hello.postMessage({ client, answers, thread: threadId(), attached } satisfies ClientHello);
      notifyEventfd(handle.wakeFd);
      // A broadcast reaches those who listen already: the manager raises the word when it does.
      while (Atomics.wait(this.answers, 0, 0, LOOK_MS) === 'timed-out') this.assertOpen('cannot attach');
    } catch (error) {
      this.channel.close();
      throw error;
    } finally {
      hello.close();
    }
  }

  get isClosed(): boolean {
    return this.closed || Atomics.load(this.control, Control.State) === SpaceState.Closed;
  }

  /** Asks and waits for the answer, with the thread stopped: for what takes microseconds. */
  call<N extends keyof Requests>(name: N, value: Requests[N]['in']): Requests[N]['out'] {
    this.assertOpen(name);
    const id = this.nextId++;
    let answer: { value: unknown; error: Error | null } | null = null;
    this.pending.set(id, {
      resolve: (result) => {
        answer = { value: result, error: null };
      },
      reject: (error) => {
        answer = { value: null, error };
      },
    });
    this.send({ id, name, value });
    while (answer === null) {
      const seen = Atomics.load(this.answers, 0);
      const message = this.receive();
      if (message !== undefined) this.handle_(message);
      else if (Atomics.wait(this.answers, 0, seen, LOOK_MS) === 'timed-out') this.assertOpen(name);
    }
    const { value: result, error } = answer as { value: unknown; error: Error | null };
    if (error !== null) throw error;
    return result as Requests[N]['out'];
  }

  /** Asks; the promise gets the answer. */
  request<N extends keyof Requests>(name: N, value: Requests[N]['in']): Promise<Requests[N]['out']> {
    return new Promise((resolve, reject) => {
      this.assertOpen(name);
      const id = this.nextId++;
      this.ref();
      const settle = (): void => this.unref();
      this.pending.set(id, {
        resolve: (result) => {
          settle();
          resolve(result as Requests[N]['out']);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      });
      this.send({ id, name, value });
    });
  }

  /** Tells without waiting for an answer. */
  tell<N extends keyof Requests>(name: N, value: Requests[N]['in']): void {
    if (this.isClosed) return;
    this.send({ id: 0, name, value });
  }

  /** Calls `listener` once, when the operation has ended. Keeps the process alive until then. */
  onStreamEvent(stream: number, sequence: number, listener: (event: StreamEvent) => void): void {
    this.ref();
    this.events.set(`${stream} ${sequence}`, listener);
  }

  /**
   * Calls `run` once, when the operation's turn has come: in a turn of the event loop of its own, never from within a request. It
   * must be followed by `called`.
   */
  onCall(stream: number, sequence: number, run: () => void): void {
    this.calls.set(`${stream} ${sequence}`, run);
  }

  /** What a stream called is through. */
  called(stream: number, sequence: number, error: WireError | null): void {
    if (this.running.delete(`${stream} ${sequence}`)) this.tell('called', { stream, sequence, error });
  }

  /** Has `listener` called for each notice of a subscription, in a turn of the event loop of its own; null: no more. */
  onNotice(subscription: number, listener: ((notice: Notice) => void) | null): void {
    if (listener === null) this.notices.delete(subscription);
    else this.notices.set(subscription, listener);
  }

  /** A number that no other subscription of the space has. */
  newNotifier(): number {
    return Atomics.add(this.control, Control.Notifiers, 1) + 1;
  }

  /** A number that no other stream of the space has. */
  newStream(): number {
    return Atomics.add(this.control, Control.Streams, 1) + 1;
  }

  /** A number that no other pin of the space has. */
  newPin(): number {
    return Atomics.add(this.control, Control.Pins, 1) + 1;
  }

  /** @param ended whether the thread ends */
  close(ended = false): void {
    if (this.closed) return;
    const error = new OnememError('SPACE_CLOSED', 'the space has been closed');
    this.abandonCalls({ name: 'OnememError', code: error.code, message: error.message, details: {} });
    if (this.attached) this.tell('leave', { ended });
    this.closed = true;
    // What the manager said last may not have been heard: a launch that the program waits for must end, one way or the other.
    for (let message = this.receive(); message !== undefined; message = this.receive()) this.handle_(message);
    for (const { reject } of this.pending.values()) reject(error);
    this.pending.clear();
    this.channel.close();
    const wire: WireError = { name: 'OnememError', code: error.code, message: error.message, details: {} };
    for (const [key, listener] of [...this.events]) {
      const [stream, sequence] = key.split(' ').map(Number);
      listener({
        stream,
        sequence,
        result: 'cancelled',
        error: wire,
        startedMs: Number.NaN,
        endedMs: Number.NaN,
        bytes: 0,
        pages: 0,
      });
    }
    this.events.clear();
  }

  assertOpen(what: string): void {
    if (this.isClosed) throw new OnememError('SPACE_CLOSED', `${what}: the space has been closed; open a new one`);
  }

  /** Nobody will run the functions that streams are to call, or hear of those that run: the streams must not wait for them. */
  private abandonCalls(error: WireError): void {
    for (const key of [...this.calls.keys(), ...this.running]) {
      const [stream, sequence] = key.split(' ').map(Number);
      this.tell('called', { stream, sequence, error });
    }
    this.calls.clear();
    this.running.clear();
  }

  private send(message: ToManager): void {
    this.channel.postMessage(message);
    notifyEventfd(this.handle.wakeFd);
  }

  /** Takes a message without the event loop; the types of Node leave out that this works for broadcast channels, too. */
  private receive(): FromManager | undefined {
    const received = receiveMessageOnPort(this.channel as unknown as MessagePort) as
      | { message: FromManager }
      | undefined;
    return received?.message;
  }

  private handle_(message: FromManager): void {
    if ('call' in message) {
      const key = `${message.call.stream} ${message.call.sequence}`;
      const run = this.calls.get(key);
      if (run === undefined) return;
      this.calls.delete(key);
      this.running.add(key);
      setImmediate(() => {
        if (this.running.has(key)) run();
      });
    } else if ('notice' in message) {
      const { notice } = message;
      setImmediate(() => this.notices.get(notice.subscription)?.(notice));
    } else if ('device' in message) this.onDevice(message.device, message.instead);
    else if ('event' in message) {
      const key = `${message.event.stream} ${message.event.sequence}`;
      this.calls.delete(key);
      const listener = this.events.get(key);
      if (listener === undefined) return;
      this.events.delete(key);
      this.unref();
      listener(message.event);
    } else if ('freed' in message) {
      this.onFreed(message.freed);
    } else if ('id' in message) {
      const waiting = this.pending.get(message.id);
      this.pending.delete(message.id);
      if (message.error === null) waiting?.resolve(message.value);
      else waiting?.reject(fromWire(message.error));
    }
  }

  private ref(): void {
    if (this.refs++ === 0) this.channel.ref();
  }

  private unref(): void {
    if (--this.refs === 0) this.channel.unref();
  }
}
