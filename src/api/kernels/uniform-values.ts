/** Values of uniform variables: plain values for functions, and their bytes by a module's layout. */
import { types } from 'node:util';
import type { PlainValue } from '../../drivers/driver.js';
import { nearest } from '../../messages/option-names.js';
import { sizeOf, type Type } from '../../wgsl/reading/types.js';
import { isObject, show } from '../values/arguments.js';
import { argumentError, typeError } from '../values/errors.js';
import { checkScalar } from './scalars.js';
import type { ComponentName, ValueType } from './uniform-parameters.js';

/** What a uniform variable's bytes are a multiple of. */
export const UNIFORM_BYTES = 16;

/** Members that nobody reads need not be given. */
export function isPadding(name: string): boolean {
  return /^(_|pad(ding)?\d*$)/i.test(name);
}

/**
 * The bytes of a value.
 * @param where the parameter, for messages
 * @param left members of the outermost structure that are filled in otherwise
 */
export function bytesOfValue(
  where: string,
  type: Type,
  value: unknown,
  left: ReadonlySet<string>,
): Uint8Array {
  const bytes = new Uint8Array(sizeOf(type));
  const given = rawBytes(value);
  if (given !== null && (type.kind === 'struct' || !ArrayBuffer.isView(value))) {
    const most = Math.ceil(bytes.length / UNIFORM_BYTES) * UNIFORM_BYTES;
    if (given.length !== bytes.length && given.length !== most)
      throw argumentError(
        'KERNEL_ARGUMENT',
        `${where} has ${bytes.length} bytes in the module, not ${given.length}`,
      );
    bytes.set(given.subarray(0, bytes.length));
  } else {
    const may = (name: string) => isPadding(name) || left.has(name);
    put(new DataView(bytes.buffer), 0, type, plainValue(where, type, value, may, isPadding));
  }
  return bytes;
}

/** The bytes that something is by itself; null: it is none. */
function rawBytes(value: unknown): Uint8Array | null {
  if (ArrayBuffer.isView(value))
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  return types.isAnyArrayBuffer(value) ? new Uint8Array(value) : null;
}

/** The bytes of an argument that is declared to be bytes. */
export function bytesOfBytes(where: string, type: Type, value: unknown): Uint8Array {
  const given = rawBytes(value);
  if (given === null) throw refusal(where, 'bytes, a typed array or an ArrayBuffer', show(value));
  const buffer = types.isAnyArrayBuffer(value) ? value : given.slice().buffer;
  return bytesOfValue(where, type, buffer, new Set());
}

function refusal(where: string, takes: string, not: string): TypeError {
  return typeError('KERNEL_ARGUMENT', `${where} takes ${takes}, not ${not}`);
}

/** Writes a plain value by its layout. What it lacks stays zero. */
function put(view: DataView, at: number, type: Type, value: PlainValue): void {
  switch (type.kind) {
    case 'scalar':
    case 'atomic':
      putNumber(view, at, type.name as ComponentName, value as number);
      break;
    case 'vector':
    case 'matrix': {
      const component = type.component as ComponentName;
      const bytes = component === 'f16' ? 2 : 4;
      const [rows, stride] =
        type.kind === 'vector' ? [type.width, 0] : [type.rows, sizeOf(type) / type.columns];
      for (const [index, each] of (value as readonly number[]).entries()) {
        const row = index % rows;
        putNumber(view, at + ((index - row) / rows) * stride + row * bytes, component, each);
      }
      break;
    }
    case 'array':
      for (const [index, each] of (value as readonly PlainValue[]).entries())
        put(view, at + index * type.stride, type.element, each);
      break;
    case 'struct': {
      const given = value as Readonly<Record<string, PlainValue | undefined>>;
      for (const { name, offset, type: of } of type.members) {
        const own = given[name];
        if (own !== undefined) put(view, at + offset, of, own);
      }
    }
  }
}

function putNumber(view: DataView, at: number, name: ComponentName, number: number): void {
  if (name === 'f32') view.setFloat32(at, number, true);
  else if (name === 'i32') view.setInt32(at, number, true);
  else if (name === 'u32') view.setUint32(at, number, true);
  else view.setUint16(at, halfOf(number), true);
}

/** The bits of the half that is nearest, of two the even one. */
export function halfOf(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (Number.isNaN(value)) return 0x7e00;
  // Midway to the next one, which there is none of.
  if (size >= 65_520) return sign | 0x7c00;
  const exponent = Math.max(-14, Math.floor(Math.log2(size)));
  const unit = 2 ** (exponent - 10);
  const steps = size / unit;
  const low = Math.floor(steps);
  const rest = steps - low;
  const rounded = rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? low + 1 : low;
  // A number that is rounded up to the next power of two carries into the exponent.
  return sign | (size < 2 ** -14 ? rounded : (exponent + 14) * 1024 + rounded);
}

/** Components of a vector that stand under their names. */
const AXES = ['x', 'y', 'z', 'w'];

function numbersOf(where: string, width: number, value: unknown): readonly unknown[] {
  const list = listOf(value);
  if (list?.length === width) return list;
  const named = isObject(value) ? (value as Readonly<Record<string, unknown>>) : {};
  const axes = AXES.slice(0, width);
  if (list === null && axes.every((axis) => typeof named[axis] === 'number'))
    return axes.map((axis) => named[axis]);
  throw refusal(where, `${width} numbers`, shown(value, list));
}

