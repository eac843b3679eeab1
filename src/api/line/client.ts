/** One thread's connection to the manager of a space. */
import { threadId } from '../../linux/processes/process.js';
import { Control, SpaceState } from '../../pager/protocol/control.js';
import type { FromManager, RequestMessage, RequestName } from '../../pager/protocol/messages.js';
import type { Notice } from '../../pager/protocol/notifiers.js';
import type { StreamEvent } from '../../pager/protocol/operations.js';
import type { Requests } from '../../pager/protocol/requests.js';
import type { DeviceInfo, SpaceHandle } from '../../pager/protocol/space.js';
import { ThreadLine } from '../../pager/protocol/threads.js';
import type { Line } from '../../pager/protocol/transport.js';
import { type WireError, wireError } from '../../pager/protocol/wire.js';
import { fromWire, OnememError } from '../values/errors.js';
import { UnseenFailures } from './unseen-failures.js';

/** How often a thread that waits for an answer looks whether the space is still there. */
const LOOK_MS = 1000;

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** Makes the connection of a client elsewhere than in the manager's process. */
export type Connect = (
  listener: (message: FromManager) => void,
  lost: (loss: OnememError) => void,
) => Line;

export class Client {
  private readonly line: Line;
  private readonly control: Int32Array;
  private readonly pending = new Map<number, Pending>();
  private readonly events = new Map<string, (event: StreamEvent) => void>();
  /** Events that came while a listener was told: each is told when those before are through. */
  private readonly untold: StreamEvent[] = [];
  private isTelling = false;
  /** Functions of the program's that streams have not called yet. */
  private readonly calls = new Map<string, () => void>();
  /** Those that streams have called, while they run. */
  private readonly running = new Set<string>();
  /** What is done with the notices of subscriptions. */
  private readonly notices = new Map<number, (notice: Notice) => void>();
  /** Called with a freed range of which this thread has views; null: the space is closed. */
  onFreed: (range: number | null) => void = () => undefined;
  /** Hears of devices that any thread has added, or started again. */
  onDevice: (info: DeviceInfo, instead: number | null) => void = () => undefined;
  /**
   * Gives back memory of the space that this thread keeps for later. False: it keeps none. Asked
   * when something is refused for want of memory, which is then tried again.
   */
  spare: () => boolean = () => false;
  readonly unseenFailures = new UnseenFailures();
  /** Why the manager is not there any more. */
  private loss: OnememError | null = null;
  private nextId = 1;
  private refs = 0;
  private closed = false;

  /** @param attached whether another thread opened the space */
  constructor(
    readonly handle: SpaceHandle,
    private readonly attached: boolean,
    connect?: Connect,
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
    const listener = (message: FromManager): void => this.take(message);
    this.line =
      connect?.(listener, (loss) => this.lose(loss)) ??
      new ThreadLine(handle, attached, () => this.assertOpen('cannot attach'), listener);
  }

  get isClosed(): boolean {
    return this.closed || Atomics.load(this.control, Control.State) === SpaceState.Closed;
  }

  /** Asks and waits for the answer, with the thread stopped: for what takes microseconds. */
  call<N extends keyof Requests>(name: N, value: Requests[N]['in']): Requests[N]['out'] {
    try {
      return this.ask(name, value);
    } catch (error) {
      if (!isShortage(error) || !this.spare()) throw error;
      return this.ask(name, value);
    }
  }

  /** The same, where the space may end before or meanwhile: null then. */
  callUnlessClosed<N extends keyof Requests>(
    name: N,
    value: Requests[N]['in'],
  ): Requests[N]['out'] | null {
    if (this.isClosed) return null;
    try {
      return this.call(name, value);
    } catch (error) {
      if (!this.isClosed) throw error;
      return null;
    }
  }

  /** Waits for an end that the end of the space brings, too, which may come before or meanwhile. */
  async awaitUnlessClosed(end: () => Promise<unknown>): Promise<void> {
    if (this.isClosed) return;
    try {
      await end();
    } catch (error) {
      if (!this.isClosed) throw error;
    }
  }

  private ask<N extends keyof Requests>(name: N, value: Requests[N]['in']): Requests[N]['out'] {
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
    this.send(id, name, value);
    while (answer === null) {
      const { raised } = this.line;
      const message = this.line.take();
      if (message !== undefined) this.take(message, id);
      else if (!this.line.wait(raised, LOOK_MS)) this.assertOpen(name);
    }
    const { value: result, error } = answer as { value: unknown; error: Error | null };
    if (error !== null) throw error;
    return result as Requests[N]['out'];
  }

  /** Asks; the promise gets the answer. */
  async request<N extends keyof Requests>(
    name: N,
    value: Requests[N]['in'],
  ): Promise<Requests[N]['out']> {
    try {
      return await this.askLater(name, value);
    } catch (error) {
      if (!isShortage(error) || !this.spare()) throw error;
      return await this.askLater(name, value);
    }
  }

