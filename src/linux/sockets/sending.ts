/**
 * Sending what is short from a socket that is never waited for otherwise, by one system call. A
 * stream of Node.js has a request, a tick and a callback for each command, which take longer than
 * the call.
 */
import { addressOf, libc } from '../base/libc.js';

/** Sends the first bytes, as far as they go at once; returns how many. A failure is told later. */
export type Send = (bytes: Uint8Array, length: number) => number;

export function senderOf(fd: number): Send {
  return (bytes, length) => Math.max(libc.write(fd, addressOf(bytes), length), 0);
}
