// NumPy's array files: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
// Only the header is read here. The elements are left where they are: their pages come in when they
// are touched.

import { fstatSync } from 'node:fs';
import { readAt } from './read-at.js';

export type Dtype = 'i8' | 'u8' | 'i16' | 'u16' | 'i32' | 'u32' | 'i64' | 'u64' | 'f32' | 'f64';

/**
 * What NumPy calls the types of elements that can be used as they are. A boolean is a byte that is
 * 0 or 1.
 */
export type NumpyType =
  | 'bool'
  | 'int8'
  | 'uint8'
  | 'int16'
  | 'uint16'
  | 'int32'
  | 'uint32'
  | 'int64'
  | 'uint64'
  | 'float32'
  | 'float64';

interface DtypeInfo {
  readonly bytes: 1 | 2 | 4 | 8;
  readonly typedArrayName: string;
  /** As NumPy writes it in a header. */
  readonly descr: string;
  readonly numpyType: NumpyType;
}

export const dtypes: Readonly<Record<Dtype, DtypeInfo>> = {
  i8: { bytes: 1, typedArrayName: 'Int8Array', descr: '|i1', numpyType: 'int8' },
  u8: { bytes: 1, typedArrayName: 'Uint8Array', descr: '|u1', numpyType: 'uint8' },
  i16: { bytes: 2, typedArrayName: 'Int16Array', descr: '<i2', numpyType: 'int16' },
  u16: { bytes: 2, typedArrayName: 'Uint16Array', descr: '<u2', numpyType: 'uint16' },
  i32: { bytes: 4, typedArrayName: 'Int32Array', descr: '<i4', numpyType: 'int32' },
  u32: { bytes: 4, typedArrayName: 'Uint32Array', descr: '<u4', numpyType: 'uint32' },
  i64: { bytes: 8, typedArrayName: 'BigInt64Array', descr: '<i8', numpyType: 'int64' },
  u64: { bytes: 8, typedArrayName: 'BigUint64Array', descr: '<u8', numpyType: 'uint64' },
  f32: { bytes: 4, typedArrayName: 'Float32Array', descr: '<f4', numpyType: 'float32' },
  f64: { bytes: 8, typedArrayName: 'Float64Array', descr: '<f8', numpyType: 'float64' },
};

/** Where the elements of a file are, and what they are. */
export interface ArrayLayout {
  readonly dtype: Dtype;
  readonly numpyType: NumpyType;
  readonly shape: readonly number[];
  /** Elements, over all dimensions. */
  readonly length: number;
  /** Bytes from the start of the file to the first element. */
  readonly dataOffset: number;
  /** Bytes of all elements. */
  readonly byteLength: number;
}

/** No array file, or one of a kind that cannot be used. The message names the remedy. */
export class ArrayFileError extends Error {
  override readonly name = 'ArrayFileError';
  readonly code:
    | 'NOT_AN_ARRAY_FILE'
    | 'UNSUPPORTED_ARRAY_FILE'
    | 'TRUNCATED_ARRAY_FILE'
    | 'TRAILING_BYTES';
  readonly file: string;

  constructor(code: ArrayFileError['code'], file: string, message: string) {
    super(`${file}: ${message}`);
    this.code = code;
    this.file = file;
  }
}

const MAGIC = Uint8Array.of(0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59); // "\x93NUMPY"
// A plain array's header is about a hundred bytes. NumPy itself refuses to parse more than 10,000
// by default.
const MAX_HEADER_BYTES = 65_536;
const MAX_DIMENSIONS = 64;
const MAX_NESTING = 8;

/**
 * Reads the header of a `.npy` file and checks that the elements it promises are there.
 * @param source a file descriptor, or the file's content
 * @param file the name for messages
 * @param allowTrailingBytes whether something else may follow the elements
 */
export function readNpyLayout(
  source: number | Uint8Array,
  file: string,
  allowTrailingBytes = false,
): ArrayLayout {
  const { read, size } =
    typeof source === 'number' ? fromDescriptor(source, file) : fromBytes(source);
  const { text, dataOffset } = readHeader(read, file);
  const header = parseHeader(text, file);
  const { dtype, numpyType } = dtypeOf(header.get('descr')!, file);
  const { shape, length, byteLength } = shapeOf(header.get('shape')!, dtype, (what) =>
    notAnArray(file, what),
  );
  checkOrder(header.get('fortran_order'), shape, file);
  const there = size - dataOffset;
  const elements = `shape (${shape.join(', ')}) of ${dtype}`;
  if (there < byteLength)
    throw truncated(
      file,
      `${elements} needs ${byteLength} bytes after the header, and the file has ${there}`,
    );
  if (there > byteLength && !allowTrailingBytes)
    throw new ArrayFileError(
      'TRAILING_BYTES',
      file,
      `${there - byteLength} bytes follow the ${byteLength} of ${elements}; was another array appended, ` +
        'or the file overwritten in part? Save the array alone',
    );
  return { dtype, numpyType, shape, length, dataOffset, byteLength };
}

