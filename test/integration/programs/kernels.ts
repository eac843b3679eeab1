/** Kernels that live in a module, with a helper that a device's process must import along. */
import type { AddressView } from '../../../src/index.js';
import { half } from './kernels-helper.js';

export function addIndex(
  { x, by }: { x: Float64Array; by: number },
  { begin, end }: { begin: number; end: number },
): void {
  for (let i = begin; i < end; i++) x[i] += i + 2 * half(by);
}

/**
 * Follows links by address for a thousand steps, and stores where it ended and how many steps it
 * took.
 */
export function chase(
  { start, ends }: { start: bigint; ends: BigUint64Array },
  _range: unknown,
  memory: AddressView,
): void {
  let at = start;
  let steps = 0n;
  for (; steps < 1000n; steps++) at = memory.load('u64', at);
  ends[0] = at;
  ends[1] = steps;
}
