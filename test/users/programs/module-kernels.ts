/** Kernels of a module: one that does the same everywhere, and one that does not. */
import { isMainThread } from 'node:worker_threads';

interface Values {
  readonly x: Float32Array;
}
interface Part {
  readonly begin: number;
  readonly end: number;
}

export function addOne({ x }: Values, { begin, end }: Part): void {
  for (let i = begin; i < end; i++) x[i]++;
}

export function addWhereItRuns({ x }: Values, { begin, end }: Part): void {
  for (let i = begin; i < end; i++) x[i] += isMainThread ? 2 : 1;
}