function notAnArray(file: string, what: string): ArrayFileError {
  const remedy = 'save the array with numpy.save(), or state the type of a file without a header';
  return new ArrayFileError('NOT_AN_ARRAY_FILE', file, `${what}; ${remedy}`);
}

function truncated(file: string, what: string): ArrayFileError {
  const remedy = 'was the file copied completely? Save it again';
  return new ArrayFileError('TRUNCATED_ARRAY_FILE', file, `${what}; ${remedy}`);
}

function unsupported(file: string, what: string): ArrayFileError {
  return new ArrayFileError('UNSUPPORTED_ARRAY_FILE', file, what);
}

/** The text of the header, and where the elements begin. */
function readHeader(read: Source['read'], file: string): { text: string; dataOffset: number } {
  const start = read(0, 12);
  if (start.length === 0) throw notAnArray(file, 'the file is empty');
  if (start[0] === 0x50 && start[1] === 0x4b)
    throw unsupported(
      file,
      'this is a zip archive (.npz), whose arrays cannot be used in place; unpack it and pass the .npy files in it',
    );
  if (MAGIC.some((byte, at) => start[at] !== byte))
    throw notAnArray(file, 'not a .npy file: it does not begin with "\\x93NUMPY"');
  if (start.length < 10) throw truncated(file, `the header ends after ${start.length} bytes`);
  const [major, minor] = [start[6], start[7]];
  if (major < 1 || major > 3 || minor !== 0)
    throw unsupported(
      file,
      `format version ${major}.${minor} is not known (1.0, 2.0 and 3.0 are); save the array with numpy.save()`,
    );
  const prefix = major === 1 ? 10 : 12;
  if (start.length < prefix) throw truncated(file, `the header ends after ${start.length} bytes`);
  const view = new DataView(start.buffer, start.byteOffset, start.byteLength);
  const bytes = major === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  if (bytes > MAX_HEADER_BYTES)
    throw notAnArray(
      file,
      `the header claims ${bytes} bytes, and no array of numbers needs more than ${MAX_HEADER_BYTES}`,
    );
  const header = read(prefix, bytes);
  if (header.length < bytes)
    throw truncated(
      file,
      `the header should have ${bytes} bytes and the file has ${header.length} of them`,
    );
  const encoding = major === 3 ? 'utf8' : 'latin1';
  return { text: Buffer.from(header).toString(encoding), dataOffset: prefix + bytes };
}

function parseHeader(text: string, file: string): ReadonlyMap<string, PythonValue> {
  let value: PythonValue;
  try {
    value = parsePythonLiteral(text);
  } catch (error) {
    throw notAnArray(file, `the header cannot be read (${(error as Error).message})`);
  }
  if (!(value instanceof Map)) throw notAnArray(file, 'the header is not a dictionary');
  for (const key of ['descr', 'fortran_order', 'shape'])
    if (!value.has(key)) throw notAnArray(file, `the header lacks '${key}'`);
  return value;
}

/** With one dimension, or one that is not 1, both orders are the same bytes. */
function checkOrder(
  fortran: PythonValue | undefined,
  shape: readonly number[],
  file: string,
): void {
  if (typeof fortran !== 'boolean')
    throw notAnArray(file, "the header's 'fortran_order' is neither True nor False");
  if (fortran && shape.filter((extent) => extent !== 1).length > 1)
    throw unsupported(
      file,
      `the array of shape (${shape.join(', ')}) is in Fortran (column-major) order; save numpy.ascontiguousarray(a)`,
    );
}

/** The layout of a file without a header, all of whose bytes are elements of the stated type. */
export function rawLayout(source: number | Uint8Array, dtype: Dtype, file: string): ArrayLayout {
  const { size } = typeof source === 'number' ? fromDescriptor(source, file) : fromBytes(source);
  const { bytes, numpyType } = dtypes[dtype];
  if (size % bytes !== 0) {
    throw new ArrayFileError(
      'TRUNCATED_ARRAY_FILE',
      file,
      `${size} bytes are no whole number of ${dtype} elements (${bytes} bytes each); is the stated type right?`,
    );
  }
  const length = size / bytes;
  return { dtype, numpyType, shape: [length], length, dataOffset: 0, byteLength: size };
}

