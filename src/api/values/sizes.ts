/** Sizes as people write them. */
import { BLOCK_BYTES } from '../../core/basics/types.js';
import { show } from './arguments.js';
import { argumentError } from './errors.js';

const binary: Record<string, number> = {
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
  t: 2 ** 40,
  p: 2 ** 50,
};
const decimal: Record<string, number> = { k: 1e3, m: 1e6, g: 1e9, t: 1e12, p: 1e15 };

/**
 * Bytes of a size such as '64MiB', '1.5 GiB', '4096' or '64MB'. 'MiB' and 'M' count by 1024, 'MB'
 * by 1000, as GNU tools do. A size that is no whole number of bytes is rounded to the nearest.
 * @param what the option, for the error
 */
export function parseSize(text: string, what?: string): number {
  const refuse = (why: string) =>
    argumentError(
      'SIZE',
      `${what === undefined ? '' : `${what}: `}${JSON.stringify(text)} is no size (${why}); write it as 64MiB, 1.5GiB, 64MB or 4096`,
    );
  const match = /^(\d+(?:\.\d*)?|\.\d+)\s*(?:([kmgtp])(i?b)?|b)?$/i.exec(text.trim());
  if (!match) throw refuse(/^\s*-/.test(text) ? 'it is negative' : 'not a number with a unit');
  const letter = match[2]?.toLowerCase();
  const factor =
    letter === undefined ? 1 : match[3]?.toLowerCase() === 'b' ? decimal[letter] : binary[letter];
  const bytes = Math.round(Number(match[1]) * factor);
  if (!Number.isSafeInteger(bytes)) throw refuse('it is too large');
  return bytes;
}

/** @param least what the option must be at least, for the error of what is no size at all */
export function toBytes(what: string, value: number | string, least?: string): number {
  const size = typeof value === 'string' ? parseSize(value, what) : value;
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size <= 0) {
    throw argumentError(
      'SIZE',
      `${what} is ${show(value)}; it must be a number of bytes ${least === undefined ? 'above 0' : `from ${least} on`}, or a size such as '64MiB'`,
    );
  }
  return size;
}

/** Most bytes behind the host: Node.js 20 cannot look at checksums of more. */
export const MOST_STORED_BYTES = 2 ** 41;

/** The budget of storage, or of a server behind it: whole blocks, in bytes. */
export function storeBudget(what: string, said: number | string): number {
  const bytes = toBytes(what, said, '2MiB');
  if (bytes >= BLOCK_BYTES && bytes <= MOST_STORED_BYTES)
    return Math.floor(bytes / BLOCK_BYTES) * BLOCK_BYTES;
  throw argumentError(
    'SIZE',
    `${what} is ${bytes}; it must be from ${BLOCK_BYTES} (2MiB) to ${MOST_STORED_BYTES} (2TiB)`,
  );
}
