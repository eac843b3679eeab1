/**
 * The clients of a space. A client may end without a word, since a worker can be terminated:
 * whenever another one comes, the manager looks which ones are still there, and forgets the others
 * with the views and pins that they had.
 */
import { threadExists } from '../../linux/processes/process.js';
import type { Subscriber } from '../arrays/modules/notifiers.js';
import { Control } from '../protocol/control.js';
import type { Answer, FromManager, ToManager } from '../protocol/messages.js';
import type { Notice } from '../protocol/notifiers.js';
import type { StreamEvent } from '../protocol/operations.js';
import type { Connection, Transport } from '../protocol/transport.js';
import type { WireError } from '../protocol/wire.js';
import type { StreamOwner } from '../streams/streams.js';
import type { TimeSlice } from './time-slice.js';

export interface ClientEvents {
  request(message: ToManager, answer: Answer, client: Client): void;
  /** What a client left behind and cannot end: views by range with their number, and pins. */
  left(client: Client, views: ReadonlyMap<number, number>, pins: ReadonlySet<number>): void;
}

export class Client implements Subscriber, StreamOwner {
  /** It has said that it leaves. Its views stay until it ends. */
  hasLeft = false;
  /** How many views it has of each range. */
  private views = new Map<number, number>();
  private pins = new Set<number>();
  /** Arrays of its own that it copies over. */
  readonly staging = new Set<number>();

  constructor(readonly connection: Connection) {}

  get thread(): number {
    return this.connection.thread;
  }

  get hasEnded(): boolean {
    return this.connection.hasEnded;
  }

  /** The other process that it is of; null: none. */
  get process(): number | null {
    return this.connection.process;
  }

  get isElsewhere(): boolean {
    return this.thread < 0;
  }

  /** Whether it may know of an array: a handle for other processes may allow some alone. */
  mayKnow(range: number): boolean {
    return this.connection.ranges?.has(range) ?? true;
  }

  hasViewsOf(range: number): boolean {
    return this.views.has(range);
  }

  notice(notice: Notice): void {
    this.connection.post({ notice });
  }

  ended(event: StreamEvent): void {
    if (!this.hasLeft) this.connection.post({ event });
  }

  call(stream: number, sequence: number): void {
    if (!this.hasLeft) this.connection.post({ call: { stream, sequence } });
  }

  answer(id: number, value: unknown, error: WireError | null): void {
    this.connection.post({ id, value, error });
    this.connection.raise();
  }

  /** Keeps count of what it has. */
  note(message: ToManager): void {
    switch (message.name) {
      case 'pin':
      case 'stage':
        this.pins.add(message.value.pin);
        break;
      case 'unpin':
        this.pins.delete(message.value.pin);
        break;
      case 'free':
        this.staging.delete(message.value.range);
        break;
      case 'viewed':
        this.count(message.value.range, 1);
        break;
      case 'unviewed':
      // A view that was taken belongs to no thread any more: its range counts it as long as the
      // range lives.
      case 'taken':
        this.count(message.value.range, -1);
        break;
    }
  }

  /** Takes what it has: its views too, if it has ended. Returns how many views that were. */
  drop(withViews: boolean, events: ClientEvents): number {
    const { views, pins } = this;
    this.pins = new Set();
    if (!withViews) {
      events.left(this, new Map(), pins);
      return 0;
    }
    this.views = new Map();
    events.left(this, views, pins);
    return [...views.values()].reduce((sum, count) => sum + count, 0);
  }

  private count(range: number, by: number): void {
    const count = (this.views.get(range) ?? 0) + by;
    if (count === 0) this.views.delete(range);
    else this.views.set(range, count);
  }
}

export class Clients {
  private readonly transports: Transport[] = [];
  private clients: Client[] = [];
  /** Clients whose threads have ended; messages of theirs may still wait. */
  private ended: Client[] = [];
  /** The client that is heard first. */
  private turn = 0;
  /** Messages may be waiting that were not handled, so that others got their turn. */
  busy = false;
  /** How many answers threads have been given to requests. */
  answers = 0;