/** The header of a `.npy` file. The elements that follow it begin at a multiple of 64 bytes. */
export function npyHeader(
  dtype: Dtype,
  shape: readonly number[],
  numpyType: NumpyType = dtypes[dtype]?.numpyType,
): Uint8Array {
  if (!Object.hasOwn(dtypes, dtype)) throw new TypeError(`no such element type: ${dtype}`);
  let length = 1n;
  for (const extent of shape) {
    if (!Number.isSafeInteger(extent) || extent < 0) {
      throw new RangeError(
        `an extent must be a whole number from 0, and shape (${shape.join(', ')}) has ${extent}`,
      );
    }
    length *= BigInt(extent);
  }
  if (shape.length > MAX_DIMENSIONS)
    throw new RangeError(`${shape.length} dimensions; NumPy has ${MAX_DIMENSIONS} at most`);
  if (length * BigInt(dtypes[dtype].bytes) > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new RangeError(`shape (${shape.join(', ')}) of ${dtype} is larger than any file`);
  }
  const extents = shape.length === 1 ? `${shape[0]},` : shape.join(', ');
  const descr = numpyType === 'bool' ? '|b1' : dtypes[dtype].descr;
  const dictionary = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${extents}), }`;
  // At most 64 extents of 16 digits: it always fits the two length bytes of version 1, which every
  // reader knows.
  const prefix = 10;
  const total = Math.ceil((prefix + dictionary.length + 1) / 64) * 64;
  const bytes = Buffer.alloc(total, ' ');
  bytes.set(MAGIC, 0);
  bytes[6] = 1;
  bytes[7] = 0;
  bytes.writeUInt16LE(total - prefix, 8);
  bytes.write(dictionary, prefix, 'latin1');
  bytes[total - 1] = 0x0a;
  return bytes;
}

interface Source {
  /** Up to `length` bytes from `offset`; fewer where the file ends. */
  readonly read: (offset: number, length: number) => Uint8Array;
  readonly size: number;
}

function fromBytes(bytes: Uint8Array): Source {
  return { read: (offset, length) => bytes.subarray(offset, offset + length), size: bytes.length };
}

function fromDescriptor(fd: number, file: string): Source {
  const status = fstatSync(fd);
  if (!status.isFile()) {
    throw new ArrayFileError(
      'NOT_AN_ARRAY_FILE',
      file,
      'not a regular file, and pages can be fetched on demand from regular files only; write it to a file first',
    );
  }
  return { read: (offset, length) => readAt(fd, offset, length), size: status.size };
}

function shapeOf(
  value: PythonValue,
  dtype: Dtype,
  refuse: (what: string) => ArrayFileError,
): { shape: number[]; length: number; byteLength: number } {
  if (!Array.isArray(value)) throw refuse("the header's 'shape' is no tuple");
  if (value.length > MAX_DIMENSIONS)
    throw refuse(`${value.length} dimensions, and NumPy has ${MAX_DIMENSIONS} at most`);
  const shape: number[] = [];
  let length = 1n;
  for (const extent of value) {
    if (typeof extent !== 'bigint' || extent < 0n)
      throw refuse("the header's 'shape' holds something else than counts");
    if (extent > BigInt(Number.MAX_SAFE_INTEGER))
      throw refuse(`the header's 'shape' has an extent of ${extent}`);
    shape.push(Number(extent));
    length *= extent;
  }
  const byteLength = length * BigInt(dtypes[dtype].bytes);
  if (byteLength > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw refuse(`shape (${shape.join(', ')}) of ${dtype} is larger than any file`);
  }
  return { shape, length: Number(length), byteLength: Number(byteLength) };
}

const byKindAndSize = new Map<string, Dtype>([
  ...Object.entries(dtypes).map(([dtype, { descr }]) => [descr.slice(1), dtype as Dtype] as const),
  // Booleans are bytes that hold 0 or 1.
  ['b1', 'u8'],
]);

const TO_NUMBERS = 'save them as integers or as float32 or float64: a.astype(numpy.float64)';
const STRINGS = ['strings (', 'save numbers for them, such as the codes of pandas.factorize(a)'];
const DATES = ['dates or durations (', "save them as integers: a.view('<i8')"];
/** What elements are that cannot be used, by NumPy's letter, and what to do. */
const UNUSABLE: ReadonlyMap<string, readonly string[]> = new Map([
  ['c', ['complex numbers (', 'save a.real and a.imag as two arrays']],
  ['U', STRINGS],
  ['S', STRINGS],
  ['a', STRINGS],
  ['V', ['untyped bytes (', "save them as bytes: a.view('u1')"]],
  ['M', DATES],
  ['m', DATES],
]);

