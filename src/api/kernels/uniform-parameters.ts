/** Parameters for uniform variables: vectors, matrices, structures, arrays of fixed length. */
import { numbersNamed, type Type } from '../../wgsl/reading/types.js';
import { isObject, show } from '../values/arguments.js';
import { typeError } from '../values/errors.js';

/** The value of a uniform variable, or of a member of one. */
export interface UniformParameter<V> {
  readonly kind: 'uniform';
  /**
   * The type in WGSL: 'vec2u', 'mat4x4f', 'struct', 'array'; 'bytes'; 'any': the module says it.
   */
  readonly type: string;
  /** Of a structure. */
  readonly propTypes?: Readonly<Record<string, UniformType>>;
  /** Of an array. */
  readonly elementType?: UniformType;
  readonly elementCount?: number;
  /** For the compiler alone: what a launch takes for it. */
  readonly '~value'?: V;
}

/** A data schema of TypeGPU, such as `d.vec2u`. */
export interface TypegpuSchema {
  readonly type: string;
  readonly kind?: undefined;
}

/** `f32`, `u32` and `i32`. */
export interface NumberType {
  readonly kind: 'scalar';
  readonly type: 'f32' | 'u32' | 'i32';
}

/** The type of a member. */
export type UniformType = UniformParameter<unknown> | NumberType | TypegpuSchema;

/** Numbers of a vector or matrix, column by column: `[1, 2]`, or a typed array. */
export type Numbers = ArrayLike<number>;

/** The argument for a type. */
export type UniformValueOf<T> =
  T extends UniformParameter<infer V> ? V : T extends NumberType ? number : UniformInput;

/** The argument if the module alone says the type. */
export type UniformInput =
  | number
  | ArrayLike<unknown>
  | ArrayBufferView
  | ArrayBuffer
  | { readonly [member: string]: unknown };

function plain<V>(type: string): UniformParameter<V> {
  return { kind: 'uniform', type };
}

export const vec2f = plain<Numbers>('vec2f');
export const vec3f = plain<Numbers>('vec3f');
export const vec4f = plain<Numbers>('vec4f');
export const vec2u = plain<Numbers>('vec2u');
export const vec3u = plain<Numbers>('vec3u');
export const vec4u = plain<Numbers>('vec4u');
export const vec2i = plain<Numbers>('vec2i');
export const vec3i = plain<Numbers>('vec3i');
export const vec4i = plain<Numbers>('vec4i');
export const mat2x2f = plain<Numbers>('mat2x2f');
export const mat2x3f = plain<Numbers>('mat2x3f');
export const mat2x4f = plain<Numbers>('mat2x4f');
export const mat3x2f = plain<Numbers>('mat3x2f');
export const mat3x3f = plain<Numbers>('mat3x3f');
export const mat3x4f = plain<Numbers>('mat3x4f');
export const mat4x2f = plain<Numbers>('mat4x2f');
export const mat4x3f = plain<Numbers>('mat4x3f');
export const mat4x4f = plain<Numbers>('mat4x4f');

/** The bytes of a uniform variable, as its layout has them. */
export const BYTES = plain<ArrayBufferView | ArrayBuffer>('bytes');

/** A uniform variable whose type the module says. */
export const uniform = plain<UniformInput>('any');

/**
 * A uniform variable that is a structure. Members named `_...` or `pad...` may be left out, and
 * `begin`, `end` and `size` (u32) are the launch's. Throws KERNEL_PARAMETER for a member without a
 * type.
 * @example
 * import { f32, kernel, struct, vec2f } from 'onemem';
 *
 * const wgsl = [
 *   'struct Params { scale: vec2f }',
 *   '@group(0) @binding(0) var<storage, read_write> x: array<f32>;',
 *   '@group(0) @binding(1) var<uniform> params: Params;',
 *   '@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {',
 *   '  x[id.x] *= params.scale.y;',
 *   '}',
 * ].join('\n');
 * const scaled = kernel({ x: f32.inout, params: struct({ scale: vec2f }) }, { wgsl });
 * console.log(scaled.wgsl.entryPoint); // main
 */
export function struct<const M extends Readonly<Record<string, UniformType>>>(
  members: M,
): UniformParameter<{ readonly [K in keyof M]: UniformValueOf<M[K]> }> {
  if (!isObject(members) || Object.keys(members).length === 0)
    throw parameterRefusal(
      `struct() takes members, such as { size: vec2u, scale: f32 }, not ${show(members)}`,
    );
  for (const [name, each] of Object.entries(members)) {
    if (memberTypeOf(each) === null)
      throw parameterRefusal(
        `member ${name} of struct() has no type; write for example f32, vec2u or mat4x4f`,
      );
  }
  return { kind: 'uniform', type: 'struct', propTypes: members };
}

/**
 * An array of a fixed length in a uniform variable. Throws KERNEL_PARAMETER for a wrong type or
 * length.
 */
export function arrayOf<T extends UniformType>(
  element: T,
  length: number,
): UniformParameter<ArrayLike<UniformValueOf<T>>> {
  if (memberTypeOf(element) === null)
    throw parameterRefusal(
      `arrayOf() takes the type of its elements, such as vec4f, not ${show(element)}`,
    );
  if (!Number.isSafeInteger(length) || length < 1)
    throw parameterRefusal(
      `arrayOf() takes a number of elements of 1 or more, not ${show(length)}`,
    );
  return { kind: 'uniform', type: 'array', elementType: element, elementCount: length };
}

/** The error of what is no parameter. */
export function parameterRefusal(problem: string): TypeError {
  return typeError('KERNEL_PARAMETER', problem);
}

export type ComponentName = 'f32' | 'f16' | 'u32' | 'i32';

/** What a declaration says of a value, of ours or of TypeGPU's. */
export type ValueType =
  | { readonly kind: 'any' | 'bytes' }
  | Extract<Type, { readonly kind: 'scalar' | 'vector' | 'matrix' }>
  | {
      readonly kind: 'struct';
      readonly name: string;
      readonly members: readonly { readonly name: string; readonly type: ValueType }[];
    }
  | { readonly kind: 'array'; readonly element: ValueType; readonly length: number };

/** Null: it declares no value. Ours and TypeGPU's are of one shape. */
export function valueTypeOf(given: unknown): ValueType | null {
  if ((typeof given !== 'object' && typeof given !== 'function') || given === null) return null;
  const { type, inner, propTypes, elementType, elementCount } = given as Record<string, unknown>;
  if (type === 'any' || type === 'bytes') return { kind: type };
  if (type === 'decorated') return valueTypeOf(inner);
  if (type === 'struct') return structOf(propTypes);
  if (type === 'array') {
    const element = valueTypeOf(elementType);
    if (element === null || !Number.isSafeInteger(elementCount) || (elementCount as number) < 1)
      return null;
    return { kind: 'array', element, length: elementCount as number };
  }
  return typeof type !== 'string' || type === 'bool' ? null : numbersNamed(type, () => null);
}

function structOf(propTypes: unknown): ValueType | null {
  if (!isObject(propTypes)) return null;
  const members: { name: string; type: ValueType }[] = [];
  for (const [name, each] of Object.entries(propTypes)) {
    const type = memberTypeOf(each);
    if (type === null) return null;
    members.push({ name, type });
  }
  return { kind: 'struct', name: 'a structure', members };
}

/** Arrays of the kernel are no members, and neither are bytes. */
function memberTypeOf(given: unknown): ValueType | null {
  if (isObject(given) && (given as { kind?: unknown }).kind === 'array') return null;
  const found = valueTypeOf(given);
  return found?.kind === 'bytes' ? null : found;
}