  private askLater<N extends keyof Requests>(
    name: N,
    value: Requests[N]['in'],
  ): Promise<Requests[N]['out']> {
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
      this.send(id, name, value);
    });
  }

  /** Tells without waiting for an answer. */
  tell<N extends keyof Requests>(name: N, value: Requests[N]['in']): void {
    if (this.isClosed) return;
    this.send(0, name, value);
  }

  /** Calls `listener` once, when the operation has ended. Keeps the process alive until then. */
  onStreamEvent(stream: number, sequence: number, listener: (event: StreamEvent) => void): void {
    this.ref();
    this.events.set(`${stream} ${sequence}`, listener);
  }

  /**
   * Calls `run` once, when the operation's turn has come: in a turn of the event loop of its own,
   * never from within a request. It must be followed by `called`.
   */
  onCall(stream: number, sequence: number, run: () => void): void {
    this.calls.set(`${stream} ${sequence}`, run);
  }

  /** What a stream called is through. */
  called(stream: number, sequence: number, error: WireError | null): void {
    if (this.running.delete(`${stream} ${sequence}`))
      this.tell('called', { stream, sequence, error });
  }

  /** Calls `listener` for each notice, in a turn of the event loop of its own; null: no more. */
  onNotice(subscription: number, listener: ((notice: Notice) => void) | null): void {
    if (listener === null) this.notices.delete(subscription);
    else this.notices.set(subscription, listener);
  }

  /** Whether threads of other processes may use the space. */
  get hasOtherProcesses(): boolean {
    return Atomics.load(this.control, Control.OtherProcesses) === 1;
  }

  /** Whether the space is another process's. */
  get hasOwner(): boolean {
    return this.handle.attachedBy !== undefined;
  }

  /** This thread, as requests name it. */
  get thread(): number {
    return this.line.thread;
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
    this.end(new OnememError('SPACE_CLOSED', 'the space has been closed'), ended);
  }

  /** The manager is not there any more. */
  private lose(loss: OnememError): void {
    this.loss = loss;
    this.end(loss, false);
  }

  private end(error: OnememError, ended: boolean): void {
    if (this.closed) return;
    const wire = wireError(error.code, error.message);
    this.abandonCalls(wire);
    if (this.attached) this.tell('leave', { ended });
    this.closed = true;
    // What the manager said last may not have been heard: a launch that the program waits for must
    // end, one way or the other.
    this.hear();
    for (const { reject } of this.pending.values()) reject(error);
    this.pending.clear();
    this.line.close();
    const nothing = { startedMs: Number.NaN, endedMs: Number.NaN, bytes: 0, pages: 0 };
    for (const [key, listener] of [...this.events]) {
      const [stream, sequence] = key.split(' ').map(Number);
      listener({ stream, sequence, result: 'cancelled', error: wire, ...nothing });
    }
    this.events.clear();
  }

  /** Takes what the manager has said, or that it is gone, without the event loop. */
  hear(): void {
    for (let message = this.line.take(); message !== undefined; message = this.line.take())
      this.take(message);
  }

  assertOpen(what: string): void {
    if (this.loss !== null) throw new OnememError(this.loss.code, `${what}: ${this.loss.message}`);
    if (this.isClosed)
      throw new OnememError('SPACE_CLOSED', `${what}: the space has been closed; open a new one`);
  }

  /** This thread runs no functions of streams any more: the streams must not wait for them. */
  private abandonCalls(error: WireError): void {
    for (const key of [...this.calls.keys(), ...this.running]) {
      const [stream, sequence] = key.split(' ').map(Number);
      this.tell('called', { stream, sequence, error });
    }
    this.calls.clear();
    this.running.clear();
  }

  private send<N extends RequestName>(id: number, name: N, value: Requests[N]['in']): void {
    // That the two belong together the compiler sees here, and not in the union.
    this.line.post({ id, name, value } as RequestMessage);
  }

  /** @param asked the request that is waited for here */
  private take(message: FromManager, asked = 0): void {
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
      this.untold.push(message.event);
      if (!this.isTelling) this.tellEvents();
    } else if ('freed' in message) {
      this.onFreed(message.freed);
    } else if ('id' in message) {
      const waiting = this.pending.get(message.id);
      this.pending.delete(message.id);
      if (message.error === null) waiting?.resolve(message.value);
      else
        waiting?.reject(
          message.id === asked ? fromWire(message.error) : fromElsewhere(message.error),
        );
    }
  }

  /** A listener may ask the manager something, and events come with the answer. */
  private tellEvents(): void {
    this.isTelling = true;
    try {
      for (let event = this.untold.shift(); event !== undefined; event = this.untold.shift()) {
        const key = `${event.stream} ${event.sequence}`;
        this.calls.delete(key);
        const listener = this.events.get(key);
        if (listener === undefined) continue;
        this.events.delete(key);
        this.unref();
        listener(event);
      }
    } finally {
      this.isTelling = false;
    }
  }

  private ref(): void {
    if (this.refs++ === 0) this.line.keepLoop(true);
  }

  private unref(): void {
    if (--this.refs === 0) this.line.keepLoop(false);
  }
}

/** What may be had once memory is given back. */
function isShortage(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === 'HOST_BUDGET' || code === 'ADDRESS_SPACE';
}

/**
 * The error of something that was asked earlier: the stack of what runs just now would name lines
 * of the program that have nothing to do with it.
 */
function fromElsewhere(wire: WireError): Error {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return fromWire(wire);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
