/** What a program and the thread of its live picture say to each other. */
import type { SpaceHandle } from '../pager/protocol/space.js';
import type { Signal } from '../trace/activity/signals.js';

/** The first message of a thread that could not begin. */
export interface Failed {
  readonly failed: string;
  /** The name of an error number, another code, or empty. */
  readonly code: string;
}

/** Its first message. */
export type FromLiveThread = { readonly url: string } | Failed;

export interface SignalsThreadData {
  readonly handle: SpaceHandle | string;
}

/** The first message says that it has begun. `atMs`: since 1970, by the clock of this machine. */
export type FromSignalsThread =
  | { readonly signals: readonly Signal[]; readonly atMs: number }
  | Failed;
