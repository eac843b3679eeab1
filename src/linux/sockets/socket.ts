/** Messages with descriptors. Sockets keep their borders (SOCK_SEQPACKET), streams do not. */
import {
  AF_UNIX,
  EAGAIN,
  ECONNRESET,
  EINTR,
  ENOBUFS,
  ENOMEM,
  MSG_CMSG_CLOEXEC,
  MSG_CTRUNC,
  MSG_DONTWAIT,
  MSG_NOSIGNAL,
  MSG_TRUNC,
  SCM_MAX_FD,
  SCM_RIGHTS,
  SOCK_CLOEXEC,
  SOCK_SEQPACKET,
  SOL_SOCKET,
} from '../base/constants.js';
import { check, SystemCallError } from '../base/errors.js';
import { closeDescriptor, errno, libc } from '../base/libc.js';
import { NativeBuffer, scratch } from '../base/native-buffer.js';

/** How often to ask again, a millisecond apart, when the kernel has no memory. */
const TRIES = 1000;
const pause = new Int32Array(new SharedArrayBuffer(4));

export interface Message {
  readonly bytes: Uint8Array;
  /** For the receiver to close. Null: no descriptor was left for them, and they are lost. */
  readonly fds: number[] | null;
}

// Offsets in the native area: struct msghdr (56 bytes), struct iovec (16), control messages, and
// the payload.
const IOVEC = 64;
const CONTROL = 128;
const CONTROL_HEADER = 16;
const CONTROL_BYTES = CONTROL_HEADER + 4 * SCM_MAX_FD + 4;
const PAYLOAD = 2048;

/**
 * Two connected descriptors, both closed on exec, of a kind that keeps the borders of messages
 * unless said otherwise. Give one to a child in its `stdio`, or keep both for two threads.
 */
export function createSocketPair(kind: number = SOCK_SEQPACKET): [number, number] {
  check(libc.socketpair(AF_UNIX, kind | SOCK_CLOEXEC, 0, scratch.address), 'socketpair', {});
  return [scratch.view.getInt32(0, true), scratch.view.getInt32(4, true)];
}

/** Where a message cannot do without them. */
export function descriptorsOf({ fds }: Message): number[] {
  if (fds !== null) return fds;
  const message =
    'no file descriptors are left for those of another process (EMFILE); raise the limit (ulimit -n)';
  throw Object.assign(new Error(message), { code: 'EMFILE' });
}

/** Memory for messages of so many bytes, which sockets of one thread may have together. */
export function messageArea(maxBytes: number): NativeBuffer {
  return new NativeBuffer(PAYLOAD + maxBytes);
}

export class MessageSocket {
  constructor(
    /** -1 once closed. */
    public fd: number,
    readonly maxBytes = 64 * 1024,
    private readonly area = messageArea(maxBytes),
  ) {}

  /**
   * Has the call that sends declared, which a thread that may be ended at any time does beforehand:
   * to be ended in the middle of that aborts the process.
   */
  prepareToSend(): void {
    // No descriptor has this number: the kernel refuses it, and nothing is sent.
    libc.sendmsg(-1, 0, 0);
  }

  /**
   * Sends one message, waiting for room if told to. Returns false when there is none now: the
   * socket is full, or the kernel found no memory for the message. A closed other end is an error
   * (EPIPE), not a signal.
   */
  send(bytes: Uint8Array, fds: readonly number[] = [], wait = false): boolean {
    if (bytes.length === 0 || bytes.length > this.maxBytes || fds.length > SCM_MAX_FD) {
      // An empty message could not be told from the end of the connection.
      throw Object.assign(
        new RangeError(
          `a message takes 1 to ${this.maxBytes} bytes and at most ${SCM_MAX_FD} descriptors, not ${bytes.length} and ${fds.length}`,
        ),
        { code: 'MESSAGE_SIZE' },
      );
    }
    const { area } = this;
    area.bytes.set(bytes, PAYLOAD);
    const control = fds.length === 0 ? 0 : CONTROL_HEADER + 4 * fds.length;
    this.setHeader(bytes.length, Math.ceil(control / 8) * 8);
    if (control > 0) {
      area.setU64(CONTROL, control);
      area.view.setInt32(CONTROL + 8, SOL_SOCKET, true);
      area.view.setInt32(CONTROL + 12, SCM_RIGHTS, true);
      for (const [i, fd] of fds.entries())
        area.view.setInt32(CONTROL + CONTROL_HEADER + 4 * i, fd, true);
    }
    for (let tries = 0; ; ) {
      if (libc.sendmsg(this.fd, area.address, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT)) >= 0)
        return true;
      const number = errno();
      if (number === EINTR) continue;
      const full = number === EAGAIN || number === ENOBUFS || number === ENOMEM;
      if (full && !wait) return false;
      if (!full || ++tries > TRIES) {
        throw new SystemCallError(
          'sendmsg',
          { fd: this.fd, bytes: bytes.length, descriptors: fds.length },
          number,
        );
      }
      Atomics.wait(pause, 0, 0, 1);
    }
  }

  /** Takes a message, waiting if told to. null: none yet. 'closed': none any more. */
  receive(wait = false): Message | 'closed' | null {
    const { area } = this;
    this.setHeader(this.maxBytes, Math.ceil(CONTROL_BYTES / 8) * 8);
    let length: number;
    for (;;) {
      length = libc.recvmsg(this.fd, area.address, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
      if (length >= 0) break;
      const number = errno();
      // What the kernel had no memory for just now is still there.
      if (number === EAGAIN || ((number === ENOBUFS || number === ENOMEM) && !wait)) return null;
      if (number === ECONNRESET) return 'closed';
      if (number !== EINTR) throw new SystemCallError('recvmsg', { fd: this.fd }, number);
    }
    if (length === 0) return 'closed';
    const fds = this.receivedFds();
    const flags = area.view.getInt32(48, true);
    const lost = (flags & MSG_CTRUNC) !== 0;
    if (lost || (flags & MSG_TRUNC) !== 0) for (const fd of fds) closeDescriptor(fd);
    if ((flags & MSG_TRUNC) !== 0) {
      const message = `a received message is longer than ${this.maxBytes} bytes`;
      throw Object.assign(new Error(message), { code: 'MESSAGE_TRUNCATED' });
    }
    return { bytes: area.bytes.slice(PAYLOAD, PAYLOAD + length), fds: lost ? null : fds };
  }

  close(): void {
    if (this.fd < 0) return;
    closeDescriptor(this.fd);
    this.fd = -1;
  }

  private setHeader(bytes: number, control: number): void {
    const { area } = this;
    area.bytes.fill(0, 0, 56);
    area.setU64(16, area.address + IOVEC);
    area.setU64(24, 1);
    area.setU64(32, control === 0 ? 0 : area.address + CONTROL);
    area.setU64(40, control);
    area.setU64(IOVEC, area.address + PAYLOAD);
    area.setU64(IOVEC + 8, bytes);
  }

  private receivedFds(): number[] {
    const { area } = this;
    const end = CONTROL + area.getU64(40);
    const fds: number[] = [];
    for (let at = CONTROL; at + CONTROL_HEADER <= end; ) {
      const length = area.getU64(at);
      if (length < CONTROL_HEADER) break;
      if (
        area.view.getInt32(at + 8, true) === SOL_SOCKET &&
        area.view.getInt32(at + 12, true) === SCM_RIGHTS
      ) {
        for (let i = at + CONTROL_HEADER; i + 4 <= Math.min(at + length, end); i += 4)
          fds.push(area.view.getInt32(i, true));
      }
      at += Math.ceil(length / 8) * 8;
    }
    return fds;
  }
}
