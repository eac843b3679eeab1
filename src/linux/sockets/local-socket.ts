/**
 * Sockets in the kernel's abstract namespace: their names are in no file system, and go with the
 * process that listens. Messages keep their borders (SOCK_SEQPACKET).
 */
import { readFileSync } from 'node:fs';
import {
  AF_UNIX,
  EAGAIN,
  EINTR,
  F_GETFL,
  F_SETFL,
  O_NONBLOCK,
  SO_PEERCRED,
  SOCK_CLOEXEC,
  SOCK_SEQPACKET,
  SOL_SOCKET,
} from '../base/constants.js';
import { check, SystemCallError } from '../base/errors.js';
import { closeDescriptor, errno, libc } from '../base/libc.js';
import { NativeBuffer, scratch } from '../base/native-buffer.js';

/** Connections that wait to be accepted. */
const BACKLOG = 64;
/** What `sockaddr_un` has for a name. */
const MOST_NAME = 107;

/** Of /proc/net/unix: the socket listens. */
const SO_ACCEPTCON = 0x10000;

/** The other end of a connection, as the kernel knows it. */
export interface Peer {
  readonly pid: number;
  readonly uid: number;
}

/** Listens by a name that no other socket has; accepting never waits. */
export function listenLocally(name: string): number {
  const fd = openSocket(SOCK_CLOEXEC | O_NONBLOCK);
  withAddress(fd, name, (address, length) => {
    check(libc.bind(fd, address, length), 'bind', { fd, name });
    check(libc.listen(fd, BACKLOG), 'listen', { fd, backlog: BACKLOG });
  });
  return fd;
}

/** The next connection, or null: there is none, or it has gone again. */
export function acceptLocally(fd: number): number | null {
  const accepted = libc.accept4(fd, 0, 0, SOCK_CLOEXEC);
  return accepted < 0 ? null : accepted;
}

/**
 * Connects to a name; the error number if nobody listens there. Unless it may wait, EAGAIN says that
 * too many connections wait there already.
 */
export function connectLocally(
  name: string,
  mayWait = true,
): { readonly fd: number } | { readonly errno: number } {
  const fd = openSocket(SOCK_CLOEXEC | (mayWait ? 0 : O_NONBLOCK));
  let failure = 0;
  withAddress(fd, name, (address, length) => {
    do failure = libc.connect(fd, address, length) < 0 ? errno() : 0;
    while (failure === EINTR || (mayWait && failure === EAGAIN));
  });
  if (failure === 0) return { fd };
  closeDescriptor(fd);
  return { errno: failure };
}

/** Names by which sockets listen that begin so, of all users in this network namespace. */
export function listeningNames(beginning: string): string[] {
  const names = new Set<string>();
  for (const line of readFileSync('/proc/net/unix', 'latin1').split('\n')) {
    const [, flags, name] = /^\S+ \S+ \S+ (\S+) \S+ \S+\s+\S+ @(\S+)$/.exec(line) ?? [];
    if (name?.startsWith(beginning) && (Number.parseInt(flags, 16) & SO_ACCEPTCON) !== 0)
      names.add(name);
  }
  return [...names];
}

/** From now on no call waits for room or bytes. */
export function setNonBlocking(fd: number): void {
  libc.fcntl(fd, F_SETFL, libc.fcntl(fd, F_GETFL, 0) | O_NONBLOCK);
}

export function peerOf(fd: number): Peer {
  scratch.view.setUint32(16, 12, true);
  const { address } = scratch;
  check(libc.getsockopt(fd, SOL_SOCKET, SO_PEERCRED, address, address + 16), 'getsockopt', {
    fd,
    option: 'SO_PEERCRED',
  });
  return { pid: scratch.view.getInt32(0, true), uid: scratch.view.getUint32(4, true) };
}

function openSocket(flags: number): number {
  return check(libc.socket(AF_UNIX, SOCK_SEQPACKET | flags, 0), 'socket', { domain: 'AF_UNIX' });
}

function withAddress(
  fd: number,
  name: string,
  use: (address: number, length: number) => void,
): void {
  const bytes = Buffer.from(name, 'latin1');
  const area = new NativeBuffer(2 + 1 + MOST_NAME);
  try {
    if (bytes.length > MOST_NAME) throw new SystemCallError('bind', { name }, 36);
    area.bytes.fill(0);
    area.view.setUint16(0, AF_UNIX, true);
    // A zero byte in front of the name: it is no path.
    area.bytes.set(bytes, 3);
    use(area.address, 3 + bytes.length);
  } catch (error) {
    closeDescriptor(fd);
    throw error;
  }
}