function dtypeOf(descr: PythonValue, file: string): { dtype: Dtype; numpyType: NumpyType } {
  const refuse = (what: string, remedy: string) =>
    unsupported(file, `the elements are ${what}; ${remedy}`);
  if (Array.isArray(descr)) {
    throw refuse(
      'records with named fields',
      "save each field as an array of its own: numpy.save(path, a['field'])",
    );
  }
  const match =
    typeof descr === 'string' ? /^([<>|=]?)([A-Za-z?])(\d*)(\[.*\])?$/.exec(descr) : null;
  if (!match) {
    const found =
      typeof descr === 'string'
        ? `of type ${JSON.stringify(descr.slice(0, 40))}`
        : 'of no readable type';
    throw refuse(found, TO_NUMBERS);
  }
  const [, order, kind, size] = match;
  const dtype = byKindAndSize.get(kind + size);
  if (dtype) {
    if (dtypes[dtype].bytes === 1 || order === '<') {
      return { dtype, numpyType: kind === 'b' ? 'bool' : dtypes[dtype].numpyType };
    }
    const what = order === '>' ? 'big endian' : 'of no stated byte order';
    throw refuse(`${what} (${descr})`, `save them little endian: a.astype('<${kind}${size}')`);
  }
  if (kind === 'f' && size === '2')
    throw refuse(`float16 (${descr})`, 'save a.astype(numpy.float32)');
  if (kind === 'f')
    throw refuse(`floats of ${size} bytes (${descr})`, 'save a.astype(numpy.float64)');
  if (kind === 'O')
    throw refuse(
      'Python objects',
      'save an array of numbers instead; objects cannot be read without running Python',
    );
  const [what, remedy] = UNUSABLE.get(kind) ?? [];
  throw what === undefined || remedy === undefined
    ? refuse(`of type ${descr}`, TO_NUMBERS)
    : refuse(`${what}${descr})`, remedy);
}

type PythonValue = string | bigint | boolean | null | PythonValue[] | Map<string, PythonValue>;

/** All that a header may hold: strings, whole numbers, True, False, None, tuples, lists, dicts. */
function parsePythonLiteral(text: string): PythonValue {
  let at = 0;
  const fail = (what: string) => new SyntaxError(`${what} at character ${at}`);
  const skipSpace = () => {
    while (at < text.length && /\s/.test(text[at])) at++;
  };
  const string = (): string => {
    const quote = text[at++];
    let result = '';
    for (;;) {
      if (at >= text.length) throw fail('a string has no end');
      const c = text[at++];
      if (c === quote) return result;
      // Field names may hold escapes; an array of numbers has none, so the plain character does.
      if (c === '\\') {
        if (at >= text.length) throw fail('a string has no end');
        result += text[at++];
      } else result += c;
    }
  };
  const items = (close: string, depth: number): { values: PythonValue[]; commas: number } => {
    const values: PythonValue[] = [];
    let commas = 0;
    at++;
    for (;;) {
      skipSpace();
      if (text[at] === close) break;
      if (values.length > commas) throw fail(`',' or '${close}' is missing`);
      values.push(value(depth + 1));
      skipSpace();
      if (text[at] === ',') {
        at++;
        commas++;
      }
    }
    at++;
    return { values, commas };
  };
  const value = (depth: number): PythonValue => {
    if (depth > MAX_NESTING) throw fail('too much nesting');
    skipSpace();
    const c = text[at];
    if (c === "'" || c === '"') return string();
    if (c === '[') return items(']', depth).values;
    if (c === '(') {
      const { values, commas } = items(')', depth);
      // (3) is a number in brackets; (3,) is a tuple.
      return values.length === 1 && commas === 0 ? values[0] : values;
    }
    if (c === '{') {
      const map = new Map<string, PythonValue>();
      at++;
      let separated = true;
      for (;;) {
        skipSpace();
        if (text[at] === '}') break;
        if (!separated) throw fail("',' or '}' is missing");
        if (text[at] !== "'" && text[at] !== '"') throw fail('a key is missing');
        const key = string();
        skipSpace();
        if (text[at++] !== ':') throw fail("':' is missing");
        map.set(key, value(depth + 1));
        skipSpace();
        separated = text[at] === ',';
        if (separated) at++;
      }
      at++;
      return map;
    }
    // Python 2 wrote long integers with an L.
    const number = /^-?\d+(?=L?(?![\w.]))/.exec(text.slice(at, at + 40));
    if (number) {
      at += number[0].length;
      if (text[at] === 'L') at++;
      return BigInt(number[0]);
    }
    const word = /^(True|False|None)(?!\w)/.exec(text.slice(at, at + 6));
    if (word) {
      at += word[0].length;
      return word[0] === 'None' ? null : word[0] === 'True';
    }
    throw fail(at >= text.length ? 'the header ends too early' : 'something unexpected stands');
  };
  const result = value(0);
  skipSpace();
  // Some writers pad with zero bytes.
  while (at < text.length && text[at] === '\0') at++;
  if (at < text.length) throw fail('something follows the dictionary');
  return result;
}
