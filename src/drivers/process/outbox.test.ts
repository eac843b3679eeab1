import { expect, it } from 'vitest';
import { EINVAL, EPIPE } from '../../linux/base/constants.js';
import { SystemCallError } from '../../linux/base/errors.js';
import { createSocketPair, MessageSocket } from '../../linux/sockets/socket.js';
import { Outbox } from './outbox.js';

const packet = (number: number): Uint8Array => Uint8Array.of(1, number & 0xff, number >> 8);

it('keeps what the socket does not take, and sends it in order', () => {
  const [ours, theirs] = createSocketPair().map((fd) => new MessageSocket(fd));
  const outbox = new Outbox(ours);
  let sent = 0;
  while (outbox.waiting < 1000) expect(outbox.post(packet(sent++))).toBe(true);
  for (let next = 0; next < sent; next++) {
    let message = theirs.receive();
    if (message === null) {
      expect(outbox.flush()).toBe(true);
      message = theirs.receive();
    }
    expect(message).toMatchObject({ bytes: packet(next) });
  }
  expect(outbox.waiting).toBe(0);
  ours.close();
  theirs.close();
});

it('says when nobody takes anything any more, and forgets what waited', () => {
  const [ours, theirs] = createSocketPair().map((fd) => new MessageSocket(fd));
  const outbox = new Outbox(ours);
  while (outbox.waiting < 3) outbox.post(packet(0));
  theirs.close();
  expect(outbox.flush()).toBe(false);
  expect(outbox.waiting).toBe(0);
  expect(outbox.post(packet(1))).toBe(false);
  ours.close();
});

it('keeps a packet when the kernel has no memory for it, and passes on what is a mistake', () => {
  const results: (boolean | number)[] = [false, true, EINVAL, EPIPE];
  const send = (): boolean => {
    const result = results.shift() as boolean | number;
    if (typeof result === 'number') throw new SystemCallError('sendmsg', {}, result);
    return result;
  };
  const outbox = new Outbox({ send });
  expect(outbox.post(packet(1))).toBe(true);
  expect(outbox.waiting).toBe(1);
  expect(outbox.flush()).toBe(true);
  expect(outbox.waiting).toBe(0);
  expect(() => outbox.post(packet(2))).toThrow(/EINVAL/);
  expect(outbox.post(packet(3))).toBe(false);
});
