/** Names of options, parameters and parts: a wrong one is refused with the nearest known one. */

import type { OnememErrorCode } from './error-codes.js';

/** Every option of an object, so that the compiler says where one is not named. */
export type OptionNames<T> = Readonly<Record<keyof T, true>>;

const LONGEST_NAME = 60;

/**
 * Throws a TypeError for the first name that is not known, with the nearest one that is.
 * @param what the beginning of the message, up to the name: 'array() has no option'
 */
export function refuseUnknown(
  code: OnememErrorCode,
  what: string,
  names: readonly string[],
  known: readonly string[],
): void {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const near = nearest(unknown, known);
  const shown = unknown.length > LONGEST_NAME ? `${unknown.slice(0, LONGEST_NAME)}...` : unknown;
  const proposal = near === null ? '' : `; did you mean ${near}?`;
  const list =
    known.length === 0
      ? 'there is none'
      : `there ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`;
  throw Object.assign(
    new TypeError(`${what} ${shown}${proposal === '' ? '; ' : `${proposal} `}${list}`),
    { code },
  );
}

/** The known name that a slip may have made this one of; null when none is like it. */
export function nearest(name: string, known: readonly string[]): string | null {
  if (name.length > LONGEST_NAME) return null;
  let best: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const each of known) {
    const distance = editDistance(name.toLowerCase(), each.toLowerCase());
    if (distance * 2 > Math.max(name.length, each.length) || distance >= least) continue;
    best = each;
    least = distance;
  }
  return best;
}

/** Letters to add, leave out, change or swap with their neighbour (optimal string alignment). */
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = rows[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(change, rows[i - 1][j] + 1, row[j - 1] + 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) row[j] = Math.min(row[j], rows[i - 2][j - 2] + 1);
    }
    rows.push(row);
  }
  return rows[a.length][b.length];
}
