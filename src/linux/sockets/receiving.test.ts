import { closeSync, writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { F_GETFL, F_SETFL, O_NONBLOCK } from '../base/constants.js';
import { libc } from '../base/libc.js';
import { type Receive, receiverOf } from './receiving.js';
import { createSocketPair } from './socket.js';

const STREAM = 1;
const PATIENCE_MS = 20;
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** A socket that does not block, as those of Node.js are, and its other end. */
function pair(patienceMs: number): { fd: number; other: number; receive: Receive } {
  const [fd, other] = createSocketPair(STREAM);
  cleanups.push(
    () => closeSync(fd),
    () => closeSync(other),
  );
  libc.fcntl(fd, F_SETFL, libc.fcntl(fd, F_GETFL, 0) | O_NONBLOCK);
  return { fd, other, receive: receiverOf(fd, patienceMs) as Receive };
}

describe('receiverOf', () => {
  it('waits for what another thread sends piece by piece, into both arrays', async () => {
    // A thread that sends may wait long for a processor.
    const { other, receive } = pair(30_000);
    const bytes = Uint8Array.from({ length: 300_000 }, (_, at) => at * 7);
    const code = `const { workerData: { other, bytes } } = require('node:worker_threads');
      const { writeSync } = require('node:fs');
      for (let at = 0; at < bytes.length; at += 50_000) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
        writeSync(other, bytes, at, 50_000);
      }`;
    const sender = new Worker(code, { eval: true, workerData: { other, bytes } });
    const ended = new Promise((resolve) => sender.once('exit', resolve));
    const [first, second] = [new Uint8Array(299_998), new Uint8Array(2)];
    let count = 0;
    while (count === 0) count = receive(first, second);
    expect(count).toBe(bytes.length);
    expect(Buffer.compare(first, bytes.subarray(0, 299_998))).toBe(0);
    expect([...second]).toEqual([...bytes.subarray(299_998)]);
    await ended;
  });

  it('waits no longer than it may, says what has come, and leaves the socket as it was', () => {
    const { fd, other, receive } = pair(PATIENCE_MS);
    const [first, second] = [new Uint8Array(100), new Uint8Array(2)];
    const began = performance.now();
    expect(receive(first, second)).toBe(0);
    expect(performance.now() - began).toBeGreaterThanOrEqual(PATIENCE_MS / 2);
    writeSync(other, Uint8Array.of(1, 2, 3));
    expect(receive(first, second)).toBe(3);
    expect([...first.subarray(0, 4)]).toEqual([1, 2, 3, 0]);
    expect(libc.fcntl(fd, F_GETFL, 0) & O_NONBLOCK).toBe(O_NONBLOCK);
  });

  it('says nothing of an end that has closed, which the next read is told', () => {
    const { other, receive } = pair(PATIENCE_MS);
    writeSync(other, Uint8Array.of(9));
    closeSync(other);
    // Its number may be another's by then.
    cleanups.pop();
    const [first, second] = [new Uint8Array(100), new Uint8Array(2)];
    expect(receive(first, second)).toBe(1);
    expect(receive(first, second)).toBe(0);
  });

  it('has none for what is no socket', () => {
    expect(receiverOf(-1, 1)).toBeNull();
  });
});
