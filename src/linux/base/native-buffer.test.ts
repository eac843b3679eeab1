import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { copyMemory } from '../memory/memory.js';
import { NativeBuffer } from './native-buffer.js';

describe('NativeBuffer', () => {
  it('keeps whole numbers up to 2^53 as the kernel reads them', () => {
    const buffer = new NativeBuffer(64);
    fc.assert(
      fc.property(fc.maxSafeNat(), (value) => {
        buffer.setU64(8, value);
        expect(buffer.view.getBigUint64(8, true)).toBe(BigInt(value));
        expect(buffer.getU64(8)).toBe(value);
        expect(buffer.getI64(8)).toBe(value);
      }),
    );
    expect(buffer.bytes.subarray(0, 8)).toEqual(new Uint8Array(8));
    expect(buffer.bytes.subarray(16, 24)).toEqual(new Uint8Array(8));
  });

  it('reads what the kernel writes for a negative number', () => {
    const buffer = new NativeBuffer(8);
    buffer.view.setBigInt64(0, -17n, true);
    expect(buffer.getI64(0)).toBe(-17);
  });

  it('is memory at its address', () => {
    const from = new NativeBuffer(16);
    const to = new NativeBuffer(16);
    from.bytes.set([1, 2, 3]);
    copyMemory(to.address + 4, from.address, 3);
    expect([...to.bytes.subarray(3, 8)]).toEqual([0, 1, 2, 3, 0]);
  });
});
