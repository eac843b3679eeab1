/**
 * A little memory outside the JavaScript heap that never moves, through which structures go to the
 * kernel. It is made once; afterwards filling in a structure allocates nothing. Code that uses the
 * address keeps the buffer, too.
 */
import { addressOf } from './libc.js';

const TWO_TO_32 = 0x1_0000_0000;

export class NativeBuffer {
  readonly address: number;
  readonly view: DataView;
  readonly bytes: Uint8Array;

  constructor(readonly length: number) {
    // The engine's own memory, which it frees with the buffer, and with its thread: memory that we
    // mapped would stay behind when a thread ends, since nothing tells us then that a buffer has
    // gone.
    const buffer = new ArrayBuffer(length);
    this.view = new DataView(buffer);
    this.bytes = new Uint8Array(buffer);
    this.address = addressOf(this.bytes);
  }

  /** Writes a whole number below 2^53 as two halves: a big integer would be allocated. */
  setU64(offset: number, value: number): void {
    this.view.setUint32(offset, value >>> 0, true);
    this.view.setUint32(offset + 4, Math.floor(value / TWO_TO_32), true);
  }

  getU64(offset: number): number {
    return this.view.getUint32(offset, true) + this.view.getUint32(offset + 4, true) * TWO_TO_32;
  }

  getI64(offset: number): number {
    return this.view.getUint32(offset, true) + this.view.getInt32(offset + 4, true) * TWO_TO_32;
  }
}

/** For calls that are over when they return; each thread has its own. */
export const scratch = new NativeBuffer(4096);
