/** Loads and stores by address, over the arrays of a launch or a program, for lists and trees. */
import type { ElementType, NumericArray } from './elements.js';

/** What one load or store moves. */
export type WordType = Exclude<ElementType, 'u8c' | 'bytes'>;
export type WordOf<T extends WordType> = T extends 'i64' | 'u64' ? bigint : number;

/** An array, and where its first element lies. */
export interface AddressedArray {
  readonly name: string;
  readonly address: number;
  readonly data: NumericArray;
  readonly readOnly?: boolean;
}

interface Part {
  readonly name: string;
  /** A bigint, since the difference of two costs less than making a number of each. */
  readonly start: bigint;
  readonly bytes: number;
  readonly view: DataView;
  readonly readOnly: boolean;
}

/**
 * A DataView whose positions are addresses, over several arrays. Words need not be aligned; the
 * lowest byte comes first.
 * @example
 * const list = space.array(BigUint64Array, 2);
 * const memory = addressView(list);
 * memory.store('u64', list.address, list.addressOf(1)); // a link
 * console.log(memory.load('u64', list.address) === list.addressOf(1)); // true
 */
export class AddressView {
  private readonly parts: Part[];
  /** Neighbours in a list are often in the same array. */
  private recent: Part | null = null;
  /** Where in `recent` the word is that was looked for. */
  private position = 0;

  /** @internal */
  constructor(arrays: readonly AddressedArray[]) {
    this.parts = arrays.map(({ name, address, data, readOnly = false }) => ({
      name,
      start: BigInt(address),
      bytes: data.byteLength,
      readOnly,
      view: new DataView(data.buffer, data.byteOffset, data.byteLength),
    }));
  }

  /**
   * The word at an address. Throws a RangeError for an address in none of the arrays.
   * @example
   * const x = space.array(Float64Array, 2);
   * x.data[1] = 1.5;
   * console.log(addressView(x).load('f64', x.addressOf(1))); // 1.5
   */
  load<T extends WordType>(type: T, address: bigint): WordOf<T> {
    return this.read(type, address) as WordOf<T>;
  }

  /**
   * Changes the word at an address. Throws a RangeError for an address in none of the arrays, and a
   * TypeError for an array that a kernel declares `in`.
   * @example
   * const x = space.array(Float64Array, 2);
   * addressView(x).store('f64', x.addressOf(1), 2.5);
   * console.log(x.data[1]); // 2.5
   */
  store<T extends WordType>(type: T, address: bigint, value: WordOf<T>): void {
    try {
      this.write(type, address, value);
    } catch (error) {
      if ((error as { code?: string }).code !== undefined) throw error;
      // The engine's own error names neither the type nor the store.
      const wanted = type === 'i64' || type === 'u64' ? 'bigint' : 'number';
      const message = `a word of type ${type} takes a ${wanted}, not a ${typeof value}`;
      throw Object.assign(new TypeError(message), { code: 'ADDRESS_VALUE' });
    }
  }

  private read(type: WordType, address: bigint): number | bigint {
    switch (type) {
      case 'i8':
        return this.find(address, 1).view.getInt8(this.position);
      case 'u8':
        return this.find(address, 1).view.getUint8(this.position);
      case 'i16':
        return this.find(address, 2).view.getInt16(this.position, true);
      case 'u16':
        return this.find(address, 2).view.getUint16(this.position, true);
      case 'i32':
        return this.find(address, 4).view.getInt32(this.position, true);
      case 'u32':
        return this.find(address, 4).view.getUint32(this.position, true);
      case 'i64':
        return this.find(address, 8).view.getBigInt64(this.position, true);
      case 'u64':
        return this.find(address, 8).view.getBigUint64(this.position, true);
      case 'f32':
        return this.find(address, 4).view.getFloat32(this.position, true);
      case 'f64':
        return this.find(address, 8).view.getFloat64(this.position, true);
      default:
        throw unknownType(type);
    }
  }

