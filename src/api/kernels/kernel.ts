/** Kernels: functions that run on a device, with the types of their parameters. */
import type { AddressView } from '../../core/basics/address-view.js';
import type { ElementType } from '../../core/basics/elements.js';
import type { AnyKernelCode, WgslCode } from '../../drivers/wgsl-launch.js';
import type { OnememErrorCode } from '../../messages/error-codes.js';
import type { OptionNames } from '../../messages/option-names.js';
import { checkName, checkOptions, isObject, show } from '../values/arguments.js';
import { typeError, warn } from '../values/errors.js';
import type { GroupNames } from './group-names.js';
import { assignedName, noteDefinition, UNNAMED } from './kernel-place.js';
import { ambiguities, kernelSource } from './kernel-source.js';
import { typegpuFunction, typegpuModule } from './typegpu-kernel.js';
import {
  BYTES,
  parameterRefusal,
  type TypegpuSchema,
  type UniformParameter,
  type UniformValueOf,
  uniform,
  valueTypeOf,
} from './uniform-parameters.js';
import { isWgslCode, wgslCode } from './wgsl-kernel.js';
import type { Parameters } from './wgsl-parameters.js';

/** The typed array of each element type. */
export interface TypedArrays {
  i8: Int8Array;
  u8: Uint8Array;
  u8c: Uint8ClampedArray;
  i16: Int16Array;
  u16: Uint16Array;
  i32: Int32Array;
  u32: Uint32Array;
  i64: BigInt64Array;
  u64: BigUint64Array;
  f32: Float32Array;
  f64: Float64Array;
  bytes: Uint8Array;
}

/**
 * An array parameter: read (`in`), written from zeros (`out`), or both (`inout`). A written
 * argument overlaps no other.
 */
export interface ArrayParameter<T extends ElementType, U extends 'in' | 'out' | 'inout'> {
  readonly kind: 'array';
  readonly type: T;
  readonly use: U;
  /** The elements that the kernel uses, if another parameter names them. */
  readonly named?: NamedElements;
}

/** Elements that another parameter names. */
export interface NamedElements {
  /** The parameter with the indices: integers, `in` or `inout`. */
  readonly indices: string;
  /** Elements for each index: a number, or the parameter that is one. */
  readonly row: number | string;
}

/** An array parameter whose elements another parameter may name. */
export interface GatherableParameter<T extends ElementType, U extends 'in' | 'inout'>
  extends ArrayParameter<T, U> {
  /**
   * Says that the parameter `indices` holds the indices of the elements, or of rows of `row`
   * elements, that the kernel uses. A device with page faults gets their pages ahead of the kernel.
   * It is a hint: other pages come by faults.
   * @example
   * const gather = kernel(
   *   { table: f32.in.by('order'), order: u32.in, result: f32.out },
   *   ({ table, order, result }, { begin, end }) => {
   *     for (let i = begin; i < end; i++) result[i] = table[order[i]];
   *   },
   * );
   * const table = space.array(Float32Array, 100_000);
   * table.data.forEach((_, i, all) => { all[i] = i; });
   * const result = space.array(Float32Array, 3);
   * const order = Uint32Array.of(7, 99_999, 500);
   * await device.run(gather, { table, order, result }, { size: 3 });
   * console.log([...result.data]); // [ 7, 99999, 500 ]
   */
  by(indices: string, row?: number | string): ArrayParameter<T, U>;
}

/** A number parameter. `.in`, `.out` and `.inout` are arrays of the same element type. */
export interface ScalarParameter<T extends ElementType> {
  readonly kind: 'scalar';
  readonly type: T;
  readonly in: GatherableParameter<T, 'in'>;
  readonly out: ArrayParameter<T, 'out'>;
  readonly inout: GatherableParameter<T, 'inout'>;
}

/** A parameter of a kernel. */
export type KernelParameter =
  | ArrayParameter<ElementType, 'in' | 'out' | 'inout'>
  | ScalarParameter<ElementType>
  | UniformParameter<unknown>
  | TypegpuSchema;

/**
 * Parameters by name. A uniform structure of a WGSL module may be one parameter, or its members may
 * be: by name, or by path ('source.stride') if two variables have the member.
 */
export type KernelParameters = Readonly<Record<string, KernelParameter>>;

type ScalarOf<T extends ElementType> = T extends 'i64' | 'u64' ? bigint : number;

