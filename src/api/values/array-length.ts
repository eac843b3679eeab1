/** Lengths of arrays. */
import { MAX_VIEW_BYTES } from '../../linux/memory/memory.js';
import { isWhole, show } from './arguments.js';
import { argumentError } from './errors.js';

/** Refuses lengths that are no lengths, and views that this version of Node cannot make. */
export function checkLength(what: string, length: unknown, elementBytes: number): void {
  if (!isWhole(length, 0)) {
    // Typed arrays can be made of values, and arrays of a space cannot.
    const filled = Array.isArray(length) || ArrayBuffer.isView(length);
    const remedy = filled
      ? '; pass how many elements there are, and fill the array by array.data.set(values)'
      : '';
    throw argumentError(
      'ARRAY_LENGTH',
      `${what}: length is ${show(length)}; it must be a whole number of 0 or more${remedy}`,
    );
  }
  if (length * elementBytes > MAX_VIEW_BYTES) {
    throw argumentError(
      'VIEW_SIZE',
      `${what}: ${length * elementBytes} bytes are more than the ${MAX_VIEW_BYTES} bytes of one view on Node.js ` +
        `${process.versions.node}; use Node.js 22 or newer, or several arrays`,
    );
  }
}
