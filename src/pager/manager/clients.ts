/**
 * The threads of the application that talk to the manager. A thread may end without a word, since a worker can be terminated:
 * whenever another one comes, the manager looks who is still there, and forgets the others with the views that they had.
 */
import { BroadcastChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { threadExists } from '../../linux/process.js';
import type { Subscriber } from '../arrays/notifiers.js';
import {
  type ClientHello,
  Control,
  clientChannel,
  type FromManager,
  helloChannel,
  type Requests,
  type ToManager,
  type WireError,
} from '../protocol/requests.js';
import type { Share } from './share.js';

export type Answer = (value: unknown, error: WireError | null) => void;

interface Client extends Subscriber {
  readonly inbox: Inbox<ToManager>;
  readonly answers: Int32Array;
  readonly thread: number;
  readonly attached: boolean;
  /** It has said that it leaves. Its views stay until it ends. */
  left: boolean;
  /** How many views it has of each range. */
  readonly views: Map<number, number>;
  /** Its pins that have not ended. */
  readonly pins: Set<number>;
}

/**
 * A channel that is read without an event loop. Now and then the manager lets its event loop turn, to start or reap a device or to
 * load a module; the loop then takes what has come and hands it to a listener, or drops it if there is none.
 */
class Inbox<T> {
  private readonly channel: BroadcastChannel;
  private delivered: T[] = [];
  /** Place of the next message in the list: to move a long list up for each would take longer the longer it is. */
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
    // The types of Node leave out that this works for broadcast channels, too.
    const received = receiveMessageOnPort(this.channel as unknown as MessagePort) as { message: T } | undefined;
    return received?.message;
  }
}

export class Clients {
  private readonly hello: Inbox<ClientHello>;
  private clients: Client[] = [];
  /** Clients whose threads have ended, and who may have said something that was not heard yet. */
  private ended: Client[] = [];
  /** The client who is heard first. */
  private turn = 0;
  /** Messages may be waiting that were not handled, so that others got their turn. */
  more = false;

  /**
   * @param control words that all threads of the space share
   * @param viewsGone called with a range and the number of its views that have ended with their thread
   */
  constructor(
    private readonly space: string,
    private readonly control: Int32Array,
    private readonly viewsGone: (range: number, count: number) => void,
    /** Called with a pin that nobody can end any more. */
    private readonly pinGone: (pin: number) => void,
  ) {
    this.hello = new Inbox(helloChannel(space));
  }

  /** Hands messages that have come to `handle`, of each client in turn, as many as the share allows. */
  read(share: Share, handle: (message: ToManager, answer: Answer, sender: Subscriber) => void): void {
    this.greet();
    let silent = 0;
    while (silent < this.clients.length && share.take()) {
      const client = this.clients[this.turn++ % this.clients.length];
      const message = client.inbox.take();
      if (message === undefined) silent++;
      else {
        silent = 0;
        const { id } = message;
        this.note(client, message);
        handle(message, (value, error) => answerTo(client, id, value, error), client);
      }
    }
    this.turn %= Math.max(1, this.clients.length);
    this.more = silent < this.clients.length;
    // What they said before they ended has been heard by now.
    if (!this.more) this.forget(this.ended.splice(0));
  }

  private greet(): void {
    for (let hello = this.hello.take(); hello !== undefined; hello = this.hello.take()) {
      if (this.ended.length === 0) this.ended = this.clients.filter(hasEnded);
      const { thread, attached } = hello;
      const inbox = new Inbox<ToManager>(clientChannel(this.space, hello.client));
      const answers = new Int32Array(hello.answers);
      const notice: Subscriber['notice'] = (notice) => inbox.post({ notice });
      const client = {
        inbox,
        answers,
        thread,
        attached,
        notice,
        left: false,
        views: new Map(),
        pins: new Set<number>(),
      };
      this.clients.push(client);
      raise(client);
    }
  }

  broadcast(message: FromManager): void {
    for (const client of this.clients) if (!client.left) client.inbox.post(message);
  }

  /** A range has been freed; null: all have, since the space is closed. */
  tellFreed(range: number | null): void {
    for (const { left, views, inbox } of this.clients) {
      if (!left && (range === null || views.has(range))) inbox.post({ freed: range });
    }
  }

  /** The space is about to close: what nobody hears of any more must not count. */
  forgetEnded(): void {
    const ended = this.clients.filter(hasEnded);
    for (const client of ended) {
      for (let message = client.inbox.take(); message !== undefined; message = client.inbox.take()) {
        this.note(client, message);
      }
    }
    this.forget(ended);
  }

  private note(client: Client, { name, value }: ToManager): void {
    if (name === 'leave') {
      client.left = true;
      if ((value as Requests['leave']['in']).ended) this.dropViews(client);
      this.dropPins(client);
    }
    if (name === 'pin') client.pins.add((value as Requests['pin']['in']).pin);
    if (name === 'unpin') client.pins.delete((value as Requests['unpin']['in']).pin);
    // One that was taken is the thread's no more, and nobody's: its range counts it as long as it lives.
    if (name !== 'viewed' && name !== 'unviewed' && name !== 'taken') return;
    const { range } = value as { range: number };
    const count = (client.views.get(range) ?? 0) + (name === 'viewed' ? 1 : -1);
    if (count === 0) client.views.delete(range);
    else client.views.set(range, count);
  }

  /** Returns how many there were. */
  private dropViews(client: Client): number {
    let views = 0;
    for (const [range, count] of client.views) {
      views += count;
      this.viewsGone(range, count);
    }
    client.views.clear();
    return views;
  }

  private dropPins(client: Client): void {
    for (const pin of client.pins) this.pinGone(pin);
    client.pins.clear();
  }

  private forget(ended: readonly Client[]): void {
    if (ended.length === 0) return;
    this.clients = this.clients.filter((client) => !ended.includes(client));
    for (const client of ended) {
      client.inbox.close();
      const views = this.dropViews(client);
      this.dropPins(client);
      // A thread that was terminated could not take itself out of the counts.
      if (!client.attached || client.left) continue;
      Atomics.sub(this.control, Control.AttachedThreads, 1);
      Atomics.sub(this.control, Control.Views, views);
    }
  }

  close(): void {
    this.hello.close();
    for (const client of this.clients) client.inbox.close();
  }
}

function hasEnded(client: Client): boolean {
  return !threadExists(client.thread);
}

function answerTo(client: Client, id: number, value: unknown, error: WireError | null): void {
  // Number 0: nobody wants to know.
  if (id === 0) return;
  client.inbox.post({ id, value, error });
  raise(client);
}

/** Wakes the client if it waits with its thread stopped. */
function raise(client: Client): void {
  Atomics.add(client.answers, 0, 1);
  Atomics.notify(client.answers, 0);
}