/** What the kernel function gets. Arrays that are `in` cannot be assigned to. */
export type KernelValues<P extends KernelParameters> = {
  readonly [K in keyof P]: P[K] extends ArrayParameter<infer T, infer U>
    ? U extends 'in'
      ? Readonly<TypedArrays[T]>
      : TypedArrays[T]
    : P[K] extends ScalarParameter<infer T>
      ? ScalarOf<T>
      : UniformValueOf<P[K]>;
};

/** The part [begin, end) of one call. Calls together cover [0, size) once, in any order. */
export interface KernelRange {
  readonly begin: number;
  readonly end: number;
  readonly size: number;
  readonly unit: number;
  readonly units: number;
}

/** A kernel as a function. `memory` has all arrays of the launch by address. */
export type KernelFunction<P extends KernelParameters> = (
  values: KernelValues<P>,
  range: KernelRange,
  memory: AddressView,
) => void | Promise<void>;

/** A kernel that lives in a module, so that it may import others. */
export interface KernelModule {
  readonly module: URL | string;
  /** 'default' by default. */
  readonly export?: string;
}

const KERNEL_MODULE: OptionNames<KernelModule> = { module: true, export: true };

/** A kernel in WGSL for GPUs, and perhaps as a function for other devices. */
export interface WgslKernel<P extends KernelParameters = KernelParameters> {
  /**
   * The text of the module. Storage variables are arrays; uniform variables, or their members, are
   * numbers; all by the names of the parameters. u32 numbers `begin`, `end` and `size` tell the
   * part of a launch.
   */
  readonly wgsl: string;
  /** May be left out if the module has one only. */
  readonly entryPoint?: string;
  /**
   * Names of parameters by group and binding, where the module's own names are generated: `[['x',
   * 'y'], { 3: 'sizes' }]`. Variables that are not among them have the names of their parameters.
   */
  readonly groups?: GroupNames;
  /** Values of `override` declarations, by name or by the number of their `@id`. */
  readonly constants?: Readonly<Record<string, number | boolean>>;
  readonly function?: KernelFunction<P> | KernelModule;
}

const WGSL_KERNEL: OptionNames<WgslKernel> = {
  wgsl: true,
  entryPoint: true,
  groups: true,
  constants: true,
  function: true,
};

/** A function of TypeGPU, or an entry point of `tgpu.computeFn`. */
export type TypegpuFunction =
  | ((index: number) => unknown)
  | { readonly shell: { readonly entryPoint: 'compute' } };

/** A kernel as a function of TypeGPU; install `typegpu`. */
export interface TypegpuKernel {
  /**
   * A function of one index, marked 'use gpu', or an entry point, for GPUs only. Arrays and numbers
   * are entries of bind group layouts, by the names of the parameters.
   */
  readonly typegpu: TypegpuFunction;
  /** The module that exports this kernel, `import.meta.url`; without it GPUs alone run it. */
  readonly module?: URL | string;
  /** 'default' by default. */
  readonly export?: string;
}

const TYPEGPU_KERNEL: OptionNames<TypegpuKernel> = { typegpu: true, module: true, export: true };

/** Options of `kernel`. */
export interface KernelOptions {
  /** The name in errors and reports; by default the variable that it is assigned to. */
  readonly name?: string;
  /** Globals that the kernel means, so that ONEMEM_KERNEL_GLOBAL does not warn. */
  readonly globals?: readonly string[];
}

const KERNEL_OPTIONS: OptionNames<KernelOptions> = { name: true, globals: true };

/** A kernel that launches take. */
export interface Kernel<P extends KernelParameters = KernelParameters> {
  readonly name: string;
  readonly parameters: P;
  readonly code: AnyKernelCode;
  /** The code for GPUs, or null. */
  readonly wgsl: WgslCode | null;
  /** The function itself, for a call on the CPU, or null. */
  readonly kernel:
    | {
        call(
          values: KernelValues<P>,
          range: KernelRange,
          memory?: AddressView,
        ): void | Promise<void>;
      }['call']
    | null;
}

function scalar<T extends ElementType>(type: T): ScalarParameter<T> {
  return {
    kind: 'scalar',
    type,
    in: gatherable(type, 'in'),
    out: { kind: 'array', type, use: 'out' },
    inout: gatherable(type, 'inout'),
  };
}

function gatherable<T extends ElementType, U extends 'in' | 'inout'>(
  type: T,
  use: U,
): GatherableParameter<T, U> {
  const parameter = { kind: 'array', type, use } as const;
  return { ...parameter, by: (indices, row = 1) => ({ ...parameter, named: { indices, row } }) };
}

