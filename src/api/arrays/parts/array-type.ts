/** Constructors of typed arrays, as programs name types of elements. */
import {
  constructorName,
  type ElementType,
  elementTypeOf,
  type NumericArray,
} from '../../../core/basics/elements.js';
import type { ArrayInternals } from '../../line/internals.js';
import { arrayTypeName, show } from '../../values/arguments.js';
import { typeError } from '../../values/errors.js';

export type ArrayType<T extends NumericArray> = {
  new (length: number): T;
  readonly BYTES_PER_ELEMENT: number;
  readonly name: string;
};

export function elementOf(type: unknown): ElementType {
  const name = typeof type === 'function' ? (type as { name?: unknown }).name : undefined;
  const element = typeof name === 'string' ? elementTypeOf(name) : undefined;
  if (element !== undefined) return element;
  const given = arrayTypeName(type);
  if (given !== undefined) {
    throw typeError(
      'ARRAY_TYPE',
      `a ${given} was handed in where the type and the length belong; write space.array(${given}, ${(type as NumericArray).length}), and have its data filled by set()`,
    );
  }
  throw typeError(
    'ARRAY_TYPE',
    `${typeof name === 'string' && name !== '' ? name : show(type)} is no typed array that a space can hold; pass for example Float32Array`,
  );
}

/** As messages name the type of an array's elements. */
export function typeName(array: ArrayInternals): string {
  return array.type === 'bytes' ? 'bytes' : constructorName(array.type);
}
