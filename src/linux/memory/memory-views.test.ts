import { describe, expect, it } from 'vitest';
import { NativeBuffer } from '../base/native-buffer.js';
import { offsetInView, viewAt } from './memory-views.js';

describe('views that are kept', () => {
  it('show the memory at an address', () => {
    const native = new NativeBuffer(64);
    native.bytes.set([1, 2, 3, 4], 8);
    const at = offsetInView(native.address + 8);
    expect([...viewAt(native.address + 8).bytes.subarray(at, at + 4)]).toEqual([1, 2, 3, 4]);
    expect(viewAt(native.address + 8).words[at / 4]).toBe(0x04030201);
  });

  it('are made once for addresses beside each other', () => {
    const { address } = new NativeBuffer(64);
    const start = address - offsetInView(address);
    // `toBe` would compare their contents for its message when it fails, and not all of the memory
    // is there.
    expect(viewAt(start + 4096) === viewAt(start + 8192)).toBe(true);
    expect(viewAt(start + 2 ** 21) === viewAt(start)).toBe(false);
  });

  it('are right after more of them than are kept', () => {
    const native = new NativeBuffer(64);
    native.bytes[0] = 7;
    for (let view = 0; view < 1100; view++) viewAt(view * 2 ** 21 + 2 ** 40);
    expect(viewAt(native.address).bytes[offsetInView(native.address)]).toBe(7);
  });
});
