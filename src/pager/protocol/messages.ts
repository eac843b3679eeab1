/** Messages between a client and the manager. */
import type { Notice } from './notifiers.js';
import type { StreamEvent } from './operations.js';
import type { Requests } from './requests.js';
import type { DeviceInfo } from './space.js';
import type { WireError } from './wire.js';

export type RequestName = keyof Requests;

/** A request on its way. The answer has its number; 0: none is wanted. */
export type RequestMessage<K extends RequestName = RequestName> = {
  [N in K]: { readonly id: number; readonly name: N; readonly value: Requests[N]['in'] };
}[K];

export type ToManager = RequestMessage;

/** Called with the answer to a request, or with why there is none. */
export type Answer<T = unknown> = (value: T | null, failure: WireError | null) => void;

export type FromManager =
  | { readonly id: number; readonly value: unknown; readonly error: WireError | null }
  | { readonly event: StreamEvent }
  | { readonly notice: Notice }
  /** A device has been added, or has taken the place of one that has gone (its number). */
  | { readonly device: DeviceInfo; readonly instead: number | null }
  /** A range of which the thread has views has been freed; null: the space has been closed. */
  | { readonly freed: number | null }
  /** The turn of a `call` has come. */
  | { readonly call: { readonly stream: number; readonly sequence: number } };
