/**
 * Elements of an array are in `array.data`. An index on the array itself would make a property
 * there, or read as undefined, and what takes arrays of any kind, such as
 * `Float32Array.from(array)`, would make NaN of that: both are refused where it happens.
 */
import { typeError } from './errors.js';

/** As a program writes them; property names are strings. */
const INDEX = /^(0|[1-9]\d*)$/;

/** What typed arrays have, arrays of a space have not, and no program uses to tell them. */
const OF_TYPED_ARRAYS: ReadonlySet<string> = new Set([
  'at',
  'buffer',
  'copyWithin',
  'every',
  'fill',
  'filter',
  'findIndex',
  'includes',
  'indexOf',
  'join',
  'map',
  'reduce',
  'reverse',
  'set',
  'slice',
  'some',
  'sort',
  'subarray',
]);

/** Behind the class of arrays: only unknown names come here, so that others cost nothing. */
export const NO_INDICES: object = new Proxy(Object.prototype, {
  get(target, key, array: unknown) {
    refuseIndex(key, array);
    refuseElements(key, array);
    return Reflect.get(target, key, array);
  },
  set(target, key, value, array: unknown) {
    refuseIndex(key, array);
    return Reflect.set(target, key, value, array);
  },
});

/** Without this `x.fill(1)` is no function, and `new Float64Array(x.buffer)` is empty. */
function refuseElements(key: string | symbol, array: unknown): void {
  if (typeof key !== 'string' || !OF_TYPED_ARRAYS.has(key)) return;
  const { name } = array as { readonly name?: string };
  throw typeError(
    'ARRAY_INDEX',
    `array ${name} has no ${key} itself: its elements are in data, as in x.data.${key}`,
  );
}

function refuseIndex(key: string | symbol, array: unknown): void {
  if (typeof key !== 'string' || !INDEX.test(key)) return;
  const { name } = array as { readonly name?: string };
  throw typeError(
    'ARRAY_INDEX',
    `array ${name} has no element ${key} itself: its elements are in data, as in x.data[${key}]`,
  );
}
