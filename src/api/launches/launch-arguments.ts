/** What a launch is handed for the parameters of its kernel. */
import { types } from 'node:util';
import { addressName } from '../../core/basics/address-view.js';
import {
  bytesOf,
  constructorName,
  type ElementType,
  elementTypeOf,
  type NumericArray,
} from '../../core/basics/elements.js';
import type { LaunchParameter } from '../../drivers/driver.js';
import type { AnyKernelCode } from '../../drivers/wgsl-launch.js';
import { refuseUnknown } from '../../messages/option-names.js';
import type { Gather } from '../../pager/protocol/operations.js';
import type { ArrayPages } from '../../pager/protocol/pages.js';
import { type Place, pagesAround, placeOf, refuseTaken } from '../arrays/parts/place.js';
import type { Kernel, KernelParameters } from '../kernels/kernel.js';
import { checkScalar } from '../kernels/scalars.js';
import { type ValueType, valueTypeOf } from '../kernels/uniform-parameters.js';
import { bytesOfBytes, bytesOfValue, plainValue } from '../kernels/uniform-values.js';
import { type ModuleArguments, moduleArguments } from '../kernels/wgsl-kernel.js';
import type { UniformLayout } from '../kernels/wgsl-uniforms.js';
import { type DeviceInternals, isManaged, type SpaceInternals } from '../line/internals.js';
import { arrayTypeName, isObject, show } from '../values/arguments.js';
import { argumentError, typeError } from '../values/errors.js';
import type { Staging } from './staging.js';

type ArrayUse = 'in' | 'out' | 'inout';

interface ScalarArgument {
  readonly name: string;
  readonly kind: 'scalar';
  readonly value: number | bigint;
}

/** An argument of managed memory (`place`), or of the program's own (`plain`). */
interface ArrayArgument {
  readonly name: string;
  readonly kind: 'array';
  readonly type: ElementType;
  readonly use: ArrayUse;
  readonly place: Place | null;
  readonly plain: NumericArray | null;
}

/** What functions get for a value of several numbers, or modules in WGSL. */
type ValueArgument = Extract<LaunchParameter, { kind: 'value' | 'bytes' }>;

export type LaunchArgument = ScalarArgument | ArrayArgument | ValueArgument;

/** Refuses what does not name the kernel's parameters. */
export function checkArgumentNames({ name, parameters }: Kernel, args: unknown): void {
  const known = Object.keys(parameters);
  if (!isObject(args) || ArrayBuffer.isView(args) || isManaged(args)) {
    const what = isManaged(args) ? `array ${args.name}` : show(args);
    throw typeError(
      'OPTIONS',
      `kernel ${name} takes its arguments by name, { ${known.join(', ')} }, not ${what}`,
    );
  }
  refuseUnknown('KERNEL_ARGUMENT', `kernel ${name} has no parameter`, Object.keys(args), known);
}

/**
 * Refuses arguments that the kernel cannot be called with, by name. Those that the module does not
 * use are left out.
 * @param code what the device runs of the kernel
 */
export function checkArguments(
  space: SpaceInternals,
  kernel: Kernel,
  code: AnyKernelCode,
  args: Readonly<Record<string, unknown>>,
): LaunchArgument[] {
  const module = code.kind === 'wgsl' ? moduleArguments(code) : null;
  const given = Object.entries(kernel.parameters).flatMap(([name, parameter]) =>
    module?.unused.has(name) ? [] : argumentOf(space, kernel, name, parameter, module, args[name]),
  );
  refuseOverlaps(kernel, given);
  return given;
}

/** Refuses arrays without elements where the kernel could not be told that they have none. */
export function refuseEmpty(
  { name }: Kernel,
  given: readonly LaunchArgument[],
  device: DeviceInternals,
): void {
  if (device.capabilities.kernels !== 'wgsl') return;
  for (const each of given) {
    if (each.kind !== 'array' || lengthOf(each) > 0) continue;
    throw argumentError(
      'ARRAY_LENGTH',
      `kernel ${name}, parameter ${each.name}: the array has no elements, and in WGSL an array has one or more; ` +
        'leave the launch out, or hand in an array of one element and a number that says how many are meant',
    );
  }
}

function lengthOf({ place, plain }: ArrayArgument): number {
  return (place ?? (plain as NumericArray)).length;
}

/** The arguments in drivers' words, and their pages. The program's own arrays are staged. */
export function handOver(
  kernel: Kernel,
  given: readonly LaunchArgument[],
  whole: boolean,
  staging: Staging,
): { parameters: LaunchParameter[]; arrays: ArrayPages[]; gathers: Gather[] } {
  const arrays: ArrayPages[] = [];
  // Whether a module's kernel asks for its memory is not known here.
  const addressed =
    kernel.code.kind === 'module' || (kernel.kernel !== null && kernel.kernel.length > 2);
  const parameters: LaunchParameter[] = [];
  for (const each of given) {
    if (each.kind !== 'array') {
      parameters.push(each);
      continue;
    }
    const { name, type, use: declared } = each;
    const { offset, length, address, pages } = managedPlace(each, whole, staging);
    if (length > 0) arrays.push(pages);
    // A launch over a part leaves what other parts wrote: only a whole one begins with zeros.
    const use = declared === 'out' && !whole ? 'inout' : declared;
    parameters.push({ name, kind: 'array', type, use, offset, length });
    if (addressed)
      parameters.push({ name: addressName(name, declared), kind: 'scalar', value: address });
  }
  return { parameters, arrays, gathers: gathersOf(kernel, given) };
}

