/**
 * The header of a safetensors file: eight bytes with its length, and JSON with name, type, shape
 * and place of each tensor. Content comes behind it.
 */
import { readAt } from './read-at.js';
import { TensorFileError, type TensorFileLayout, type TensorLayout } from './tensor-layout.js';

/** The format's own limit, so that a file of another kind is not read as one header. */
const MOST_HEADER_BYTES = 100_000_000;
const LENGTH_BYTES = 8;

/** Reads the header alone. @throws TensorFileError */
export function readSafetensors(fd: number, size: number, file: string): TensorFileLayout {
  const refuse = (what: string) => new TensorFileError(file, 'safetensors', what);
  const prefix = readAt(fd, 0, LENGTH_BYTES);
  if (prefix.length < LENGTH_BYTES) throw refuse(`it has ${size} bytes`);
  const bytes = Number(prefix.readBigUInt64LE());
  if (bytes > Math.min(MOST_HEADER_BYTES, size - LENGTH_BYTES))
    throw refuse(`its header would have ${bytes} bytes`);
  const text = readAt(fd, LENGTH_BYTES, bytes);
  const { __metadata__: metadata = {}, ...entries } = parsed(text, refuse);
  const first = LENGTH_BYTES + bytes;
  const tensors = Object.entries(entries).map(([name, entry]) =>
    layoutOf(name, entry, first, size, refuse),
  );
  return { tensors, metadata: metadata as Record<string, unknown> };
}

function parsed(text: Buffer, refuse: (what: string) => Error): Record<string, unknown> {
  let header: unknown;
  try {
    header = JSON.parse(text.toString());
  } catch (error) {
    throw refuse(`its header is no JSON (${(error as Error).message})`);
  }
  if (typeof header !== 'object' || header === null || Array.isArray(header))
    throw refuse('its header is no object');
  return header as Record<string, unknown>;
}

function layoutOf(
  name: string,
  entry: unknown,
  first: number,
  size: number,
  refuse: (what: string) => Error,
): TensorLayout {
  const { dtype, shape, data_offsets: offsets } = (entry ?? {}) as Record<string, unknown>;
  if (
    typeof dtype !== 'string' ||
    !areNumbers(shape) ||
    !areNumbers(offsets) ||
    offsets.length !== 2
  )
    throw refuse(`tensor ${name} has no dtype, shape and data_offsets`);
  const [begin, end] = offsets;
  if (begin > end || first + end > size)
    throw refuse(
      `tensor ${name} lies at bytes ${begin} to ${end} of ${size - first}; was the file cut off?`,
    );
  return { name, dtype, shape, byteOffset: first + begin, byteLength: end - begin };
}

function areNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((each) => Number.isSafeInteger(each) && each >= 0);
}
