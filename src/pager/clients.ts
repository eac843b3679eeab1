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
  readonly channel: BroadcastChannel;
  readonly answers: Int32Array;
}

/** Takes a message without an event loop; the types of Node leave out that broadcast channels work here, too. */
function take<T>(channel: BroadcastChannel): T | undefined {
  const received = receiveMessageOnPort(channel as unknown as MessagePort) as { message: T } | undefined;
  return received?.message;
}

export class Clients {
  private readonly hello: BroadcastChannel;
  private readonly clients: Client[] = [];

  constructor(private readonly space: string) {
    this.hello = new BroadcastChannel(helloChannel(space));
    this.hello.unref();
  }

  /** Hands every message that has come to `handle`. */
  read(handle: (message: ToManager, answer: Answer) => void): void {
    for (let hello = take<ClientHello>(this.hello); hello !== undefined; hello = take<ClientHello>(this.hello)) {
      const channel = new BroadcastChannel(clientChannel(this.space, hello.client));
      channel.unref();
      const client = { channel, answers: new Int32Array(hello.answers) };
      this.clients.push(client);
      raise(client);
    }
    for (const client of this.clients) {
      for (let message = take<ToManager>(client.channel); message !== undefined; message = take(client.channel)) {
        const { id } = message;
        handle(message, (value, error) => answerTo(client, id, value, error));
      }
    }
  }

  broadcast(message: FromManager): void {
    for (const client of this.clients) client.channel.postMessage(message);
  }

  close(): void {
    this.hello.close();
    for (const client of this.clients) client.channel.close();
  }
}

function answerTo(client: Client, id: number, value: unknown, error: WireError | null): void {
  // Number 0: nobody wants to know.
  if (id === 0) return;
  client.channel.postMessage({ id, value, error } satisfies FromManager);
  raise(client);
}

/** Wakes the client if it waits with its thread stopped. */
function raise(client: Client): void {
  Atomics.add(client.answers, 0, 1);
  Atomics.notify(client.answers, 0);
}