export const i8 = scalar('i8');
export const u8 = scalar('u8');
export const u8c = scalar('u8c');
export const i16 = scalar('i16');
export const u16 = scalar('u16');
export const i32 = scalar('i32');
export const u32 = scalar('u32');
export const i64 = scalar('i64');
export const u64 = scalar('u64');
export const f32 = scalar('f32');
export const f64 = scalar('f64');
/** `bytes.uniform` is a uniform variable whose content is handed in as bytes. */
export const bytes = { ...scalar('bytes'), uniform: BYTES };

const ELEMENTS: Record<ElementType, ScalarParameter<ElementType>> = {
  i8,
  u8,
  u8c,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f32,
  f64,
  bytes,
};

/**
 * A parameter by its short name, such as 'f32', 'f32.in' or 'u8.out'. Throws KERNEL_PARAMETER for
 * others.
 * @example
 * import { parseParameter } from 'onemem';
 *
 * console.log(parseParameter('f32.in').use); // in
 */
export function parseParameter(text: string): KernelParameters[string] {
  if (text === 'uniform') return uniform;
  if (text === 'bytes.uniform') return bytes.uniform;
  const [type, use, ...rest] = typeof text === 'string' ? text.split('.') : [''];
  const element = Object.hasOwn(ELEMENTS, type) ? ELEMENTS[type as ElementType] : undefined;
  if (
    element === undefined ||
    rest.length > 0 ||
    (use !== undefined && !['in', 'out', 'inout'].includes(use))
  ) {
    throw parameterRefusal(
      `${show(text)} is no parameter type; write one of ${Object.keys(ELEMENTS).join(', ')}, alone for a number or with .in, .out or .inout for an array; or uniform, or bytes.uniform`,
    );
  }
  return use === undefined ? element : element[use as 'in' | 'out' | 'inout'];
}

/**
 * Defines a kernel. An inline function is sent as text to the device, so it sees only its
 * parameters and JavaScript's globals. Throws KERNEL_CLOSURE for other names, KERNEL_SOURCE for
 * what is no plain function, KERNEL_PARAMETER, and WGSL errors with line and column. Output of
 * kernels goes to stderr.
 * @example
 * const scale = kernel({ x: f32.inout, by: f32 }, ({ x, by }, { begin, end }) => {
 *   for (let i = begin; i < end; i++) x[i] *= by;
 * });
 * const x = space.array(Float32Array, 1000);
 * x.data.fill(3);
 * await device.run(scale, { x, by: 2 }, { size: x.length });
 * console.log(scale.name, x.data[999]); // scale 6
 */
export function kernel<const P extends KernelParameters>(
  parameters: P,
  body: KernelFunction<P> | KernelModule | WgslKernel<P> | TypegpuKernel,
  options: KernelOptions = {},
): Kernel<P> {
  checkParameters(parameters);
  parameters = withKinds(parameters);
  checkKernelOptions(options);
  if (typeof body === 'function') {
    noteDefinition(body, kernel);
    return ofFunction(parameters, body, options);
  }
  if (isObject(body) && 'wgsl' in body) return ofWgsl(parameters, body, options, kernel);
  if (isObject(body) && 'typegpu' in body) return ofTypegpu(parameters, body, options, kernel);
  if (typeof body !== 'object' || body === null || !('module' in body)) {
    throw typeError(
      'KERNEL_BODY',
      'a kernel is a function, or { module: new URL(..., import.meta.url), export: name }, or { wgsl: text, entryPoint: name }, or { typegpu: function }',
    );
  }
  return ofModule(parameters, body, options);
}

function ofFunction<P extends KernelParameters>(
  parameters: P,
  body: KernelFunction<P>,
  options: KernelOptions,
): Kernel<P> {
  const name = options.name ?? nameOf(body);
  const { text, globals } = kernelSource(body, name);
  warnOfGlobals(name, globals, options.globals ?? []);
  return { name, parameters, code: { kind: 'inline', source: text }, wgsl: null, kernel: body };
}

function ofModule<P extends KernelParameters>(
  parameters: P,
  body: KernelModule,
  options: KernelOptions,
): Kernel<P> {
  checkOptions('a kernel from a module', body, KERNEL_MODULE);
  const url = moduleUrl('KERNEL_MODULE', body.module);
  const exportName = exportOf('KERNEL_MODULE', body.export);
  return {
    name: options.name ?? (exportName === 'default' ? url : exportName),
    parameters,
    code: { kind: 'module', url, exportName },
    wgsl: null,
    kernel: null,
  };
}

