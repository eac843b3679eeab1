/** Whose memory a view shows: a managed array's view stands for the array everywhere. */
import type { NumericArray } from '../../core/basics/elements.js';
import type { ArrayInternals } from './internals.js';

interface Owner {
  readonly array: ArrayInternals;
  /** The range that the array was when the view was made. */
  readonly range: number;
}

/** By the buffer, which views share. Long-lived buffers must not keep their arrays. */
const owners = new WeakMap<
  ArrayBufferLike,
  { readonly array: WeakRef<ArrayInternals>; readonly range: number }
>();
/** Code that has the view need not have the array, too. */
const kept = new WeakMap<NumericArray, ArrayInternals>();

export function noteView(view: NumericArray, array: ArrayInternals): void {
  owners.set(view.buffer, { array: new WeakRef(array), range: array.rangeId });
  kept.set(view, array);
}

/** Null for memory of the program's own. */
export function ownerOfView(view: ArrayBufferView): Owner | null {
  const owner = owners.get(view.buffer);
  const array = owner?.array.deref();
  return owner === undefined || array === undefined ? null : { array, range: owner.range };
}
