/** Messages on a stream of bytes: the length of each in four bytes, then its value. */
import { deserialize, serialize } from 'node:v8';
import type { Codec } from './attaching.js';

const HEADER_BYTES = 4;
/** A longer message is no message of ours. */
export const MOST_FRAME_BYTES = 64 * 2 ** 20;

export function encodeFrame(message: unknown, codec: Codec): Uint8Array {
  const value = codec === 'v8' ? serialize(message) : Buffer.from(JSON.stringify(message));
  const frame = Buffer.allocUnsafe(HEADER_BYTES + value.length);
  frame.writeUInt32LE(value.length, 0);
  frame.set(value, HEADER_BYTES);
  return frame;
}

/** Puts bytes together to messages, in whatever pieces they come. */
export class FrameReader {
  private bytes = Buffer.alloc(0);
  private begin = 0;
  private end = 0;

  constructor(private readonly codec: Codec) {}

  push(piece: Uint8Array): void {
    if (this.bytes.length - this.end < piece.length) this.makeRoom(piece.length);
    this.bytes.set(piece, this.end);
    this.end += piece.length;
  }

  /** The next message, or undefined. Throws for bytes that are no message. */
  next(): unknown {
    const there = this.end - this.begin;
    if (there < HEADER_BYTES) return undefined;
    const length = this.bytes.readUInt32LE(this.begin);
    if (length > MOST_FRAME_BYTES)
      throw new RangeError(`a message of ${length} bytes is longer than ${MOST_FRAME_BYTES}`);
    if (there < HEADER_BYTES + length) return undefined;
    const from = this.begin + HEADER_BYTES;
    this.begin = from + length;
    const value = this.bytes.subarray(from, this.begin);
    return this.codec === 'v8' ? deserialize(value) : JSON.parse(value.toString());
  }

  private makeRoom(more: number): void {
    const there = this.end - this.begin;
    // Values that were read may lie in the old bytes.
    const larger = Buffer.alloc(Math.max(64 * 1024, 2 * (there + more)));
    larger.set(this.bytes.subarray(this.begin, this.end));
    this.bytes = larger;
    this.begin = 0;
    this.end = there;
  }
}
