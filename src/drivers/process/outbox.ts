/**
 * Packets on their way to the process of a device. The manager never waits for that process, which
 * may be stopped: what the socket does not take now is kept, in order, and sent when it does. A
 * packet counts as sent when the kernel has it.
 */
import { ECONNRESET, EPIPE } from '../../linux/base/constants.js';
import { SystemCallError } from '../../linux/base/errors.js';
import type { MessageSocket } from '../../linux/sockets/socket.js';

interface Packet {
  readonly bytes: Uint8Array;
  readonly fds: readonly number[];
}

export class Outbox {
  private readonly packets: Packet[] = [];
  private head = 0;
  /** The other end is closed. */
  private gone = false;

  constructor(private readonly socket: Pick<MessageSocket, 'send'>) {}

  /** Packets that the socket has not taken. */
  get waiting(): number {
    return this.packets.length - this.head;
  }

  /** False: the other end is gone, and takes nothing any more. */
  post(bytes: Uint8Array, fds: readonly number[] = []): boolean {
    if (this.gone) return false;
    if (this.waiting > 0 || !this.send({ bytes, fds })) this.packets.push({ bytes, fds });
    return !this.gone;
  }

  /** Sends what waits, as far as the socket takes it. False: the other end is gone. */
  flush(): boolean {
    while (this.waiting > 0 && this.send(this.packets[this.head]) && !this.gone) this.head++;
    if (this.waiting === 0 || this.head >= 1024) {
      this.packets.splice(0, this.head);
      this.head = 0;
    }
    return !this.gone;
  }

  /** True: it needs no sending any more. */
  private send({ bytes, fds }: Packet): boolean {
    try {
      return this.socket.send(bytes, fds);
    } catch (error) {
      if (
        !(error instanceof SystemCallError && (error.errno === EPIPE || error.errno === ECONNRESET))
      )
        throw error;
      this.gone = true;
      this.packets.length = 0;
      this.head = 0;
      return true;
    }
  }
}
