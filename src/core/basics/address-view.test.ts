import { describe, expect, it } from 'vitest';
import { AddressView, addressName, launchedMemory, type WordType } from './address-view.js';

const FIRST = 0x6000_0000_0000;
const SECOND = 0x6000_0020_0000;

function twoArrays(): { view: AddressView; first: BigUint64Array; second: Float64Array } {
  const first = new BigUint64Array(4);
  const second = new Float64Array(2);
  const view = new AddressView([
    { name: 'first', address: FIRST, data: first },
    { name: 'second', address: SECOND, data: second },
  ]);
  return { view, first, second };
}

describe('a view by address', () => {
  it('finds words in each of its arrays', () => {
    const { view, first, second } = twoArrays();
    view.store('u64', BigInt(FIRST + 8), BigInt(SECOND + 8));
    view.store('f64', view.load('u64', BigInt(FIRST + 8)), 1.5);
    expect([...first]).toEqual([0n, BigInt(SECOND + 8), 0n, 0n]);
    expect([...second]).toEqual([0, 1.5]);
    expect(view.load('f64', BigInt(SECOND + 8))).toBe(1.5);
    expect(view.load('u64', BigInt(FIRST))).toBe(0n);
  });

  it('stores and loads words of every type as typed arrays have them', () => {
    const samples: Record<
      WordType,
      [
        new (n: number) => { [index: number]: number | bigint; buffer: ArrayBuffer },
        (number | bigint)[],
      ]
    > = {
      i8: [Int8Array, [-128, 127]],
      u8: [Uint8Array, [0, 255]],
      i16: [Int16Array, [-(2 ** 15), 2 ** 15 - 1]],
      u16: [Uint16Array, [1, 2 ** 16 - 1]],
      i32: [Int32Array, [-(2 ** 31), 2 ** 31 - 1]],
      u32: [Uint32Array, [1, 2 ** 32 - 1]],
      i64: [BigInt64Array, [-(2n ** 63n), 2n ** 63n - 1n]],
      u64: [BigUint64Array, [1n, 2n ** 64n - 1n]],
      f32: [Float32Array, [-0, Number.POSITIVE_INFINITY, Math.fround(0.1)]],
      f64: [Float64Array, [-0, Number.NaN, 0.1]],
    };
    for (const [type, [TypedArray, values]] of Object.entries(samples) as [
      WordType,
      (typeof samples)['i8'],
    ][]) {
      const array = new TypedArray(2);
      const bytes = new Uint8Array(array.buffer);
      const view = new AddressView([{ name: type, address: FIRST, data: bytes }]);
      for (const value of values) {
        view.store(type, BigInt(FIRST + bytes.length / 2), value as never);
        expect(array[1]).toBe(value);
        expect(array[0] === 0 || array[0] === 0n).toBe(true);
        expect(view.load(type, BigInt(FIRST + bytes.length / 2))).toBe(value);
      }
    }
  });

  it('takes words that are not aligned, up to the last byte', () => {
    const { view, first } = twoArrays();
    view.store('u64', BigInt(FIRST + 3), 0x0102030405060708n);
    expect(new Uint8Array(first.buffer)[3]).toBe(8);
    expect(view.load('u64', BigInt(FIRST + 3))).toBe(0x0102030405060708n);
    expect(view.load('u64', BigInt(FIRST + 24))).toBe(0n);
    expect(view.load('u8', BigInt(FIRST + 31))).toBe(0);
  });

  it('looks at the part of a buffer that an array covers', () => {
    const data = new Uint32Array(8).subarray(2, 4);
    const view = new AddressView([{ name: 'part', address: FIRST, data }]);
    view.store('u32', BigInt(FIRST), 7);
    expect(data[0]).toBe(7);
    expect(() => view.load('u32', BigInt(FIRST + 8))).toThrow(RangeError);
  });

  it('names the address and the arrays where a word lies in none of them', () => {
    const { view } = twoArrays();
    view.load('u64', BigInt(FIRST));
    for (const [address, bytes] of [
      [0n, 8],
      [BigInt(FIRST - 8), 8],
      [BigInt(FIRST + 25), 8],
      [BigInt(FIRST + 32), 8],
      [BigInt(SECOND + 16), 8],
      [2n ** 64n - 8n, 8],
      [-8n, 8],
    ] as const) {
      const outside = `a word of ${bytes} bytes at 0x${address.toString(16)} lies in none of the arrays first (0x600000000000 to 0x600000000020), second (0x600000200000 to 0x600000200010)`;
      expect(() => view.load('u64', address)).toThrow(outside);
      expect(() => view.store('u64', address, 1n)).toThrow(RangeError);
    }
    expect(() => view.load('u64', 0n)).toThrow(expect.objectContaining({ code: 'ADDRESS' }));
  });

  it('refuses addresses that are no bigints and types that are none', () => {
    const { view } = twoArrays();
    expect(() => view.load('u64', undefined as never)).toThrow(
      /an address is a bigint, not undefined/,
    );
    expect(() => view.load('u64', 12 as never)).toThrow(TypeError);
    expect(() => view.load('bytes' as never, BigInt(FIRST))).toThrow(
      /'bytes' is no type of a word; there are i8, u8/,
    );
  });
});

describe('the memory of a launch', () => {
  it('has the arrays at the addresses that come beside them', () => {
    const x = new Int32Array([5, 6]);
    const memory = launchedMemory({ x, [addressName('x', 'out')]: FIRST, by: 3, far: 7n });
    expect(memory.load('i32', BigInt(FIRST + 4))).toBe(6);
    expect(() => memory.load('i32', 3n)).toThrow('x (0x600000000000');
  });

  it('refuses stores into arrays that are declared `in`', () => {
    const x = new Int32Array([5]);
    const y = new Int32Array([6]);
    const memory = launchedMemory({
      x,
      y,
      [addressName('x', 'in')]: FIRST,
      [addressName('y', 'inout')]: SECOND,
    });
    expect(() => memory.store('i32', BigInt(FIRST), 7)).toThrow(
      "cannot store at 0x600000000000: x is declared 'in', and may only be read; declare it 'inout'",
    );
    expect(memory.load('i32', BigInt(FIRST))).toBe(5);
    memory.store('i32', BigInt(SECOND), 7);
    expect(y[0]).toBe(7);
  });
});
