/** Loads and stores by address, over the arrays of a launch or of a program: what lists and trees are walked with. */
import type { ElementType, NumericArray } from './elements.js';

/** What one load or store moves. */
export type WordType = Exclude<ElementType, 'u8c' | 'bytes'>;
export type WordOf<T extends WordType> = T extends 'i64' | 'u64' ? bigint : number;

/** An array, and where its first element lies. */
export interface AddressedArray {
  readonly name: string;
  readonly address: number;
  readonly data: NumericArray;
  /** Whether stores are refused. */
  readonly readOnly?: boolean;
}

interface Part {
  readonly name: string;
  readonly address: number;
  readonly view: DataView;
  readonly readOnly: boolean;
}

const WORD_BYTES: Readonly<Record<WordType, number>> = {
  i8: 1,
  u8: 1,
  i16: 2,
  u16: 2,
  i32: 4,
  u32: 4,
  i64: 8,
  u64: 8,
  f32: 4,
  f64: 8,
};

/**
 * A DataView whose positions are addresses, over several arrays at once. Addresses that are stored in the arrays themselves mean the
 * same to every processor, so that links need no conversion. A word need not be aligned; its lowest byte comes first, as in the typed
 * arrays of every machine that we run on.
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
      address,
      readOnly,
      view: new DataView(data.buffer, data.byteOffset, data.byteLength),
    }));
  }

  /** The word at an address, such as `load('u64', address)`. Throws a RangeError for an address outside of the arrays. */
  load<T extends WordType>(type: T, address: bigint): WordOf<T> {
    const { view } = this.find(type, address);
    return read(view, type, this.position) as WordOf<T>;
  }

  /** Changes the word at an address. Throws a TypeError where a kernel has declared the array `in`. */
  store<T extends WordType>(type: T, address: bigint, value: WordOf<T>): void {
    const { name, view, readOnly } = this.find(type, address);
    if (readOnly) {
      const message = `cannot store at ${hexadecimal(address)}: ${name} is declared 'in', and may only be read; declare it 'inout'`;
      throw Object.assign(new TypeError(message), { code: 'ADDRESS' });
    }
    write(view, type, this.position, value);
  }

  private find(type: WordType, address: bigint): Part {
    const bytes = WORD_BYTES[type];
    const place = Number(address);
    const { recent } = this;
    if (recent !== null && holds(recent, place, bytes)) {
      this.position = place - recent.address;
      return recent;
    }
    for (const part of this.parts) {
      if (!holds(part, place, bytes)) continue;
      this.recent = part;
      this.position = place - part.address;
      return part;
    }
    throw this.outside(type, address, bytes);
  }

  private outside(type: WordType, address: bigint, bytes: number): Error {
    const arrays = this.parts.map(
      ({ name, address: first, view }) => `${name} (${hexadecimal(first)} to ${hexadecimal(first + view.byteLength)})`,
    );
    if (typeof address !== 'bigint') {
      return Object.assign(new TypeError(`an address is a bigint, not ${typeof address} ${String(address)}`), {
        code: 'ADDRESS',
      });
    }
    const message =
      bytes === undefined
        ? `'${type}' is no type of a word; there are ${Object.keys(WORD_BYTES).join(', ')}`
        : `a word of ${bytes} bytes at ${hexadecimal(address)} lies in none of the arrays ${arrays.join(', ')}`;
    return Object.assign(new RangeError(message), { code: 'ADDRESS' });
  }
}

/** The name under which the address of an array goes with a launch: a number beside the array, of which no driver need know. */
export function addressName(name: string, use: 'in' | 'out' | 'inout'): string {
  return use === 'in' ? `&in ${name}` : `&${name}`;
}

/** The memory that a kernel sees, from the values that it was given. */
export function launchedMemory(values: Readonly<Record<string, NumericArray | number | bigint>>): AddressView {
  const arrays: AddressedArray[] = [];
  for (const [name, data] of Object.entries(values)) {
    if (typeof data !== 'object') continue;
    const readOnly = values[addressName(name, 'in')];
    const address = (readOnly ?? values[addressName(name, 'inout')]) as number;
    arrays.push({ name, address, data, readOnly: readOnly !== undefined });
  }
  return new AddressView(arrays);
}

function hexadecimal(address: number | bigint): string {
  return `0x${address.toString(16)}`;
}

function holds({ address, view }: Part, place: number, bytes: number): boolean {
  const position = place - address;
  return position >= 0 && position + bytes <= view.byteLength;
}

function read(view: DataView, type: WordType, position: number): number | bigint {
  switch (type) {
    case 'i8':
      return view.getInt8(position);
    case 'u8':
      return view.getUint8(position);
    case 'i16':
      return view.getInt16(position, true);
    case 'u16':
      return view.getUint16(position, true);
    case 'i32':
      return view.getInt32(position, true);
    case 'u32':
      return view.getUint32(position, true);
    case 'i64':
      return view.getBigInt64(position, true);
    case 'u64':
      return view.getBigUint64(position, true);
    case 'f32':
      return view.getFloat32(position, true);
    case 'f64':
      return view.getFloat64(position, true);
  }
}

function write(view: DataView, type: WordType, position: number, value: number | bigint): void {
  switch (type) {
    case 'i8':
      view.setInt8(position, value as number);
      break;
    case 'u8':
      view.setUint8(position, value as number);
      break;
    case 'i16':
      view.setInt16(position, value as number, true);
      break;
    case 'u16':
      view.setUint16(position, value as number, true);
      break;
    case 'i32':
      view.setInt32(position, value as number, true);
      break;
    case 'u32':
      view.setUint32(position, value as number, true);
      break;
    case 'i64':
      view.setBigInt64(position, value as bigint, true);
      break;
    case 'u64':
      view.setBigUint64(position, value as bigint, true);
      break;
    case 'f32':
      view.setFloat32(position, value as number, true);
      break;
    case 'f64':
      view.setFloat64(position, value as number, true);
      break;
  }
}
