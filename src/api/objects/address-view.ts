/** Loads and stores by address. */
import { AddressView } from '../../core/basics/address-view.js';
import type { ManagedArray } from '../public.js';
import { show } from '../values/arguments.js';
import { typeError } from '../values/errors.js';
import { ManagedArray as ArrayClass } from './managed-array.js';

/**
 * Loads and stores by address over some arrays, as kernels do by their third argument.
 * @example
 * const x = space.array(Uint32Array, 4);
 * const memory = addressView(x);
 * memory.store('u32', x.addressOf(2), 7);
 * console.log(x.data[2], memory.load('u32', x.addressOf(2))); // 7 7
 */
export function addressView(...arrays: readonly ManagedArray[]): AddressView {
  for (const array of arrays) {
    if (!(array instanceof ArrayClass))
      throw typeError('ARRAY', `addressView takes managed arrays, not ${show(array)}`);
  }
  return new AddressView(
    arrays.map((array) => ({ name: array.name, address: Number(array.address), data: array.data })),
  );
}
