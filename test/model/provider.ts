/**
 * Fills the provided arrays of the model: what an element holds follows from its index, so that a
 * page may be asked for again.
 */
import type { FillRequest, NumericArray } from '../../src/index.js';

export interface ProviderData {
  readonly factor: number;
  /** Pages from here on are refused, or fail; -1: none. */
  readonly failsFrom: number;
  readonly failure: 'refuses' | 'throws';
}

export function elementAt(index: number, factor: number): number {
  return (index * factor + (index >> 10)) % 97;
}

/** What a call of the function puts into elements [begin, begin + values.length). */
export function fillPlain(values: NumericArray, begin: number, factor: number): void {
  const big = typeof values[0] === 'bigint';
  for (let at = 0; at < values.length; at++) {
    const value = elementAt(begin + at, factor);
    values[at] = (big ? BigInt(value) : value) as never;
  }
}

export function fill({ values, begin, end, data, refuse }: FillRequest<ProviderData>): void {
  if (data.failsFrom !== -1 && end > data.failsFrom) {
    if (data.failure === 'refuses') refuse('the model wants it so');
    throw new Error('the model wants it so');
  }
  fillPlain(values, begin, data.factor);
}
