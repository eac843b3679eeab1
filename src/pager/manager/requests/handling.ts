/** What a handler of requests is, and the ways in which it answers. */
import type { Answer, RequestName } from '../../protocol/messages.js';
import type { Requests } from '../../protocol/requests.js';
import type { WireError } from '../../protocol/wire.js';
import type { Client } from '../clients.js';

/** Returned by a handler whose answer comes later. */
export const LATER = Symbol('later');

type In<K extends RequestName> = Requests[K]['in'];
export type Out<K extends RequestName> = Requests[K]['out'];

export type Handlers = {
  readonly [K in RequestName]: (
    value: In<K>,
    answer: Answer<Out<K>>,
    client: Client,
  ) => Out<K> | typeof LATER;
};

/** Of a handler that has seen to the answer. */
export function later(_begun: unknown): typeof LATER {
  return LATER;
}

/** Of a handler that is through and has nothing to tell. */
export function done(_done: unknown): null {
  return null;
}

/** For work that only says how it failed. */
export function orFailure(answer: Answer<null>): (failure: WireError | null) => void {
  return (failure) => answer(null, failure);
}
