/** Tensors of model files as arrays over the file. */
import { bytesOf, type ElementType } from '../../core/basics/elements.js';
import {
  TensorFileError,
  type TensorFileLayout,
  type TensorLayout,
} from '../../files/tensor-layout.js';
import { nearest } from '../../messages/option-names.js';
import {
  checkUse,
  FILE_USE,
  type FileUse,
  lookAtFile,
  partOfFile,
  withFile,
} from '../arrays/files/file-array.js';
import type { ArrayInternals, SpaceInternals } from '../line/internals.js';
import type { TensorFile } from '../public.js';
import { show } from '../values/arguments.js';
import { argumentError, OnememError } from '../values/errors.js';
import { type FilePath, pathOf } from '../values/file-path.js';

/** Types of elements by the names of safetensors and GGUF. */
const ELEMENTS: Readonly<Record<string, ElementType>> = {
  F64: 'f64',
  F32: 'f32',
  F16: 'u16',
  BF16: 'u16',
  I64: 'i64',
  U64: 'u64',
  I32: 'i32',
  U32: 'u32',
  I16: 'i16',
  U16: 'u16',
  I8: 'i8',
  U8: 'u8',
  BOOL: 'u8',
};

type Read = (fd: number, size: number, file: string) => TensorFileLayout;

export function openTensors(space: SpaceInternals, file: FilePath, read: Read): TensorFile {
  space.client.assertOpen('cannot open a file');
  const path = pathOf(file);
  try {
    return tensorFile(
      space,
      path,
      lookAtFile(path, (fd, size) => read(fd, size, path)),
    );
  } catch (error) {
    if (!(error instanceof TensorFileError)) throw error;
    throw new OnememError('TENSOR_FILE', error.message, { path }, { cause: error });
  }
}

function tensorFile(
  space: SpaceInternals,
  path: string,
  { tensors, metadata }: TensorFileLayout,
): TensorFile {
  const shown = tensors.map((each) => ({
    ...each,
    isAligned: each.byteOffset % bytesOf(elementOf(each)) === 0,
  }));
  return {
    tensors: shown,
    metadata,
    array: (name: string, options: FileUse = {}) =>
      tensorArray(space, path, tensors, name, options) as never,
  };
}

function tensorArray(
  space: SpaceInternals,
  path: string,
  tensors: readonly TensorLayout[],
  name: string,
  options: FileUse,
): ArrayInternals {
  const found = tensors.find((each) => each.name === name);
  if (found === undefined) {
    const near = nearest(
      show(name),
      tensors.map((each) => each.name),
    );
    const remedy =
      near === null ? `there are ${tensors.length}, listed in tensors` : `did you mean ${near}?`;
    throw argumentError('TENSOR', `${path} has no tensor ${show(name)}; ${remedy}`);
  }
  const use = checkUse('array()', name, options, FILE_USE);
  const element = elementOf(found);
  return withFile(path, use.shared ? 'shared' : 'read', (fd, size) => {
    const { byteOffset, byteLength } = found;
    const count = byteLength / bytesOf(element);
    const { source, length } = partOfFile({ fd, path, size }, element, use, {
      byteOffset,
      length: count,
    });
    return space.allocate(element, length, use.name, use.writable, source);
  });
}

/** Bytes, where the elements have no number of bytes that is whole. */
function elementOf({ dtype, byteLength }: TensorLayout): ElementType {
  const element = ELEMENTS[dtype] ?? 'u8';
  return byteLength % bytesOf(element) === 0 ? element : 'u8';
}
