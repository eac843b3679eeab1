/**
 * What small arrays hold that an entry point only reads: sizes, strides, offsets. What stands
 * before an array in a structure is such a one, too. Known before a launch is planned, it counts as
 * what uniform variables have.
 */
import type { Description } from './describe.js';
import { type UniformValue, valueIn } from './uniform-value.js';

/** Larger arrays are not read. */
const MOST_BYTES = 4096;

/** The first bytes of a variable. */
export interface FirstBytes {
  readonly name: string;
  readonly bytes: number;
}

/** Yields what it wants to know; null: unknown. @param bytesOf bytes bound to a variable */
export function* knownNumbers(
  { resources }: Description,
  bytesOf: (name: string) => number,
): Generator<FirstBytes, Record<string, UniformValue>, Uint8Array | null> {
  const known: Record<string, UniformValue> = {};
  for (const { name, space, isStored, type, arrayOffset, minBytes } of resources) {
    if (space !== 'storage' || isStored) continue;
    const all = bytesOf(name);
    const bytes = all <= MOST_BYTES ? all : arrayOffset;
    if (bytes === 0 || bytes > MOST_BYTES) continue;
    const content = yield { name, bytes };
    if (content === null) continue;
    const view = new DataView(new ArrayBuffer(Math.max(bytes, minBytes)));
    new Uint8Array(view.buffer).set(content);
    const value = valueIn(view, 0, type, bytes);
    if (value !== undefined) known[name] = value;
  }
  return known;
}