/** @param hidden the function of ours that the program called */
function ofWgsl<P extends KernelParameters>(
  parameters: P,
  body: WgslKernel<P>,
  options: KernelOptions,
  hidden: (...args: never[]) => unknown,
): Kernel<P> {
  checkOptions('a kernel in WGSL', body as WgslKernel, WGSL_KERNEL);
  const { wgsl: source, entryPoint, groups, constants, function: other } = body;
  noteDefinition(body, hidden);
  // An entry point that is no name is refused by what reads the module.
  const chosen = typeof entryPoint === 'string' && entryPoint !== '' ? entryPoint : undefined;
  const name = options.name ?? chosen ?? assignedName(body) ?? UNNAMED;
  const wgsl = wgslCode(name, parameters as Parameters, source, entryPoint, constants, groups);
  if (other === undefined) return { name, parameters, code: wgsl, wgsl, kernel: null };
  if (typeof other === 'function') noteDefinition(other, hidden);
  const named = { ...options, name };
  if (typeof other === 'function') return { ...ofFunction(parameters, other, named), wgsl };
  if (isObject(other) && 'module' in other) return { ...ofModule(parameters, other, named), wgsl };
  throw typeError(
    'KERNEL_BODY',
    `function of kernel ${name} is a function, or { module, export }, not ${show(other)}`,
  );
}

/** @param hidden as above */
function ofTypegpu<P extends KernelParameters>(
  parameters: P,
  body: TypegpuKernel,
  options: KernelOptions,
  hidden: (...args: never[]) => unknown,
): Kernel<P> {
  checkOptions('a kernel of TypeGPU', body, TYPEGPU_KERNEL);
  const url = body.module === undefined ? undefined : moduleUrl('KERNEL_MODULE', body.module);
  const exportName = exportOf('KERNEL_MODULE', body.export);
  if (url === undefined && body.export !== undefined)
    throw typeError(
      'KERNEL_MODULE',
      'a kernel of TypeGPU has an export where it has a module; add module: import.meta.url',
    );
  noteDefinition(body, hidden);
  const name =
    options.name ?? (exportName === 'default' ? (assignedName(body) ?? UNNAMED) : exportName);
  const module = typegpuModule(name, parameters as Parameters, body.typegpu, url);
  const wgsl = wgslCode(name, parameters as Parameters, module.source, undefined, undefined);
  if (url === undefined) return { name, parameters, code: wgsl, wgsl, kernel: null };
  const call = typegpuFunction(name, parameters as Parameters, module, wgsl.bindings);
  return { name, parameters, code: { kind: 'module', url, exportName }, wgsl, kernel: call };
}

function checkKernelOptions(options: KernelOptions): void {
  checkOptions('kernel()', options, KERNEL_OPTIONS);
  const { name, globals } = options;
  checkName('a kernel', name);
  if (
    globals === undefined ||
    (Array.isArray(globals) && globals.every((each) => typeof each === 'string'))
  )
    return;
  throw typeError(
    'OPTIONS',
    `globals of a kernel is an array of names, such as ['setTimeout'], not ${show(globals)}`,
  );
}

function warnOfGlobals(name: string, used: readonly string[], meant: readonly string[]): void {
  const unsure = ambiguities(used.filter((each) => !meant.includes(each)));
  if (unsure.length === 0) return;
  warn(
    'ONEMEM_KERNEL_GLOBAL',
    `kernel ${name} uses ${unsure.join(', ')}: on a device that is JavaScript's own global, also where your module imports or declares another; ` +
      'if you mean it, say so by kernel(..., ..., { globals: [...] })',
  );
}

/** The name of a module's export; 'default' unless said otherwise. */
export function exportOf(code: OnememErrorCode, name: unknown): string {
  if (name === undefined) return 'default';
  if (typeof name === 'string') return name;
  throw typeError(code, `the export of a module is named by a string, not ${show(name)}`);
}

/** The URL of a module for another thread or process. `code` is that of the error. */
export function moduleUrl(code: OnememErrorCode, module: URL | string): string {
  try {
    if (typeof module === 'string' || isUrl(module)) return new URL(module).href;
  } catch {
    // The text is no URL.
  }
  throw typeError(
    code,
    `${show(module)} is no URL; a module is named by one, since the thread that loads it does not know where your own module is: ` +
      "new URL('./module.js', import.meta.url)",
  );
}

