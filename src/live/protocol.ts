/** What a program and the thread of its live picture say to each other. */
import type { ArrayHandle } from '../api/arrays/parts/array-handle.js';
import type { SpaceHandle } from '../pager/protocol/space.js';
import type { Signal } from '../trace/activity/signals.js';

/** Arrays whose elements the page may draw as points. */
export interface PointsData {
  readonly name: string;
  /** Null: the index of the element. */
  readonly x: ArrayHandle | null;
  readonly y: ArrayHandle;
}

export interface LiveThreadData {
  readonly handle: SpaceHandle | string;
  /** 0: any that is free. */
  readonly port: number;
  readonly title: string;
  readonly points: readonly PointsData[];
}

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
