/**
 * Writes what the manager and the sentinel have to say. It asks for no wait wherever the kernel can
 * be asked so, since a thread that waits in a call cannot be ended with the space; where it cannot,
 * this thread waits, and no other.
 */
import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { endStart } from '../protocol/starting.js';
import type { StandardErrorData } from './standard-error.js';

const { stop, start } = workerData as StandardErrorData;
const STDERR = 2;
/** Between two tries to write to a pipe or terminal that takes nothing at the moment. */
const PAUSE_MS = 20;

/**
 * A description of its own, which does not block: the one that the process was given may be shared
 * with processes that count on waiting. A file keeps its place in the description, and takes all
 * that it is given.
 */
function open(): number {
  const kind = fstatSync(STDERR);
  if (!kind.isFIFO() && !kind.isCharacterDevice()) return STDERR;
  try {
    return openSync(
      `/proc/self/fd/${STDERR}`,
      constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY,
    );
  } catch {
    // It belongs to another user.
    return STDERR;
  }
}

async function sender(): Promise<(bytes: Uint8Array) => number> {
  if (fstatSync(STDERR).isSocket()) {
    const { MessageSocket } = await import('../../linux/sockets/socket.js');
    const socket = new MessageSocket(STDERR);
    socket.prepareToSend();
    return (bytes) => (socket.send(bytes) ? bytes.length : 0);
  }
  const fd = open();
  return (bytes) => {
    try {
      return writeSync(fd, bytes);
    } catch (error) {
      if ((error as { code?: string }).code === 'EAGAIN') return 0;
      throw error;
    }
  };
}

async function write(text: string): Promise<void> {
  const send = await sending;
  let rest: Uint8Array = Buffer.from(text);
  while (rest.length > 0 && Atomics.load(stop, 0) === 0) {
    const taken = send(rest);
    if (taken === 0) Atomics.wait(stop, 0, 0, PAUSE_MS);
    rest = rest.subarray(taken);
  }
}

const sending = sender().finally(() => endStart(start));
// One after the other, and each answered, also when standard error has no reader or is closed.
let last: Promise<unknown> = sending.catch(() => undefined);
parentPort?.on('message', (text: string) => {
  last = last
    .then(() => write(text))
    .catch(() => undefined)
    .then(() => parentPort?.postMessage('written'));
});
