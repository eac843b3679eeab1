/** The manager's end of what it says to a thread of the program that has lent a GPU. */
import { BroadcastChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { threadExists } from '../../../linux/processes/process.js';
import {
  closeEventfd,
  createEventfd,
  drainEventfd,
  notifyEventfd,
} from '../../../linux/threads/eventfd.js';
import type { EngineLink } from './engine-link.js';
import type { LentMessage, LentPlace } from './lent.js';
import { jsonPacket } from './packets.js';
import { Packet } from './protocol.js';

let lives = 0;

export class LentLink implements EngineLink {
  readonly socket: { readonly fd: number };
  /** Raised when the device has been ended: the thread is not. */
  readonly pidfd = createEventfd();
  readonly pid = null;
  readonly exited = Promise.resolve();
  readonly waiting = false;
  private readonly life = ++lives;
  private readonly channel: BroadcastChannel;
  /** What the event loop has taken, which turns now and then. */
  private readonly delivered: LentMessage[] = [];
  private why: string | null = null;

  constructor(
    private readonly name: string,
    private readonly place: LentPlace,
  ) {
    this.socket = { fd: place.wakeFd };
    this.channel = new BroadcastChannel(place.channel);
    this.channel.onmessage = (message) =>
      this.delivered.push((message as unknown as { data: LentMessage }).data);
    this.channel.unref();
  }

  get endReason(): string {
    return this.why ?? `device ${this.name}, which the program has lent, was ended`;
  }

  post(packet: Uint8Array): void {
    this.channel.postMessage({ life: this.life, packet } satisfies LentMessage);
  }

  sendRest(): void {}

  receive(): { readonly bytes: Uint8Array } | null {
    for (;;) {
      const message = this.delivered.shift() ?? this.take();
      if (message === undefined) return null;
      if (message.life === this.life) return { bytes: message.packet };
    }
  }

  /** A thread that is terminated says nothing. */
  look(): void {
    if (!threadExists(this.place.thread))
      this.kill(`the thread that lent device ${this.name} has ended`);
  }

  kill(why: string | null): void {
    this.why ??= why;
    notifyEventfd(this.pidfd);
  }

  /** The descriptor that the thread raises is the thread's. */
  close(): void {
    this.post(jsonPacket(Packet.End, null));
    this.channel.close();
    closeEventfd(this.pidfd);
  }

  private take(): LentMessage | undefined {
    drainEventfd(this.place.wakeFd);
    const received = receiveMessageOnPort(this.channel as unknown as MessagePort) as
      | { message: LentMessage }
      | undefined;
    return received?.message;
  }
}
