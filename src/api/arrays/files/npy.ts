/** NumPy's array files as arrays, and arrays as NumPy's files. */
import { writeSync } from 'node:fs';
import { bytesOf, type ElementType, type NumericArray } from '../../../core/basics/elements.js';
import {
  ArrayFileError,
  type Dtype,
  dtypes,
  type NumpyType,
  npyHeader,
  readNpyLayout,
} from '../../../files/npy.js';
import type { OptionNames } from '../../../messages/option-names.js';
import type { ArrayInternals, SpaceInternals } from '../../line/internals.js';
import { checkFlag, checkOptions, isWhole, show } from '../../values/arguments.js';
import { checkLength } from '../../values/array-length.js';
import { argumentError, OnememError, typeError } from '../../values/errors.js';
import { type FilePath, pathOf } from '../../values/file-path.js';
import { checkRange } from '../parts/array-part.js';
import { type ArrayType, elementOf, typeName } from '../parts/array-type.js';
import { managedPart } from '../parts/place.js';
import {
  type CheckedUse,
  checkUse,
  createdArray,
  FILE_USE,
  type FileUse,
  partOfFile,
  withFile,
} from './file-array.js';
import { incomplete, writeResult } from './result-file.js';

export type { NumpyType };

/** Options of `space.openNpy`. */
export interface OpenNpyOptions<T extends NumericArray = NumericArray> extends FileUse {
  /** The type that the elements must have (ARRAY_TYPE); by default that of the file. */
  readonly type?: ArrayType<T>;
  /** Whether something may follow the array in the file. */
  readonly allowTrailingBytes?: boolean;
  /**
   * Makes the file, or empties it, and gives it an array of this shape and of `type`, all zero,
   * that the array shares with it (`shared`). What was in the file is never read.
   */
  readonly create?: readonly number[];
}

export interface SaveNpyOptions {
  /** The extents; one, of all elements, unless said otherwise. */
  readonly shape?: readonly number[];
  /**
   * What NumPy is to call the elements: that of the array's type unless it is 'bool', for bytes
   * that are 0 or 1.
   */
  readonly dtype?: NumpyType;
}

const OPEN_NPY_OPTIONS: OptionNames<OpenNpyOptions> = {
  ...FILE_USE,
  type: true,
  allowTrailingBytes: true,
  create: true,
};
const SAVE_NPY_OPTIONS: OptionNames<SaveNpyOptions> = { shape: true, dtype: true };

/** An array over a file, with what the file says about it. */
export function openNpy<T extends NumericArray>(
  space: SpaceInternals,
  file: FilePath,
  options: OpenNpyOptions<T>,
): { array: ArrayInternals; shape: readonly number[]; dtype: NumpyType } {
  const path = pathOf(file);
  const use = checkUse('openNpy()', path, options, OPEN_NPY_OPTIONS);
  const { type, allowTrailingBytes = false } = options;
  checkFlag('allowTrailingBytes', allowTrailingBytes);
  const wanted = type === undefined ? null : elementOf(type);
  if (options.create !== undefined) return createNpy(space, path, use, wanted, options.create);
  return withFile(path, use.shared ? 'shared' : 'read', (fd, size) => {
    const { dtype, numpyType, shape, length, dataOffset } = layoutOf(fd, path, allowTrailingBytes);
    const element = wanted ?? dtype;
    if (fileType(element) !== dtype) {
      const held = dtypes[dtype].typedArrayName;
      throw typeError(
        'ARRAY_TYPE',
        `${path} holds ${numpyType}, which is ${held} and not ${type?.name}`,
      );
    }
    const { source } = partOfFile({ fd, path, size }, element, use, {
      byteOffset: dataOffset,
      length,
    });
    const array = space.allocate(element, length, use.name, use.writable, source);
    return { array, shape: Object.freeze([...shape]), dtype: numpyType };
  });
}