/** What the kernel's parameters say of each other, with this launch's lengths of rows. */
function gathersOf(kernel: Kernel, given: readonly LaunchArgument[]): Gather[] {
  const gathers: Gather[] = [];
  for (const [table, parameter] of Object.entries(kernel.parameters)) {
    if (parameter.kind !== 'array' || parameter.named === undefined) continue;
    const { indices, row: said } = parameter.named;
    const argument = given.find(({ name }) => name === said);
    const row = Number(argument?.kind === 'scalar' ? argument.value : said);
    // The length of a row may be any number that the program hands in: of one that is none there is
    // nothing to plan.
    if (Number.isSafeInteger(row) && row >= 1) gathers.push({ table, indices, row });
  }
  return gathers;
}

function managedPlace(
  { name, type, use, place, plain }: ArrayArgument,
  whole: boolean,
  staging: Staging,
): { offset: number; length: number; address: number; pages: ArrayPages } {
  const way = { in: use !== 'out' || !whole, back: use !== 'in' };
  const used = place ?? staging.stage(plain as NumericArray, type, name, way);
  const { array, offset, length } = used;
  return {
    offset,
    length,
    address: Number(array.address) + offset - array.offset,
    pages: pagesAround(used),
  };
}

function argumentOf(
  space: SpaceInternals,
  kernel: Kernel,
  name: string,
  parameter: KernelParameters[string],
  module: ModuleArguments | null,
  value: unknown,
): LaunchArgument {
  const where = `kernel ${kernel.name}, parameter ${name}`;
  if (value === undefined) throw typeError('KERNEL_ARGUMENT', `${where}: no argument was given`);
  if (parameter.kind !== 'array' && parameter.kind !== 'scalar')
    return valueArgument(where, name, parameter, module, value);
  const { type } = parameter;
  if (parameter.kind === 'scalar') {
    checkScalar(where, type, value);
    return { name, kind: 'scalar', value };
  }
  // What a module only reads stays where it is: it has no need to come home.
  const use = parameter.use === 'inout' && module?.readOnly.has(name) ? 'in' : parameter.use;
  const place = placeOf(space, `pass to ${where}`, value);
  if (place !== null) {
    if (!sameElements(place.type, type)) {
      const shown = place.type === 'bytes' ? 'bytes' : constructorName(place.type);
      throw typeError(
        'KERNEL_ARGUMENT',
        `${where} is ${type}, but array ${place.array.name} is ${shown}`,
      );
    }
    return { name, kind: 'array', type, use, place, plain: null };
  }
  if (!ArrayBuffer.isView(value) || types.isDataView(value)) {
    throw typeError(
      'KERNEL_ARGUMENT',
      `${where} takes a managed array, a part of one such as x.range(0, 100), or a typed array, not ${show(value)}`,
    );
  }
  const element = elementTypeOf(arrayTypeName(value) ?? '');
  if (element === undefined || !sameElements(element, type)) {
    throw typeError('KERNEL_ARGUMENT', `${where} is ${type}, not ${show(value)}`);
  }
  refuseTaken(`pass to ${where}`, value);
  return { name, kind: 'array', type, use, place: null, plain: value as NumericArray };
}

function valueArgument(
  where: string,
  name: string,
  parameter: KernelParameters[string],
  module: ModuleArguments | null,
  value: unknown,
): ValueArgument {
  if (module === null)
    return {
      name,
      kind: 'value',
      value: plainValue(where, valueTypeOf(parameter) as ValueType, value),
    };
  const { type, left, isBytes } = module.layouts.get(name) as UniformLayout;
  const content = isBytes
    ? bytesOfBytes(where, type, value)
    : bytesOfValue(where, type, value, left);
  return { name, kind: 'bytes', content };
}

/** An `out` argument is emptied first, and parts run in any order: it must not overlap. */
function refuseOverlaps({ name: kernel }: Kernel, given: readonly LaunchArgument[]): void {
  const arrays = given.filter((each): each is ArrayArgument => each.kind === 'array');
  for (const [at, one] of arrays.entries()) {
    for (const other of arrays.slice(at + 1)) {
      if ((one.use === 'in' && other.use === 'in') || !overlap(one, other)) continue;
      const written = one.use === 'in' ? other : one;
      throw argumentError(
        'OVERLAPPING_ARGUMENTS',
        `kernel ${kernel}: parameters ${one.name} (${textOf(one)}) and ${other.name} (${textOf(other)}) overlap, and ${written.name} is ` +
          `written (${written.use}), while what one part of a launch writes no other part may see. To change elements where they are, give ` +
          'the kernel one inout parameter for both; otherwise hand in parts that do not overlap, or a copy (array.clone(), slice())',
      );
    }
  }
}

function overlap(one: ArrayArgument, other: ArrayArgument): boolean {
  if (one.place !== null && other.place !== null) {
    return meet(one.place.offset, one.place.bytes, other.place.offset, other.place.bytes);
  }
  const { plain } = one;
  if (plain === null || other.plain === null || plain.buffer !== other.plain.buffer) return false;
  return meet(plain.byteOffset, plain.byteLength, other.plain.byteOffset, other.plain.byteLength);
}

function meet(begin: number, bytes: number, otherBegin: number, otherBytes: number): boolean {
  return Math.max(begin, otherBegin) < Math.min(begin + bytes, otherBegin + otherBytes);
}

function textOf({ place, plain }: ArrayArgument): string {
  return place !== null ? place.text : `a ${arrayTypeName(plain) ?? 'typed array'}`;
}

/** Raw bytes and u8 are the same to a kernel. */
function sameElements(a: ElementType, b: ElementType): boolean {
  return (
    a === b || (bytesOf(a) === 1 && (a === 'bytes' || b === 'bytes') && a !== 'i8' && b !== 'i8')
  );
}
