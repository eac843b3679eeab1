/** Work that pools of threads and processes are given: adds to a part of an array. */
import { type ArrayHandle, attachArray, attachSpace } from '../../../src/index.js';

/** An array by its handle, or by the text of its space and its name. */
export type Where = ArrayHandle<Int32Array> | { readonly space: string; readonly name: string };

export interface Part {
  readonly where: Where;
  readonly begin: number;
  readonly end: number;
}

function dataOf(where: Where): Int32Array {
  const array =
    'range' in where
      ? attachArray(where)
      : attachSpace(where.space).find<Int32Array>((where as { name: string }).name);
  if (array === null) throw new Error('there is no such array');
  return array.data;
}

export default function add({ where, begin, end }: Part): number {
  const data = dataOf(where);
  let sum = 0;
  for (let i = begin; i < end; i++) sum += data[i]++;
  return sum;
}
