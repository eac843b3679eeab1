/** What the headers of files of tensors say. */

export interface TensorLayout {
  readonly name: string;
  /** As the file calls it, such as 'F32' or 'BF16'. */
  readonly dtype: string;
  readonly shape: readonly number[];
  /** In the file. */
  readonly byteOffset: number;
  readonly byteLength: number;
}

export interface TensorFileLayout {
  readonly tensors: readonly TensorLayout[];
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** The file is none of that format, or a damaged one. */
export class TensorFileError extends Error {
  override readonly name = 'TensorFileError';

  constructor(file: string, format: 'safetensors' | 'GGUF', what: string) {
    super(`${file} is no ${format} file: ${what}`);
  }
}
