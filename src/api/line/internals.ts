/**
 * What most files here know of spaces, devices and arrays, besides what users see of them
 * (public.ts): the files that do the work of the classes need no more than this, and stand below
 * them.
 */
import type { ElementType, NumericArray } from '../../core/basics/elements.js';
import type { ArrayPages } from '../../pager/protocol/pages.js';
import type { FileSource } from '../../pager/protocol/requests.js';
import { show } from '../values/arguments.js';
import { typeError } from '../values/errors.js';
import type { PlaceNames } from '../values/residency.js';
import type { Client } from './client.js';
import type { Views } from './views.js';

export interface SpaceInternals<D extends DeviceInternals = DeviceInternals> {
  readonly client: Client;
  readonly views: Views;
  readonly isClosed: boolean;
  /** Whether launches are verified that do not say otherwise. */
  readonly verifies: boolean;
  readonly devices: readonly D[];
  /** Bytes of host memory that it may have. */
  readonly hostBytes: number;
  placeNames(): PlaceNames;
  /** Makes an array that can be written. */
  arrayOf(type: ElementType, length: number, options?: { readonly name: string }): ArrayInternals;
  /** Makes one that this thread copies over. */
  stagingArray(type: ElementType, length: number): ArrayInternals;
  /** Makes one over memory of the program's, whose file becomes the manager's to close. */
  registeredArray(fd: number, bytes: number): ArrayInternals;
  allocate(
    type: ElementType,
    length: number,
    name: string,
    writable: boolean,
    file: FileSource | null,
  ): ArrayInternals;
}

export interface DeviceInternals {
  readonly isAlive: boolean;
  readonly name: string;
  readonly kind: string;
  /** Of the processor, in the core; and another one each time that the device is started. */
  readonly id: number;
  readonly number: number;
  readonly node: number;
  /** Bytes of memory of its own. */
  readonly memory: number;
  readonly capabilities: {
    readonly cancellation: boolean;
    readonly kernels: 'functions' | 'wgsl';
    readonly directCopies: boolean;
    readonly registeredInPlace: boolean;
  };
  readonly isUsable: boolean;
  readonly sameAddresses: boolean;
  assertUsable(): void;
}

export interface ArrayInternals<T extends NumericArray = NumericArray> {
  readonly space: SpaceInternals;
  readonly name: string;
  readonly type: ElementType;
  /** Elements. */
  readonly length: number;
  readonly byteLength: number;
  readonly address: bigint;
  readonly offset: number;
  readonly rangeId: number;
  readonly isFreed: boolean;
  readonly data: T;
  /** A device that was writing the array died, or its launch was ended. */
  indeterminate: boolean;
  /** Throws where this thread knows that the array has gone. */
  assertHere(verb: string): void;
  /**
   * Throws where the array has gone.
   * @param verb what is to be done with it
   * @param asks the manager: of an empty part it hears nothing else
   */
  assertUsable(verb: string, asks?: boolean): void;
  /** Whole pages that touch the elements. */
  pagesOf(begin: number, end: number): ArrayPages;
  /** At least one, which is what an array without elements is known by. */
  readonly allPages: ArrayPages;
  /** Whole pages that belong to the elements alone; none: a count of 0 or less. */
  wholePages(begin: number, end: number): ArrayPages;
  /** The elements that lie, in whole or in part, in these pages. */
  elementsOf(firstPage: number, count: number): { begin: number; end: number };
  free(): unknown;
  /** The manager has freed all of it. */
  wasFreed(): void;
  /** Refuses what does not reach threads that look at a file past the space. */
  refuseMapped(verb: string): void;
  writeTo(fd: number, options: { begin: number; end: number; position: number }): Promise<number>;
}

const arrays = new WeakSet<object>();
const devices = new WeakSet<object>();

/** An array has been made. */
export function noteArray(array: ArrayInternals): void {
  arrays.add(array);
}

/** A device has been made. */
export function noteDevice(device: DeviceInternals): void {
  devices.add(device);
}

/** Whether it is a device, of this space or another one. */
export function isDevice(value: unknown): value is DeviceInternals & { readonly space: object } {
  return typeof value === 'object' && value !== null && devices.has(value);
}

/** Refuses what is no managed array of the space. @param what is wanted, for the message */
export function checkOwnArray(
  client: Client,
  what: string,
  array: unknown,
): asserts array is ArrayInternals {
  if (!isManaged(array)) throw typeError('ARRAY', `${what}, not ${show(array)}`);
  if (array.space.client.handle.name !== client.handle.name)
    throw typeError('FOREIGN_ARRAY', `array ${array.name} belongs to another space; ask that one`);
}

/** Whether it is a managed array, of this space or another one. */
export function isManaged(value: unknown): value is ArrayInternals {
  return typeof value === 'object' && value !== null && arrays.has(value);
}
