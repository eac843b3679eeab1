/** What manager and provider thread tell each other, and what the function gets. */
import type { MessagePort } from 'node:worker_threads';
import type { ElementType, NumericArray } from '../../core/basics/elements.js';

/** The array that a provider fills. */
export interface ProvidedArrayFacts {
  readonly name: string;
  readonly type: ElementType;
  readonly length: number;
  readonly byteLength: number;
}

/** Whole pages to fill, at most 256 KiB. */
export interface FillRequest<D = unknown> {
  /** The memory to fill, all zero. Later writes to it are lost. */
  readonly bytes: Uint8Array;
  /** The same memory as elements: `values[0]` is element `begin`. */
  readonly values: NumericArray;
  /** Place of `bytes` in the array. */
  readonly byteOffset: number;
  readonly byteLength: number;
  /** Elements [begin, end). */
  readonly begin: number;
  readonly end: number;
  /** The option `data` of the array. */
  readonly data: D;
  readonly array: ProvidedArrayFacts;
  /** Denies the access, with a reason (ACCESS_REFUSED). */
  refuse(reason: string): never;
}

/**
 * Fills `bytes`, or returns the content. It must be pure: parts are asked for again, in any order.
 */
export type FillFunction<D = unknown> =
  | ((request: FillRequest<D>) => void | Promise<void>)
  | ((request: FillRequest<D>) => FilledBytes | Promise<FilledBytes>);

/** Exactly as many bytes as were asked for; undefined stands for the memory that was handed in. */
type FilledBytes = ArrayBufferView | ArrayBuffer | undefined;

/** A module that fills a range, and what its function is handed with each request. */
export interface ProviderSource {
  readonly url: string;
  readonly exportName: string;
  readonly data: unknown;
  readonly timeoutMs: number;
  readonly type: ElementType;
  readonly length: number;
}

export interface ProviderThreadData {
  readonly url: string;
  readonly exportName: string;
  readonly data: unknown;
  readonly array: ProvidedArrayFacts;
  /** Read by the manager without an event loop. */
  readonly port: MessagePort;
  /** A place of the staging memory for each part that may be under way. */
  readonly staging: SharedArrayBuffer;
  readonly placeBytes: number;
  /** A word for each place, raised as its call begins, and one that counts ended calls. */
  readonly marks: SharedArrayBuffer;
  readonly wakeFd: number;
}

/** `pool`: it is to count its requests to Node.js's thread pool. */
export type ToProvider =
  | { readonly place: number; readonly byteOffset: number; readonly byteLength: number }
  | 'pool'
  | 'end';

export interface ProviderFailure {
  readonly refused: boolean;
  readonly message: string;
  readonly stack?: string;
}

export type FromProvider =
  /** The module has been loaded, in the thread with this number of the kernel's. */
  | { readonly thread: number }
  | { readonly unusable: ProviderFailure }
  | { readonly poolRequests: number }
  | { readonly place: number; readonly failure: ProviderFailure | null };
