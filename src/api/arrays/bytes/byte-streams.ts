/**
 * Bytes of arrays for code that makes system calls: in ordinary memory, since a system call into a
 * page of an array that is not there fails where faults of system calls are not served (`onemem
 * doctor` says where).
 */
import { Readable, Writable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { bytesOf } from '../../../core/basics/elements.js';
import { READ_BYTES } from '../../../pager/protocol/requests.js';
import type { ArrayInternals } from '../../line/internals.js';
import { show } from '../../values/arguments.js';
import { argumentError, typeError } from '../../values/errors.js';
import { checkRange } from '../parts/array-part.js';
import { copyOfElements } from './byte-moves.js';

/** Reads the bytes of elements in order, a piece at a time. */
async function* piecesOf(
  array: ArrayInternals,
  begin: number,
  end: number,
): AsyncGenerator<Uint8Array, null> {
  const size = bytesOf(array.type);
  for (let at = begin * size; at < end * size; at += READ_BYTES) {
    // The array may have been freed or made shorter since.
    array.assertUsable('read');
    checkRange(array, begin, end);
    yield await read(array, at, Math.min(READ_BYTES, end * size - at));
  }
  return null;
}

async function read(array: ArrayInternals, at: number, bytes: number): Promise<Uint8Array> {
  const { rangeId: range, name, space } = array;
  const place = { range, name, offset: array.offset + at };
  return (await space.client.request('readBytes', { ...place, bytes })).data;
}

export function readStreamOf(array: ArrayInternals, begin: number, end: number): Readable {
  const pieces = piecesOf(array, begin, end);
  const stream = new Readable({
    highWaterMark: READ_BYTES,
    read: () => {
      pieces.next().then(
        ({ value: data }) => {
          if (!stream.destroyed) stream.push(data === null ? null : Buffer.from(data.buffer));
        },
        (error: Error) => stream.destroy(error),
      );
    },
  });
  return stream;
}

export function webStreamOf(
  array: ArrayInternals,
  begin: number,
  end: number,
): ReadableStream<Uint8Array> {
  const pieces = piecesOf(array, begin, end);
  const web = process.getBuiltinModule('node:stream/web');
  return new web.ReadableStream({
    type: 'bytes',
    async pull(controller) {
      const { value: data } = await pieces.next();
      if (data === null) {
        controller.close();
        // A reader that brings memory of its own to read into waits for this.
        controller.byobRequest?.respond(0);
      } else controller.enqueue(data);
    },
  });
}

/** Writes the bytes of elements in order, as they come. */
class ByteWriter {
  private at: number;

  constructor(
    private readonly array: ArrayInternals,
    private readonly begin: number,
    private readonly end: number,
  ) {
    this.at = begin * bytesOf(array.type);
  }

  async put(chunk: Uint8Array): Promise<void> {
    const { array, begin, end } = this;
    const left = end * bytesOf(array.type) - this.at;
    if (chunk.length > left) {
      const what = `${chunk.length} bytes come where ${left} are left of elements ${begin} to ${end}`;
      throw argumentError('ARRAY_RANGE', `array ${array.name}: ${what}; none of them is written`);
    }
    for (let done = 0; done < chunk.length; ) {
      // The array may have been freed or made shorter since.
      array.assertUsable('write');
      checkRange(array, begin, end);
      // A part of a buffer is sent with the whole of it.
      const data = new Uint8Array(chunk.subarray(done, done + READ_BYTES));
      const { rangeId: range, name } = array;
      const place = { range, name, offset: array.offset + this.at };
      await array.space.client.request('writeBytes', { ...place, bytes: data.length, data });
      this.at += data.length;
      done += data.length;
    }
  }

  /** What a device left half done has been overwritten. */
  close(): void {
    const { array, begin, end } = this;
    if (begin === 0 && end === array.length && this.at === array.byteLength)
      array.indeterminate = false;
  }
}

export function writeStreamOf(array: ArrayInternals, begin: number, end: number): Writable {
  const writer = new ByteWriter(array, begin, end);
  return new Writable({
    highWaterMark: READ_BYTES,
    write: (chunk: Buffer, _encoding, done) => {
      writer.put(chunk).then(() => done(), done);
    },
    final: (done) => {
      writer.close();
      done();
    },
  });
}

export function bufferOf(array: ArrayInternals, begin: number, end: number): Buffer {
  return Buffer.from(copyOfElements(array, begin, end));
}

/** Bytes that are read when they are asked for: what hyparquet and its like take for a file. */
export interface AsyncBuffer {
  readonly byteLength: number;
  /** Copies bytes [begin, end); negative places count from the end, as those of `ArrayBuffer`. */
  slice(begin: number, end?: number): Promise<ArrayBuffer>;
}

export function asyncBufferOf(array: ArrayInternals): AsyncBuffer {
  return {
    byteLength: array.byteLength,
    slice: async (begin, end = array.byteLength) => {
      array.assertUsable('read');
      const from = placeIn(array.byteLength, begin);
      const bytes = new Uint8Array(Math.max(0, placeIn(array.byteLength, end) - from));
      for (let at = 0; at < bytes.length; at += READ_BYTES)
        bytes.set(await read(array, from + at, Math.min(READ_BYTES, bytes.length - at)), at);
      return bytes.buffer;
    },
  };
}

function placeIn(length: number, said: number): number {
  const at = typeof said === 'number' ? Math.trunc(said) || 0 : Number.NaN;
  if (Number.isNaN(at))
    throw typeError('ARRAY_RANGE', `slice() takes numbers of bytes, not ${show(said)}`);
  return at < 0 ? Math.max(0, length + at) : Math.min(at, length);
}
