/** The threads of the application that talk to the manager. */
import { BroadcastChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import {
  type ClientHello,
  clientChannel,
  type FromManager,
  helloChannel,
  type ToManager,
  type WireError,
} from './protocol.js';

export type Answer = (value: unknown, error: WireError | null) => void;

interface Client {
  readonly inbox: Inbox<ToManager>;
  readonly answers: Int32Array;
}

/**
 * A channel that is read without an event loop. Now and then the manager lets its event loop turn, to start or reap a device or to
 * load a module; the loop then takes what has come and hands it to a listener, or drops it if there is none.
 */
class Inbox<T> {
  readonly channel: BroadcastChannel;
  private readonly delivered: T[] = [];

  constructor(name: string) {
    this.channel = new BroadcastChannel(name);
    this.channel.onmessage = (event) => {
      this.delivered.push((event as unknown as { data: T }).data);
    };
    this.channel.unref();
  }

  take(): T | undefined {
    if (this.delivered.length > 0) return this.delivered.shift();
    // The types of Node leave out that this works for broadcast channels, too.
    const received = receiveMessageOnPort(this.channel as unknown as MessagePort) as { message: T } | undefined;
    return received?.message;
  }
}

export class Clients {
  private readonly hello: Inbox<ClientHello>;
  private readonly clients: Client[] = [];

  constructor(private readonly space: string) {
    this.hello = new Inbox(helloChannel(space));
  }

  /** Hands every message that has come to `handle`. */
  read(handle: (message: ToManager, answer: Answer) => void): void {
    for (let hello = this.hello.take(); hello !== undefined; hello = this.hello.take()) {
      const inbox = new Inbox<ToManager>(clientChannel(this.space, hello.client));
      const client = { inbox, answers: new Int32Array(hello.answers) };
      this.clients.push(client);
      raise(client);
    }
    for (const client of this.clients) {
      for (let message = client.inbox.take(); message !== undefined; message = client.inbox.take()) {
        const { id } = message;
        handle(message, (value, error) => answerTo(client, id, value, error));
      }
    }
  }

  broadcast(message: FromManager): void {
    for (const client of this.clients) client.inbox.channel.postMessage(message);
  }

  close(): void {
    this.hello.channel.close();
    for (const client of this.clients) client.inbox.channel.close();
  }
}

function answerTo(client: Client, id: number, value: unknown, error: WireError | null): void {
  // Number 0: nobody wants to know.
  if (id === 0) return;
  client.inbox.channel.postMessage({ id, value, error } satisfies FromManager);
  raise(client);
}

/** Wakes the client if it waits with its thread stopped. */
function raise(client: Client): void {
  Atomics.add(client.answers, 0, 1);
  Atomics.notify(client.answers, 0);
}
