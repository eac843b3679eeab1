/** Typed arrays by the short names of their elements. */

import type { ElementType, NumericArray } from '../../index.js';

interface AnyArrayType {
  new (length: number): NumericArray;
  readonly BYTES_PER_ELEMENT: number;
  readonly name: string;
}

export const ARRAY_TYPES: Readonly<Record<ElementType, AnyArrayType>> = {
  i8: Int8Array,
  u8: Uint8Array,
  u8c: Uint8ClampedArray,
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  f32: Float32Array,
  f64: Float64Array,
  bytes: Uint8Array,
};
