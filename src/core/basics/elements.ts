/** Element types, their sizes and their typed arrays. */

/** Element types by their short names; `bytes` is raw memory. */
export type ElementType =
  | 'i8'
  | 'u8'
  | 'u8c'
  | 'i16'
  | 'u16'
  | 'i32'
  | 'u32'
  | 'i64'
  | 'u64'
  | 'f32'
  | 'f64'
  | 'bytes';

/** The typed arrays. */
export type NumericArray =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | BigInt64Array
  | BigUint64Array
  | Float32Array
  | Float64Array;

type Mutator = 'fill' | 'set' | 'copyWithin' | 'reverse' | 'sort';

/** The compiler's word for what must not be written. */
declare const MAY_ONLY_BE_READ: unique symbol;

/** A typed array that may only be read. */
export type ReadonlyView<T extends NumericArray> = Extract<
  Readonly<T> & { readonly [K in Mutator]: never } & { readonly [MAY_ONLY_BE_READ]: true },
  NumericArray
>;

/** Any typed array but one that may only be read. */
export type WrittenView<T extends NumericArray> = T & { readonly [MAY_ONLY_BE_READ]?: undefined };

/** The writable typed array of a read-only one. */
export type WritableView<T extends NumericArray> = [T['fill']] extends [never]
  ? Extract<NumericArray, { readonly [Symbol.toStringTag]: T[typeof Symbol.toStringTag] }>
  : T;

/** Typed arrays by the short names of their elements. */
export const CONSTRUCTORS = {
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
} as const;

export function isElementType(type: unknown): type is ElementType {
  return typeof type === 'string' && Object.hasOwn(CONSTRUCTORS, type);
}

/** Bytes of an element. */
export function bytesOf(type: ElementType): number {
  return CONSTRUCTORS[type].BYTES_PER_ELEMENT;
}

/** A typed array over a buffer. */
export function viewOf(type: ElementType, buffer: ArrayBuffer): NumericArray {
  return new CONSTRUCTORS[type](buffer);
}

/** The element type of a typed array or its constructor, or undefined. */
export function elementTypeOf(name: string): ElementType | undefined {
  for (const [type, made] of Object.entries(CONSTRUCTORS)) {
    if (made.name === name) return type as ElementType;
  }
  return undefined;
}

export function constructorName(type: ElementType): string {
  return CONSTRUCTORS[type].name;
}