/** Column by column: one list, with rows of three padded or not, or a list for each column. */
function matrixNumbers(
  where: string,
  { columns, rows }: { readonly columns: number; readonly rows: number },
  value: unknown,
): readonly unknown[] {
  const list = listOf(value);
  if (list !== null) {
    if (list.length === columns * rows) return list;
    if (list.length === columns && list.every((each) => typeof each !== 'number'))
      return list.flatMap((each, column) => numbersOf(`${where}[${column}]`, rows, each));
    if (rows === 3 && list.length === columns * 4)
      return list.filter((_, index) => index % 4 !== 3);
  }
  const takes = `${columns * rows} numbers, ${columns} columns of ${rows}`;
  throw refusal(where, takes, shown(value, list));
}

/** Numbers of vectors and matrices may stand in one list for all elements. */
function elementsOf(
  where: string,
  length: number,
  element: Type | ValueType,
  value: unknown,
): readonly unknown[] {
  const list = listOf(value);
  if (list?.length === length) return list;
  const width = widthOf(element);
  if (list?.length === length * width)
    return Array.from({ length }, (_, index) => list.slice(index * width, (index + 1) * width));
  throw refusal(where, `${length} elements`, shown(value, list));
}

/** How many numbers a vector or a matrix has; NaN: it is neither. */
function widthOf(type: Type | ValueType): number {
  if (type.kind === 'vector') return type.width;
  return type.kind === 'matrix' ? type.columns * type.rows : Number.NaN;
}

function membersOf(
  where: string,
  value: unknown,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  if (!isObject(value) || ArrayBuffer.isView(value))
    throw refusal(where, `an object { ${names.join(', ')} }`, show(value));
  const unknown = Object.keys(value).find((name) => !names.includes(name));
  if (unknown === undefined) return value as Readonly<Record<string, unknown>>;
  const near = nearest(unknown, names);
  const remedy = near === null ? `it has ${names.join(', ')}` : `did you mean ${near}?`;
  throw typeError('KERNEL_ARGUMENT', `${where} has no member ${unknown}; ${remedy}`);
}

/** What has a length and elements; null: it is no list. */
function listOf(value: unknown): unknown[] | null {
  if (typeof value !== 'object' || value === null) return null;
  const { length } = value as { readonly length?: unknown };
  return Number.isSafeInteger(length) && (length as number) >= 0
    ? Array.from(value as ArrayLike<unknown>)
    : null;
}

function shown(value: unknown, list: readonly unknown[] | null): string {
  return list === null ? show(value) : `${list.length}`;
}

const ALL_GIVEN = () => false;

/**
 * A value as functions have it: numbers, lists of numbers, and objects.
 * @param may tells which members of the structure may be left out
 * @param within the same of structures in it
 */
export function plainValue(
  where: string,
  type: Type | ValueType,
  value: unknown,
  may: (member: string) => boolean = ALL_GIVEN,
  within = may,
): PlainValue {
  const numbers = (component: string, given: readonly unknown[]) =>
    given.map((each, index) => plainNumber(`${where}[${index}]`, component, each));
  switch (type.kind) {
    case 'any':
      return copied(where, value);
    case 'scalar':
    case 'atomic':
      return plainNumber(where, type.name, value);
    case 'vector':
      return numbers(type.component, numbersOf(where, type.width, value));
    case 'matrix':
      return numbers(type.component, matrixNumbers(where, type, value));
    case 'array':
      return elementsOf(where, type.length ?? 0, type.element, value).map((each, index) =>
        plainValue(`${where}[${index}]`, type.element, each, within),
      );
    case 'struct': {
      const names = type.members.map(({ name }) => name);
      const given = membersOf(where, value, names);
      const missing = names.find((name) => given[name] === undefined && !may(name));
      if (missing !== undefined)
        throw typeError(
          'KERNEL_ARGUMENT',
          `${where}.${missing}: no value was given; the structure has ${names.join(', ')}`,
        );
      const there = type.members.filter(({ name }) => given[name] !== undefined);
      return Object.fromEntries(
        there.map(({ name, type: of }) => [
          name,
          plainValue(`${where}.${name}`, of, given[name], within),
        ]),
      );
    }
    case 'bytes':
      throw typeError(
        'KERNEL_ARGUMENT',
        `${where} is bytes of a uniform variable, which a function has not; give it an array`,
      );
    default:
      throw typeError('KERNEL_ARGUMENT', `${where} is of a type that has no value`);
  }
}

function plainNumber(where: string, component: string, value: unknown): number {
  checkScalar(where, component === 'f16' ? 'f32' : (component as 'f32'), value);
  return value as number;
}

function copied(where: string, value: unknown): PlainValue {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  const list = listOf(value);
  if (list !== null) return list.map((each, index) => copied(`${where}[${index}]`, each));
  if (!isObject(value)) throw refusal(where, 'numbers, lists and objects of them', show(value));
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, copied(`${where}.${name}`, each)]),
  );
}
