import { expect, it } from 'vitest';
import { threadId } from '../processes/process.js';
import { createEventfd, drainEventfd, notifyEventfd } from '../threads/eventfd.js';
import { failCalls } from './failing-calls.js';
import { closeDescriptor } from './libc.js';

it('fails the uses that it was told, once the word is set, and no others', () => {
  const word = new Int32Array(new SharedArrayBuffer(4));
  failCalls('later,write:EIO:2-3,gettid:EPERM:1', 'manager', word, 0);
  const fd = createEventfd();
  notifyEventfd(fd);
  expect(threadId()).toBeGreaterThan(0);
  Atomics.store(word, 0, 1);
  notifyEventfd(fd);
  expect(() => notifyEventfd(fd)).toThrow(/write.* failed: EIO/);
  expect(() => notifyEventfd(fd)).toThrow(/EIO/);
  notifyEventfd(fd);
  expect(drainEventfd(fd)).toBe(3);
  expect(threadId()).toBe(-1);
  expect(threadId()).toBeGreaterThan(0);
  expect(word[0] >> 1).toBe(3);
  closeDescriptor(fd);
});

it('refuses calls and errors that do not exist', () => {
  const word = new Int32Array(1);
  expect(() => failCalls('frobnicate:EIO:1', 'manager', word, 0)).toThrow(RangeError);
  expect(() => failCalls('write:EWHATEVER:1', 'manager', word, 0)).toThrow(RangeError);
  expect(() => failCalls('write:EIO:0', 'manager', word, 0)).toThrow(RangeError);
});
