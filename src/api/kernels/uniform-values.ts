/** Values of uniform variables: bytes by a module's layout, or plain values for functions. */
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
  } else put(new DataView(bytes.buffer), 0, where, type, value, left);
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
  if (given === null)
    throw typeError(
      'KERNEL_ARGUMENT',
      `${where} takes bytes, a typed array or an ArrayBuffer, not ${show(value)}`,
    );
  return bytesOfValue(
    where,
    type,
    types.isAnyArrayBuffer(value) ? value : given.slice().buffer,
    new Set(),
  );
}

const NONE: ReadonlySet<string> = new Set();

function put(
  view: DataView,
  at: number,
  where: string,
  type: Type,
  value: unknown,
  left: ReadonlySet<string>,
): void {
  switch (type.kind) {
    case 'scalar':
    case 'atomic':
      putNumber(view, at, where, type.name as ComponentName, value);
      return;
    case 'vector':
      putNumbers(
        view,
        at,
        where,
        type.component as ComponentName,
        numbersOf(where, type.width, value),
      );
      return;
    case 'matrix': {
      const { columns, rows, component } = type;
      const numbers = matrixNumbers(where, columns, rows, value);
      const stride = sizeOf(type) / columns;
      for (let column = 0; column < columns; column++)
        putNumbers(
          view,
          at + column * stride,
          where,
          component,
          numbers.slice(column * rows, (column + 1) * rows),
        );
      return;
    }
    case 'array': {
      const elements = elementsOf(where, type.length ?? 0, valueWidth(type.element), value);
      for (const [index, each] of elements.entries())
        put(view, at + index * type.stride, `${where}[${index}]`, type.element, each, NONE);
      return;
    }
    case 'struct': {
      const names = type.members.map(({ name }) => name);
      const given = membersOf(where, value, names);
      for (const { name, offset, type: of } of type.members) {
        const own = given[name];
        if (own !== undefined) put(view, at + offset, `${where}.${name}`, of, own, NONE);
        else if (!isPadding(name) && !left.has(name))
          throw typeError(
            'KERNEL_ARGUMENT',
            `${where}.${name}: no value was given; the structure has ${names.join(', ')}`,
          );
      }
      return;
    }
    default:
      throw typeError('KERNEL_ARGUMENT', `${where} is of a type that has no value`);
  }
}

function putNumbers(
  view: DataView,
  at: number,
  where: string,
  component: ComponentName,
  numbers: readonly unknown[],
): void {
  const bytes = component === 'f16' ? 2 : 4;
  for (const [index, each] of numbers.entries())
    putNumber(view, at + index * bytes, `${where}[${index}]`, component, each);
}

function putNumber(
  view: DataView,
  at: number,
  where: string,
  name: ComponentName,
  value: unknown,
): void {
  checkScalar(where, name === 'f16' ? 'f32' : name, value);
  const number = value as number;
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
  throw typeError('KERNEL_ARGUMENT', `${where} takes ${width} numbers, not ${shown(value, list)}`);
}

/** Column by column: one list, with rows of three padded or not, or a list for each column. */
function matrixNumbers(
  where: string,
  columns: number,
  rows: number,
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
  throw typeError(
    'KERNEL_ARGUMENT',
    `${where} takes ${columns * rows} numbers, ${columns} columns of ${rows}, not ${shown(value, list)}`,
  );
}

/** @param width numbers of an element, which may stand in one list; null: it is not fixed */
function elementsOf(
  where: string,
  length: number,
  width: number | null,
  value: unknown,
): readonly unknown[] {
  const list = listOf(value);
  if (list?.length === length) return list;
  if (list !== null && width !== null && list.length === length * width)
    return Array.from({ length }, (_, index) => list.slice(index * width, (index + 1) * width));
  throw typeError(
    'KERNEL_ARGUMENT',
    `${where} takes ${length} elements, not ${shown(value, list)}`,
  );
}

function valueWidth(type: Type): number | null {
  if (type.kind === 'vector') return type.width;
  return type.kind === 'matrix' ? type.columns * type.rows : null;
}

function membersOf(
  where: string,
  value: unknown,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  if (!isObject(value) || ArrayBuffer.isView(value))
    throw typeError(
      'KERNEL_ARGUMENT',
      `${where} takes an object { ${names.join(', ')} }, not ${show(value)}`,
    );
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

/** A value as functions have it: numbers, lists of numbers, and objects. */
export function plainValue(where: string, type: ValueType, value: unknown): PlainValue {
  switch (type.kind) {
    case 'any':
      return copied(where, value);
    case 'bytes':
      throw typeError(
        'KERNEL_ARGUMENT',
        `${where} is bytes of a uniform variable, which a function has not; give it an array`,
      );
    case 'scalar':
      return plainNumber(where, type.name, value);
    case 'vector':
      return plainNumbers(where, type.component, numbersOf(where, type.width, value));
    case 'matrix':
      return plainNumbers(
        where,
        type.component,
        matrixNumbers(where, type.columns, type.rows, value),
      );
    case 'array': {
      const { element } = type;
      const width =
        element.kind === 'vector'
          ? element.width
          : element.kind === 'matrix'
            ? element.columns * element.rows
            : null;
      return elementsOf(where, type.length, width, value).map((each, index) =>
        plainValue(`${where}[${index}]`, element, each),
      );
    }
    case 'struct': {
      const given = membersOf(where, value, [...type.members.keys()]);
      return Object.fromEntries(
        [...type.members].map(([name, of]) => {
          if (given[name] === undefined)
            throw typeError('KERNEL_ARGUMENT', `${where}.${name}: no value was given`);
          return [name, plainValue(`${where}.${name}`, of, given[name])];
        }),
      );
    }
  }
}

function plainNumbers(
  where: string,
  component: ComponentName,
  numbers: readonly unknown[],
): number[] {
  return numbers.map((each, index) => plainNumber(`${where}[${index}]`, component, each));
}

function plainNumber(where: string, name: ComponentName, value: unknown): number {
  checkScalar(where, name === 'f16' ? 'f32' : name, value);
  return value as number;
}

function copied(where: string, value: unknown): PlainValue {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  const list = listOf(value);
  if (list !== null) return list.map((each, index) => copied(`${where}[${index}]`, each));
  if (!isObject(value))
    throw typeError(
      'KERNEL_ARGUMENT',
      `${where} takes numbers, lists and objects of them, not ${show(value)}`,
    );
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, copied(`${where}.${name}`, each)]),
  );
}