  /** @param control words that all threads of the space share */
  constructor(private readonly control: Int32Array) {}

  /** Has clients come in one more way. */
  acceptFrom(transport: Transport): void {
    this.transports.push(transport);
  }

  /** Hands on messages that have come, of each client in turn, as many as the share allows. */
  read(slice: TimeSlice, events: ClientEvents): void {
    this.greet();
    let silent = 0;
    while (silent < this.clients.length && slice.take()) {
      const client = this.clients[this.turn++ % this.clients.length];
      const message = client.connection.take();
      if (message === undefined) silent++;
      else {
        silent = 0;
        this.hear(client, message, events);
      }
    }
    this.turn %= Math.max(1, this.clients.length);
    this.busy = silent < this.clients.length;
    // What they said before they ended has been heard by now.
    if (!this.busy) this.forget(this.ended.splice(0), events);
  }

  private hear(client: Client, message: ToManager, events: ClientEvents): void {
    const { id } = message;
    this.note(client, message, events);
    const answer: Answer = (value, error) => {
      // Number 0: the thread does not wait for an answer.
      if (id === 0) return;
      this.answers++;
      client.answer(id, value, error);
    };
    events.request(message, answer, client);
  }

  private note(client: Client, message: ToManager, events: ClientEvents): void {
    client.note(message);
    if (message.name !== 'leave') return;
    client.hasLeft = true;
    client.drop(message.value.ended, events);
  }

  private greet(): void {
    for (const transport of this.transports) {
      for (let come = transport.accept(); come !== undefined; come = transport.accept()) {
        this.lookForEnded();
        this.clients.push(new Client(come));
        come.raise();
      }
    }
  }

  /** Whether a thread of this process, or a client of another one, is still there. */
  readonly threadExists = (thread: number): boolean =>
    thread >= 0
      ? threadExists(thread)
      : this.clients.some((client) => client.thread === thread && !client.hasEnded);

  has(thread: number): boolean {
    return this.clients.some((client) => client.thread === thread);
  }

  /** Clients that have ended are forgotten when what they said last has been heard. */
  lookForEnded(): void {
    this.ended = this.clients.filter(({ hasEnded }) => hasEnded);
    if (this.ended.length > 0) this.busy = true;
  }

  broadcast(message: FromManager): void {
    for (const { hasLeft, connection } of this.clients) if (!hasLeft) connection.post(message);
  }

  /** A range has been freed; null: all have, since the space is closed. */
  tellFreed(range: number | null): void {
    for (const client of this.clients) {
      if (!client.hasLeft && (range === null || client.hasViewsOf(range)))
        client.connection.post({ freed: range });
    }
  }

  /** The space closes: views and pins of ended clients must not count any more. */
  forgetEnded(events: ClientEvents): void {
    const ended = this.clients.filter(({ hasEnded }) => hasEnded);
    for (const client of ended) {
      const { connection } = client;
      for (let message = connection.take(); message !== undefined; message = connection.take()) {
        this.note(client, message, events);
      }
    }
    this.forget(ended, events);
  }

  private forget(ended: readonly Client[], events: ClientEvents): void {
    if (ended.length === 0) return;
    this.clients = this.clients.filter((client) => !ended.includes(client));
    for (const client of ended) {
      client.connection.close();
      const views = client.drop(true, events);
      // A thread that was terminated could not take itself out of the counts.
      if (!client.connection.attached || client.hasLeft) continue;
      Atomics.sub(this.control, Control.AttachedThreads, 1);
      Atomics.sub(this.control, Control.Views, views);
    }
  }

  close(): void {
    for (const transport of this.transports) transport.close();
    for (const { connection } of this.clients) connection.close();
  }
}
