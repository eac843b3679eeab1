import { expect, it } from 'vitest';
import { SOCK_STREAM } from '../../linux/base/constants.js';
import { createSocketPair, MessageSocket } from '../../linux/sockets/socket.js';
import { RING_BYTES, ring } from './bell.js';

it('rings a unit that is up', () => {
  const [theirs, ours] = createSocketPair(SOCK_STREAM).map(
    (fd) => new MessageSocket(fd, RING_BYTES),
  );
  expect(ring(ours)).toBe(true);
  expect(theirs.receive()).toMatchObject({ bytes: Uint8Array.of(1) });
  for (const each of [theirs, ours]) each.close();
});

it('takes a unit that has closed its end for one whose end is about to be heard of', () => {
  const [theirs, ours] = createSocketPair(SOCK_STREAM).map(
    (fd) => new MessageSocket(fd, RING_BYTES),
  );
  theirs.close();
  expect(ring(ours)).toBe(true);
  ours.close();
});
