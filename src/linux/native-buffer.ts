/**
 * A little memory outside the JavaScript heap that never moves, through which structures go to the kernel. It is mapped and
 * viewed once; afterwards filling in a structure allocates nothing.
 */
import { MAP_ANONYMOUS, MAP_PRIVATE, PROT_READ, PROT_WRITE } from './constants.js';
import { check } from './errors.js';
import { libc, rawView } from './libc.js';

const TWO_TO_32 = 0x1_0000_0000;

// Freed by the garbage collector only: a view used after an explicit free would end the process.
const unmapWhenUnreachable = new FinalizationRegistry<{ address: number; length: number }>(({ address, length }) => {
  libc.munmap(address, length);
});

export class NativeBuffer {
  readonly address: number;
  readonly view: DataView;
  readonly bytes: Uint8Array;

  constructor(readonly length: number) {
    this.address = check(libc.mmap(0, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 'mmap', {
      length,
    });
    const buffer = rawView(this.address, length);
    this.view = new DataView(buffer);
    this.bytes = new Uint8Array(buffer);
    unmapWhenUnreachable.register(buffer, { address: this.address, length });
  }

  /** Writes a whole number below 2^53 as 64 bits, in two halves, since a big integer would be allocated. */
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

/** For calls that are over when they return. Each thread has its own, as each has its own copy of this module. */
export const scratch = new NativeBuffer(4096);