function createNpy(
  space: SpaceInternals,
  path: string,
  use: CheckedUse,
  element: ElementType | null,
  wanted: readonly number[],
): { array: ArrayInternals; shape: readonly number[]; dtype: NumpyType } {
  if (element === null)
    throw typeError('ARRAY_TYPE', `openNpy() with \`create\` needs \`type\`, such as Float32Array`);
  const shape = Object.freeze([...checkShape(wanted, 'such as [2, 3]')]);
  const length = shape.reduce((all, extent) => all * extent, 1);
  checkLength(`cannot allocate array ${use.name}`, length, bytesOf(element));
  const type = fileType(element);
  const header = npyHeader(type, shape);
  const array = createdArray(space, path, element, use.name, { head: header, length });
  return { array, shape, dtype: dtypes[type].numpyType };
}

export async function saveNpy(
  space: SpaceInternals,
  file: FilePath,
  source: unknown,
  options: SaveNpyOptions,
): Promise<number> {
  const path = pathOf(file);
  const { array, begin, end } = rangeOf(space, source);
  checkOptions('saveNpy()', options, SAVE_NPY_OPTIONS);
  const type = fileType(array.type);
  const header = npyHeader(
    type,
    shapeOf(options.shape, end - begin),
    numpyTypeOf(array, type, options.dtype),
  );
  return writeResult(path, async (fd) => {
    writeSync(fd, header, 0, header.length, 0);
    const bytes = (end - begin) * bytesOf(array.type);
    const written = await array.writeTo(fd, { begin, end, position: header.length });
    if (written !== bytes) throw incomplete(path, written, bytes);
    return header.length + bytes;
  });
}

/** What a program may do besides what the error of the file says. */
const REMEDIES: Readonly<Record<string, string>> = {
  TRAILING_BYTES: ', or say `allowTrailingBytes: true`',
  NOT_AN_ARRAY_FILE: ': space.fileArray(Float32Array, path)',
};

/** Files know fewer types than arrays. */
export function fileType(type: ElementType): Dtype {
  return type === 'u8c' || type === 'bytes' ? 'u8' : type;
}

function layoutOf(
  fd: number,
  path: string,
  allowTrailingBytes: boolean,
): ReturnType<typeof readNpyLayout> {
  try {
    return readNpyLayout(fd, path, allowTrailingBytes);
  } catch (error) {
    if (!(error instanceof ArrayFileError)) throw error;
    const remedy = REMEDIES[error.code] ?? '';
    throw new OnememError(error.code, `${error.message}${remedy}`, { path }, { cause: error });
  }
}

function rangeOf(
  space: SpaceInternals,
  source: unknown,
): { array: ArrayInternals; begin: number; end: number } {
  const part = managedPart(source);
  if (part === null) {
    throw typeError(
      'ARRAY',
      `saveNpy() takes a managed array, or a range of one, not ${show(source)}`,
    );
  }
  const { array, begin, end } = part;
  if (array.space !== space) {
    throw typeError(
      'FOREIGN_ARRAY',
      `array ${array.name} belongs to another space; call that one's saveNpy()`,
    );
  }
  array.assertUsable('save');
  checkRange(array, begin, end);
  return { array, begin: begin as number, end: end as number };
}

function shapeOf(shape: unknown, length: number): readonly number[] {
  if (shape === undefined) return [length];
  const extents = checkShape(shape, `such as [2, ${length}]`);
  const product = extents.reduce((all, extent) => all * extent, 1);
  if (product === length && extents.length <= 64) return extents;
  const what = extents.length > 64 ? 'has more than 64 dimensions' : `has ${product} elements`;
  throw argumentError(
    'SHAPE',
    `shape (${extents.slice(0, 64).join(', ')}) ${what}, and ${length} are to be saved`,
  );
}

function checkShape(shape: unknown, example: string): readonly number[] {
  if (Array.isArray(shape) && shape.every((extent) => isWhole(extent, 0))) return shape as number[];
  throw typeError('SHAPE', `a shape is an array of whole numbers ${example}, not ${show(shape)}`);
}

function numpyTypeOf(array: ArrayInternals, type: Dtype, wanted: unknown): NumpyType {
  const own = dtypes[type].numpyType;
  if (wanted === undefined || wanted === own) return own;
  if (wanted === 'bool' && type === 'u8') return 'bool';
  const possible = type === 'u8' ? "'uint8' and 'bool'" : `'${own}'`;
  throw typeError(
    'DTYPE',
    `array ${array.name} of ${typeName(array)} can be saved as ${possible}, not as ${show(wanted)}: nothing is converted`,
  );
}