  private write(type: WordType, address: bigint, value: number | bigint): void {
    switch (type) {
      case 'i8':
        this.writable(address, 1).setInt8(this.position, value as number);
        break;
      case 'u8':
        this.writable(address, 1).setUint8(this.position, value as number);
        break;
      case 'i16':
        this.writable(address, 2).setInt16(this.position, value as number, true);
        break;
      case 'u16':
        this.writable(address, 2).setUint16(this.position, value as number, true);
        break;
      case 'i32':
        this.writable(address, 4).setInt32(this.position, value as number, true);
        break;
      case 'u32':
        this.writable(address, 4).setUint32(this.position, value as number, true);
        break;
      case 'i64':
        this.writable(address, 8).setBigInt64(this.position, value as bigint, true);
        break;
      case 'u64':
        this.writable(address, 8).setBigUint64(this.position, value as bigint, true);
        break;
      case 'f32':
        this.writable(address, 4).setFloat32(this.position, value as number, true);
        break;
      case 'f64':
        this.writable(address, 8).setFloat64(this.position, value as number, true);
        break;
      default:
        throw unknownType(type);
    }
  }

  private writable(address: bigint, bytes: number): DataView {
    const { name, view, readOnly } = this.find(address, bytes);
    if (readOnly) {
      const message = `cannot store at ${hexadecimal(address)}: ${name} is declared 'in', and may only be read; declare it 'inout'`;
      throw Object.assign(new TypeError(message), { code: 'ADDRESS' });
    }
    return view;
  }

  /** The array that has these bytes; `position` is then where in it they begin. */
  private find(address: bigint, bytes: number): Part {
    if (typeof address !== 'bigint') {
      const message = `an address is a bigint, not ${typeof address}`;
      throw Object.assign(new TypeError(message), { code: 'ADDRESS' });
    }
    const { recent } = this;
    if (recent !== null) {
      const position = Number(address - recent.start);
      if (position >= 0 && position + bytes <= recent.bytes) {
        this.position = position;
        return recent;
      }
    }
    for (const part of this.parts) {
      const position = Number(address - part.start);
      if (!(position >= 0 && position + bytes <= part.bytes)) continue;
      this.recent = part;
      this.position = position;
      return part;
    }
    throw this.outside(address, bytes);
  }

  private outside(address: bigint, bytes: number): Error {
    const arrays = this.parts.map(
      ({ name, start, bytes: length }) =>
        `${name} (${hexadecimal(start)} to ${hexadecimal(start + BigInt(length))})`,
    );
    const message = `a word of ${bytes} bytes at ${hexadecimal(address)} lies in none of the arrays ${arrays.join(', ')}`;
    return Object.assign(new RangeError(message), { code: 'ADDRESS' });
  }
}

function unknownType(type: never): Error {
  const shown = typeof type === 'string' ? `'${type as string}'` : `a ${typeof type}`;
  const message = `${shown} is no type of a word; there are i8, u8, i16, u16, i32, u32, i64, u64, f32 and f64`;
  return Object.assign(new TypeError(message), { code: 'ADDRESS' });
}

/** The name by which an array's address goes with a launch, as a number. Drivers need not know. */
export function addressName(name: string, use: 'in' | 'out' | 'inout'): string {
  return use === 'in' ? `&in ${name}` : `&${name}`;
}

/** The memory that a kernel sees, from the values that it was given. */
export function launchedMemory(values: Readonly<Record<string, unknown>>): AddressView {
  const arrays: AddressedArray[] = [];
  for (const [name, value] of Object.entries(values)) {
    if (!ArrayBuffer.isView(value)) continue;
    const data = value as NumericArray;
    const readOnly = values[addressName(name, 'in')];
    const address = (readOnly ?? values[addressName(name, 'inout')]) as number;
    arrays.push({ name, address, data, readOnly: readOnly !== undefined });
  }
  return new AddressView(arrays);
}

function hexadecimal(address: bigint): string {
  return `0x${address.toString(16)}`;
}
