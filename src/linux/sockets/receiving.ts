/**
 * Receiving what is known to come, from a socket that is never waited for otherwise. To hear of
 * each piece of it costs more than the piece: a program that is told that something has come, reads
 * it and is told again does so a dozen times for 2 MiB, and has the sender wait each time.
 */
import {
  F_GETFL,
  F_SETFL,
  MSG_WAITALL,
  O_NONBLOCK,
  SO_RCVTIMEO,
  SOL_SOCKET,
} from '../base/constants.js';
import { addressOf, libc } from '../base/libc.js';
import { NativeBuffer, scratch } from '../base/native-buffer.js';

// struct msghdr, and its two of struct iovec.
const VECTORS_AT = 64;
const VECTOR_BYTES = 16;
const AREA_BYTES = VECTORS_AT + 2 * VECTOR_BYTES;

/**
 * Waits until both arrays are full, but never longer than the socket's patience without anything
 * coming. Returns how many bytes have come: what is wrong, or that the other end has closed, the
 * next read is told.
 */
export type Receive = (first: Uint8Array, second: Uint8Array) => number;

/** Null: the socket cannot be waited for. @param patienceMs in the kernel's ticks of 1 to 10 ms */
export function receiverOf(fd: number, patienceMs: number): Receive | null {
  const flags = libc.fcntl(fd, F_GETFL, 0);
  // struct timeval.
  scratch.setU64(0, Math.floor(patienceMs / 1000));
  scratch.setU64(8, (patienceMs % 1000) * 1000);
  if (flags < 0 || libc.setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, scratch.address, 16) !== 0)
    return null;
  const area = new NativeBuffer(AREA_BYTES);
  area.setU64(16, area.address + VECTORS_AT);
  area.setU64(24, 2);
  const setVector = (at: number, bytes: Uint8Array): void => {
    area.setU64(VECTORS_AT + at * VECTOR_BYTES, addressOf(bytes));
    area.setU64(VECTORS_AT + at * VECTOR_BYTES + 8, bytes.length);
  };
  return (first, second) => {
    setVector(0, first);
    setVector(1, second);
    if (libc.fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) !== 0) return 0;
    const count = libc.recvmsg(fd, area.address, MSG_WAITALL);
    libc.fcntl(fd, F_SETFL, flags);
    return Math.max(count, 0);
  };
}
