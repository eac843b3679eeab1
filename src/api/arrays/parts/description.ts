/** How objects of the package look in print, and what arrays say where they cannot be sent. */

import type { ArrayInternals } from '../../line/internals.js';
import { typeName } from './array-type.js';

/** An array as `JSON.stringify` shows it. */
export interface ArrayDescription {
  readonly name: string;
  readonly type: string;
  readonly length: number;
  readonly byteLength: number;
  /** In hexadecimal. */
  readonly address: string;
  readonly state: 'allocated' | 'freed' | 'closed';
  /** Where elements and handle are. */
  readonly note: string;
}

const NOTE = 'elements: array.data; for another thread: array.handle and attachArray(handle)';

/** What `console.log` and `util.inspect` call. */
export const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never;

/** The error of structured cloning shows this text: it names what could not be cloned. */
export const UNSENDABLE: unique symbol = Symbol(
  'a ManagedArray, which is sent by its handle: postMessage(array.handle), and attachArray(handle) over there',
) as never;

export const UNSENDABLE_SPACE: unique symbol = Symbol(
  'an AddressSpace, which is sent by its handle: postMessage(space.handle), and attachSpace(handle) over there',
) as never;

export function describe(array: ArrayInternals): ArrayDescription {
  const { name, length, byteLength } = array;
  const state = array.isFreed ? 'freed' : array.space.isClosed ? 'closed' : 'allocated';
  const address = `0x${array.address.toString(16)}`;
  return { name, type: typeName(array), length, byteLength, address, state, note: NOTE };
}

/** A space as `JSON.stringify` shows it. */
export interface SpaceDescription {
  readonly state: 'open' | 'closed';
  readonly devices: readonly DeviceDescription[];
  /** Where more is. */
  readonly note: string;
}

/** A device as `JSON.stringify` shows it. */
export interface DeviceDescription {
  readonly name: string;
  readonly kind: string;
  /** In bytes. */
  readonly memory: number;
  readonly units: number;
}

/** A stream as `JSON.stringify` shows it. */
export interface StreamDescription {
  /** The name of its device, or 'host'. */
  readonly place: string;
  readonly state: 'open' | 'closed';
  /** Operations that have not ended. */
  readonly pending: number;
}

/** An event as `JSON.stringify` shows it. */
export interface StreamEventDescription {
  readonly stream: StreamDescription;
  readonly result: 'done' | 'failed' | 'cancelled' | 'not ended';
  readonly error: string | null;
}

/** Has objects of a class show this line where they are printed, or become strings. */
export function printAs<T>(
  { prototype }: { readonly prototype: T },
  line: (object: T, inspect: (value: unknown) => string) => string,
): void {
  const shared = { configurable: true, writable: true };
  Object.defineProperty(prototype, INSPECT, {
    ...shared,
    value(this: T, _depth: number, options: object, inspect: typeof JSON.stringify) {
      return line(this, (value) => inspect(value, options as never));
    },
  });
  Object.defineProperty(prototype, 'toString', {
    ...shared,
    value(this: T) {
      return line(this, JSON.stringify);
    },
  });
}

/** One line; elements are not shown, since a look at them would bring their pages. */
export function inspectArray(array: ArrayInternals, inspect: (value: unknown) => string): string {
  const { name, type, length, address, state } = describe(array);
  const where =
    state === 'allocated'
      ? `at ${address}`
      : state === 'freed'
        ? 'freed'
        : 'of a space that has been closed';
  return `ManagedArray(${length}) ${inspect(name)} of ${type}, ${where} (${NOTE})`;
}

/** What may be given up, in one line. @param end the call for that; null: it has ended */
export function inspectHolding(what: string, facts: string, end: string | null): string {
  return end === null ? `${what} (ended)` : `${what} (${facts}; until ${end})`;
}
