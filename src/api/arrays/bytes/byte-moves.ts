/**
 * Bytes of arrays that calls of ours read and write for a program. A touch of a page that cannot be
 * had would end the process: the manager moves the bytes, or first says that the pages are there
 * and stay. Each piece is moved or is refused by name.
 */
import { bytesOf } from '../../../core/basics/elements.js';
import { READ_BYTES, ROOM_MS } from '../../../pager/protocol/requests.js';
import type { ArrayInternals } from '../../line/internals.js';

/** What is held at once: much for one request, and little of the smallest host memory. */
const WINDOW_BYTES = 2 ** 23;
/** A disk that is full is not tried more often either. */
const PAUSE_MS = 50;
const pause = new Int32Array(new SharedArrayBuffer(4));

/**
 * Copies of ours stand for loads and stores of the program: where a full disk leaves no room for
 * them, they wait for some as long as those do.
 */
function withRoom<T>(move: () => T): T {
  let end = 0;
  for (;;) {
    try {
      return move();
    } catch (error) {
      const now = performance.now();
      end ||= now + ROOM_MS;
      if ((error as { code?: unknown }).code !== 'OUT_OF_STORAGE' || now >= end) throw error;
    }
    Atomics.wait(pause, 0, 0, PAUSE_MS);
  }
}

/**
 * Calls `touch` with the bytes of an array in windows whose pages are there and stay meanwhile. It is
 * told where each begins among the bytes. Returns how many there were: fewer than asked for where
 * the program has pinned too much to hold more.
 *
 * @param writable whether it writes them
 */
function inWindows(
  array: ArrayInternals,
  from: number,
  length: number,
  writable: boolean,
  touch: (window: Uint8Array, at: number) => void,
): number {
  const { client } = array.space;
  const size = bytesOf(array.type);
  for (let at = 0; at < length; at += WINDOW_BYTES) {
    const bytes = Math.min(WINDOW_BYTES, length - at);
    const begin = from + at;
    const pages = array.pagesOf(Math.floor(begin / size), Math.ceil((begin + bytes) / size));
    const pin = client.newPin();
    try {
      withRoom(() => client.call('pin', { ...pages, pin, lock: false, writable, hold: true }));
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'HOST_BUDGET') throw error;
      return at;
    }
    try {
      const { buffer, byteOffset } = array.data;
      touch(new Uint8Array(buffer, byteOffset + begin, bytes), at);
    } finally {
      client.tell('unpin', { pin });
    }
  }
  return length;
}

/** Fills `target` with the bytes of a copy of ours, from a byte on. */
export function takeOwn(array: ArrayInternals, from: number, target: Uint8Array): void {
  // An operation that still runs may read them, too: on a GPU that this very thread lends, it would
  // not end while the thread waits.
  const done = inWindows(array, from, target.length, false, (window, at) => target.set(window, at));
  if (done < target.length) withRoom(() => takeBytes(array, from + done, target.subarray(done)));
}

/** Gives a copy of ours these bytes, from a byte on. */
export function putOwn(array: ArrayInternals, from: number, source: Uint8Array): void {
  const done = inWindows(array, from, source.length, true, (window, at) =>
    window.set(source.subarray(at, at + window.length)),
  );
  if (done < source.length) withRoom(() => putBytes(array, from + done, source.subarray(done)));
}

export function takeBytes(array: ArrayInternals, from: number, target: Uint8Array): void {
  const { rangeId: range, name, offset } = array;
  for (let at = 0; at < target.length; at += READ_BYTES) {
    const bytes = Math.min(READ_BYTES, target.length - at);
    const place = { range, name, offset: offset + from + at };
    target.set(array.space.client.call('readBytes', { ...place, bytes }).data, at);
  }
}

export function putBytes(array: ArrayInternals, from: number, source: Uint8Array): void {
  const { rangeId: range, name, offset } = array;
  for (let at = 0; at < source.length; at += READ_BYTES) {
    // A part of a buffer is sent with the whole of it.
    const data = source.slice(at, at + READ_BYTES);
    const place = { range, name, offset: offset + from + at };
    array.space.client.call('writeBytes', { ...place, bytes: data.length, data });
  }
}

export function copyOfElements(array: ArrayInternals, begin: number, end: number): ArrayBuffer {
  const size = bytesOf(array.type);
  const copy = new ArrayBuffer((end - begin) * size);
  takeBytes(array, begin * size, new Uint8Array(copy));
  return copy;
}
