/** What subscribers of invalidations are told. Subscribers are modules in the manager's thread, and threads of the application. */
import type { InvalidationReason } from '../../core/types.js';

export type { InvalidationReason };

/** A change of pages that a subscription watches: a processor loses what it had of them. */
export interface Invalidation {
  /** Name of the array. */
  readonly array: string;
  /** Elements [begin, end) that the pages hold. */
  readonly begin: number;
  readonly end: number;
  /** The pages, counted from the start of the array. */
  readonly firstPage: number;
  readonly pages: number;
  readonly reason: InvalidationReason;
  /** Name of the processor on whose behalf it happens: 'host' or a device. */
  readonly owner: string;
}

/** What a module is told about its subscription when it is made. */
export interface NotifierFacts {
  readonly array: string;
  /** Elements that are watched, in whole pages. */
  readonly begin: number;
  readonly end: number;
  readonly firstPage: number;
  readonly pages: number;
  readonly elementBytes: number;
}

/**
 * The functions of a module that runs in the manager's thread. They may only clear tables of their own: memory is not to be had
 * from there, and a call that waits for the space waits for itself. One that throws, returns a promise or takes more than 1 ms
 * is not called again.
 */
export interface NotifierFunctions {
  /** Called before anything changes: when it has returned, the pages change. */
  invalidate(invalidation: Invalidation): void;
  /** Called when the change is through. Not called for 'release', after which there is nothing left to watch. */
  invalidated?(invalidation: Invalidation): void;
}

/** What the module exports. `data` is what the subscriber handed over, copied by structured clone; shared memory stays shared. */
export type CreateNotifier<D = unknown> = (
  data: D,
  facts: NotifierFacts,
) => NotifierFunctions | Promise<NotifierFunctions>;

/** The module of a subscription. */
export interface NotifierSource {
  readonly url: string;
  readonly exportName: string;
  readonly data: unknown;
}

/** What has happened to the pages of a subscription since it was last told, on its way to the subscriber. */
export interface Notice {
  readonly subscription: number;
  /** Pages of the array. */
  readonly changes: readonly {
    readonly reason: InvalidationReason;
    readonly firstPage: number;
    readonly pages: number;
  }[];
  /** Changes that found no place while the subscriber was busy. */
  readonly lost: number;
  /** Why the module is not called any more. */
  readonly detached: string | null;
  /** The subscription has ended with its array or its space. */
  readonly ended: boolean;
}

/** What a sequence number becomes when the subscription has ended. It is odd, and no number that a reader may have begun with. */
export const SEQUENCE_ENDED = -1;
/** Sequence numbers begin at 0 again after this one. */
export const SEQUENCE_MASK = 0x7fff_ffff;
