/**
 * The kernels of the soak: the same function runs on the device and, for comparison, on a plain
 * array.
 */
import {
  type AddressView,
  type ElementType,
  type Kernel,
  type KernelParameters,
  type KernelRange,
  kernel,
  type NumericArray,
  parseParameter,
  type ScalarParameter,
  u64,
  type WordType,
} from '../../src/index.js';
import { addF32, addI32, addU32 } from './typegpu-kernels.js';

/**
 * What the values of these kernels come down to, whatever the element type: the code is the same
 * for numbers and big integers.
 */
type Numbers = Float64Array;

export const ELEMENT_TYPES: readonly ElementType[] = [
  'i8',
  'u8',
  'u8c',
  'i16',
  'u16',
  'i32',
  'u32',
  'i64',
  'u64',
  'f32',
  'f64',
  'bytes',
];

export interface TypeKernels {
  /** x[i] += by */
  readonly add: Kernel;
  /** The same, from a module. */
  readonly addFromModule: Kernel;
  /** The same as a function of TypeGPU, where it has the type. */
  readonly addByTypegpu: Kernel;
  /** x[i] = by, of an array that is written only */
  readonly fill: Kernel;
  /** y[i] += x[i] */
  readonly accumulate: Kernel;
  /** The word at an address is made more by so much. */
  readonly addAt: Kernel;
  /** Throws before it writes anything. */
  readonly fail: Kernel;
}

/**
 * Integers name, by chance, elements that the kernel does not even use: a plan moves pages and
 * changes no result.
 */
function named(type: ElementType): KernelParameters[string] {
  const parameter = parseParameter(`${type}.in`) as ScalarParameter<ElementType>['in'];
  return /^[iu]\d+$/.test(type) ? parameter.by('y') : parameter;
}

const BY_TYPEGPU: { readonly [type in ElementType]?: unknown } = {
  f32: addF32,
  i32: addI32,
  u32: addU32,
};

function kernelsOf(type: ElementType): TypeKernels {
  const inout = parseParameter(`${type}.inout`);
  const by = parseParameter(type);
  const addFromModule = kernel(
    { x: inout, by },
    { module: new URL(import.meta.url), export: 'addTo' },
  );
  return {
    add: kernel({ x: inout, by }, (values, { begin, end }) => {
      const { x, by } = values as unknown as { x: Numbers; by: number };
      for (let i = begin; i < end; i++) x[i] += by;
    }),
    addFromModule,
    addByTypegpu: (BY_TYPEGPU[type] ?? addFromModule) as Kernel,
    fill: kernel({ x: parseParameter(`${type}.out`), by }, (values, { begin, end }) => {
      const { x, by } = values as unknown as { x: Numbers; by: number };
      x.fill(by, begin, end);
    }),
    accumulate: kernel({ x: named(type), y: inout }, (values, { begin, end }) => {
      const { x, y } = values as unknown as { x: Numbers; y: Numbers };
      for (let i = begin; i < end; i++) y[i] += x[i];
    }),
    addAt: kernel(
      { x: inout, by, address: u64 },
      { module: new URL(import.meta.url), export: 'addToWord' },
    ),
    fail: kernel({ x: inout }, () => {
      throw new RangeError('on purpose');
    }),
  };
}

export const KERNELS = Object.fromEntries(
  ELEMENT_TYPES.map((type) => [type, kernelsOf(type)]),
) as Record<ElementType, TypeKernels>;

export function addTo({ x, by }: { x: Numbers; by: number }, { begin, end }: KernelRange): void {
  for (let i = begin; i < end; i++) x[i] += by;
}

const WORDS: Readonly<Record<string, WordType>> = {
  Int8Array: 'i8',
  Uint8Array: 'u8',
  Uint8ClampedArray: 'u8',
  Int16Array: 'i16',
  Uint16Array: 'u16',
  Int32Array: 'i32',
  Uint32Array: 'u32',
  BigInt64Array: 'i64',
  BigUint64Array: 'u64',
  Float32Array: 'f32',
  Float64Array: 'f64',
};

export function addToWord(
  { x, by, address }: { x: NumericArray; by: number; address: bigint },
  _range: KernelRange,
  memory: AddressView,
): void {
  const type = WORDS[x.constructor.name] as 'f64';
  memory.store(type, address, memory.load(type, address) + by);
}

/** Does what a launch does, on plain arrays of this thread. */
export function runHere(
  code: Kernel,
  values: Readonly<Record<string, NumericArray | number | bigint>>,
  range: { begin: number; end: number; size: number },
): void {
  const body = (code.kernel ?? addTo) as unknown as (values: unknown, range: KernelRange) => void;
  body(values, { ...range, unit: 0, units: 1 });
}
