/** Arrays that hostile calls must leave alone. */
import assert from 'node:assert/strict';
import type { AddressSpace, ManagedArray, NumericArray } from '../../src/index.js';

interface Victim {
  readonly array: ManagedArray;
  /** Kept, because it can be read when the owner of the space has ended. */
  readonly bytes: Uint8Array;
  readonly expected: Uint8Array;
}

function bytesOf(view: NumericArray): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

/** Arrays that no call may change, with what must be in them. */
export class Victims {
  readonly all: Victim[] = [];

  constructor(space: AddressSpace, seed: number) {
    for (const array of [
      space.array(Float32Array, 3000, { name: 'numbers to keep' }),
      space.bytes(5000, { name: 'bytes to keep' }),
      space.array(BigInt64Array, 600, { name: 'integers to keep' }),
    ] as ManagedArray[]) {
      const bytes = bytesOf(array.data);
      for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 31 + seed + this.all.length) % 251;
      this.all.push({ array, bytes, expected: bytes.slice() });
    }
  }

  get arrays(): ManagedArray[] {
    return this.all.map(({ array }) => array);
  }

  check(): void {
    for (const { array, bytes, expected } of this.all) {
      if (Buffer.compare(bytes, expected) === 0) continue;
      const at = expected.findIndex((byte, i) => bytes[i] !== byte);
      assert.fail(
        `${array.name} of space ${array.space.devices.length} has ${bytes[at]} at byte ${at}, not ${expected[at]}`,
      );
    }
  }
}
