/** Kernels that live in a module, with a helper that a device's process must import along. */
import { half } from './kernels-helper.js';

export function addIndex(
  { x, by }: { x: Float64Array; by: number },
  { begin, end }: { begin: number; end: number },
): void {
  for (let i = begin; i < end; i++) x[i] += i + 2 * half(by);
}
