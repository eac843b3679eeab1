/**
 * Bytes of arrays for code that makes system calls: in ordinary memory, since a system call into a page of an array that is not there fails
 * where faults of system calls are not served (`onemem doctor` says where).
 */
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { bytesOf } from '../core/elements.js';
import { READ_BYTES } from '../pager/protocol/requests.js';
import { checkRange } from './array-part.js';
import { copyOfElements } from './byte-moves.js';
import type { ArraySeen } from './seen.js';

/** Reads the bytes of elements in order, a piece at a time: null when all have been read. */
class ByteReader {
  private at: number;

  constructor(
    private readonly array: ArraySeen,
    private readonly begin: number,
    private readonly end: number,
  ) {
    this.at = begin * bytesOf(array.type);
  }

  async next(): Promise<Uint8Array | null> {
    const { array, at } = this;
    const end = this.end * bytesOf(array.type);
    if (at >= end) return null;
    // The array may have been freed or made shorter since.
    array.assertUsable('read');
    checkRange(array, this.begin, this.end);
    const bytes = Math.min(READ_BYTES, end - at);
    const { rangeId: range, name } = array;
    const read = await array.space.client.request('readBytes', { range, name, offset: array.offset + at, bytes });
    this.at += bytes;
    return read.data;
  }
}

export function readStreamOf(array: ArraySeen, begin: number, end: number): Readable {
  const reader = new ByteReader(array, begin, end);
  const stream = new Readable({
    highWaterMark: READ_BYTES,
    read: () => {
      reader.next().then(
        (data) => {
          if (!stream.destroyed) stream.push(data === null ? null : Buffer.from(data.buffer));
        },
        (error: Error) => stream.destroy(error),
      );
    },
  });
  return stream;
}

export function webStreamOf(array: ArraySeen, begin: number, end: number): ReadableStream<Uint8Array> {
  const reader = new ByteReader(array, begin, end);
  const web = process.getBuiltinModule('node:stream/web');
  return new web.ReadableStream({
    type: 'bytes',
    async pull(controller) {
      const data = await reader.next();
      if (data === null) {
        controller.close();
        // A reader that brings memory of its own to read into waits for this.
        controller.byobRequest?.respond(0);
      } else controller.enqueue(data);
    },
  });
}

export function bufferOf(array: ArraySeen, begin: number, end: number): Buffer {
  return Buffer.from(copyOfElements(array, begin, end));
}