/** Told by what it has: URLs of another realm or of a simulated browser are as good. */
function isUrl(module: unknown): module is URL {
  return isObject(module) && typeof (module as Partial<URL>).href === 'string';
}

function checkParameters(parameters: unknown): asserts parameters is KernelParameters {
  if (!isObject(parameters)) {
    throw parameterRefusal(
      'the first argument of kernel() is an object of parameters, such as { x: f32.in, n: f32 }',
    );
  }
  for (const [name, parameter] of Object.entries(parameters)) {
    if (!isParameter(parameter)) {
      throw parameterRefusal(
        `parameter ${name} of a kernel has no type; write for example f32.in, or f32 for a number`,
      );
    }
  }
  for (const [name, parameter] of Object.entries(parameters as KernelParameters)) {
    if (parameter.kind === 'array' && parameter.named !== undefined)
      checkNamed(name, parameter.named, parameters as KernelParameters);
  }
}

/** Refuses a `by` that names no array of indices, or no length of rows. */
function checkNamed(name: string, named: unknown, parameters: KernelParameters): void {
  const { indices, row } = (named ?? {}) as Partial<NamedElements>;
  const of = (each: unknown) =>
    typeof each === 'string' && Object.hasOwn(parameters, each) ? parameters[each] : null;
  const order = of(indices);
  if (
    order?.kind !== 'array' ||
    order.use === 'out' ||
    !/^[iu]\d+$/.test(order.type) ||
    indices === name
  ) {
    throw parameterRefusal(
      `parameter ${name} of a kernel: by() takes the name of another parameter that holds indices, such as { order: u32.in }, not ${show(indices)}`,
    );
  }
  const length = of(row);
  if (
    (Number.isSafeInteger(row) && (row as number) >= 1) ||
    (length?.kind === 'scalar' && length.type !== 'bytes')
  )
    return;
  throw parameterRefusal(
    `parameter ${name} of a kernel: the elements for each index of ${show(indices)} are a whole number of 1 or more, or the name of a ` +
      `parameter that is one, not ${show(row)}`,
  );
}

type Schema = UniformParameter<unknown> & { readonly inner?: TypegpuSchema };

/** Schemas of TypeGPU as parameters of ours. */
function withKinds<P extends KernelParameters>(parameters: P): P {
  if (Object.values(parameters).every(({ kind }) => kind !== undefined)) return parameters;
  const entries = Object.entries(parameters).map(([name, given]): [string, unknown] => {
    if (given.kind !== undefined) return [name, given];
    const { type, inner, propTypes, elementType, elementCount } = given as unknown as Schema;
    return [name, { kind: 'uniform', type, inner, propTypes, elementType, elementCount }];
  });
  return Object.fromEntries(entries) as P;
}

function isParameter(parameter: unknown): boolean {
  const { kind, type, use } = (parameter ?? {}) as Record<string, unknown>;
  if (kind === undefined || kind === 'uniform') return valueTypeOf(parameter) !== null;
  if (typeof type !== 'string' || !Object.hasOwn(ELEMENTS, type)) return false;
  return (
    kind === 'scalar' || (kind === 'array' && (use === 'in' || use === 'out' || use === 'inout'))
  );
}

/** Refuses what kernel() did not make, or what it would not have made. */
export function checkKernel(made: unknown): asserts made is Kernel {
  const { name, parameters, code, kernel: body } = (isObject(made) ? made : {}) as Partial<Kernel>;
  if (typeof name !== 'string' || !isCode(code) || !(body === null || typeof body === 'function')) {
    throw typeError(
      'KERNEL',
      `a launch takes a kernel, which kernel() makes of a function or a module, not ${show(made)}`,
    );
  }
  checkParameters(parameters);
}

function isCode(code: unknown): boolean {
  if (!isObject(code)) return false;
  const { kind, source, url, exportName } = code as Readonly<Record<string, unknown>>;
  if (kind === 'inline') return typeof source === 'string';
  if (kind === 'wgsl') return isWgslCode(code);
  return kind === 'module' && typeof url === 'string' && typeof exportName === 'string';
}

/** A static member of a class may stand where a function has its name. */
function nameOf(body: ((...args: never[]) => unknown) & { readonly name: unknown }): string {
  return typeof body.name === 'string' && body.name !== ''
    ? body.name
    : (assignedName(body) ?? UNNAMED);
}
