import { closeSync, readSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { F_GETFL, F_SETFL, O_NONBLOCK } from '../base/constants.js';
import { libc } from '../base/libc.js';
import { senderOf } from './sending.js';
import { createSocketPair } from './socket.js';

const STREAM = 1;
const open = new Set<number>();
afterEach(() => {
  for (const fd of open) closeSync(fd);
  open.clear();
});

function pair(): { fd: number; other: number } {
  const [fd, other] = createSocketPair(STREAM);
  open.add(fd).add(other);
  libc.fcntl(fd, F_SETFL, libc.fcntl(fd, F_GETFL, 0) | O_NONBLOCK);
  return { fd, other };
}

describe('senderOf', () => {
  it('sends the first bytes of an array', () => {
    const { fd, other } = pair();
    expect(senderOf(fd)(Uint8Array.of(5, 6, 7), 2)).toBe(2);
    const came = new Uint8Array(8);
    expect(readSync(other, came)).toBe(2);
    expect([...came.subarray(0, 3)]).toEqual([5, 6, 0]);
  });

  it('sends no more than the socket takes, and nothing to an end that has closed', () => {
    const { fd, other } = pair();
    const send = senderOf(fd);
    const bytes = new Uint8Array(2 ** 22);
    const sent = send(bytes, bytes.length);
    expect(sent).toBeGreaterThan(0);
    expect(sent).toBeLessThan(bytes.length);
    expect(send(bytes, bytes.length)).toBe(0);
    closeSync(other);
    open.delete(other);
    expect(send(bytes, 1)).toBe(0);
  });
});
