/** A look at a space of another process: it maps nothing, and changes nothing there. */
import { EAGAIN, EINTR, POLLIN, SOCK_STREAM } from '../../linux/base/constants.js';
import { SystemCallError } from '../../linux/base/errors.js';
import { addressOf, closeDescriptor, errno, libc } from '../../linux/base/libc.js';
import { NativeBuffer } from '../../linux/base/native-buffer.js';
import { connectLocally, peerOf } from '../../linux/sockets/local-socket.js';
import { Poller } from '../../linux/sockets/poll.js';
import { createSocketPair, MessageSocket } from '../../linux/sockets/socket.js';
import { ownerEnded } from '../../messages/owner-ended.js';
import {
  ATTACH_VERSION,
  type AttachHello,
  type AttachRefusal,
  socketName,
} from '../../pager/protocol/attaching.js';
import { encodeFrame, FrameReader } from '../../pager/protocol/frames.js';
import type { FromManager } from '../../pager/protocol/messages.js';
import type { Requests } from '../../pager/protocol/requests.js';
import { fromWire, OnememError } from '../values/errors.js';

const READ_BYTES = 64 * 1024;

export class SpaceLook {
  private readonly reader = new FrameReader('v8');
  private readonly area = new NativeBuffer(READ_BYTES);
  private readonly poller = new Poller(1);
  private asked = 0;

  private constructor(
    /** The process that opened the space. */
    readonly owner: number,
    private readonly stream: number,
    private readonly limitMs: number,
  ) {}

  /**
   * Null: nobody listens there, or another user does. Throws OWNER_BUSY if the owner does not answer
   * within the limit.
   * @param token of a handle; null: all of the space is shown
   */
  static at(socket: string, token: string | null, limitMs: number): SpaceLook | null {
    const connected = connectLocally(socketName(socket), false);
    if ('errno' in connected) {
      if (connected.errno !== EAGAIN) return null;
      throw new OnememError('OWNER_BUSY', 'too many processes connect to the space just now');
    }
    const meeting = new MessageSocket(connected.fd);
    try {
      const { pid, uid } = peerOf(meeting.fd);
      if (uid !== process.geteuid?.()) return null;
      const stream = meet(meeting, pid, token, limitMs);
      return stream === null ? null : new SpaceLook(pid, stream, limitMs);
    } finally {
      meeting.close();
    }
  }

  ask<N extends keyof Requests>(name: N, value: Requests[N]['in']): Requests[N]['out'] {
    const frame = encodeFrame({ id: ++this.asked, name, value }, 'v8');
    if (libc.write(this.stream, addressOf(frame), frame.length) !== frame.length)
      throw lost(this.owner);
    for (;;) {
      const message = this.next();
      if (!('id' in message) || message.id !== this.asked) continue;
      if (message.error !== null) throw fromWire(message.error);
      return message.value as Requests[N]['out'];
    }
  }

  [Symbol.dispose](): void {
    closeDescriptor(this.stream);
  }

  private next(): FromManager {
    for (;;) {
      const message = this.reader.next() as FromManager | undefined;
      if (message !== undefined) return message;
      waitFor(this.poller, this.stream, this.owner, this.limitMs);
      const count = libc.read(this.stream, this.area.address, READ_BYTES);
      if (count > 0) this.reader.push(this.area.bytes.subarray(0, count));
      else if (count === 0 || errno() !== EINTR) throw lost(this.owner);
    }
  }
}

/** The stream of requests; null: the space is being closed. */
function meet(
  meeting: MessageSocket,
  owner: number,
  token: string | null,
  limitMs: number,
): number | null {
  const [here, there] = createSocketPair(SOCK_STREAM);
  try {
    const hello: AttachHello = { onemem: ATTACH_VERSION, token, codec: 'v8', look: true };
    meeting.send(Buffer.from(JSON.stringify(hello)), [there]);
    waitFor(new Poller(1), meeting.fd, owner, limitMs);
    const answer = meeting.receive();
    if (answer === null || answer === 'closed') {
      closeDescriptor(here);
      return null;
    }
    const { refused } = JSON.parse(Buffer.from(answer.bytes).toString()) as Partial<AttachRefusal>;
    if (refused !== undefined) throw fromWire(refused);
    return here;
  } catch (error) {
    closeDescriptor(here);
    // It has ended meanwhile.
    if (error instanceof SystemCallError && error.code === 'EPIPE') return null;
    throw error;
  } finally {
    closeDescriptor(there);
  }
}

function waitFor(poller: Poller, fd: number, owner: number, limitMs: number): void {
  poller.set(0, fd, POLLIN);
  if (poller.wait(limitMs) > 0) return;
  throw new OnememError(
    'OWNER_BUSY',
    `process ${owner}, which opened the space, did not answer within ${limitMs / 1000} s; it may be stopped`,
  );
}

function lost(owner: number): OnememError {
  return new OnememError('OWNER_LOST', ownerEnded(owner));
}
