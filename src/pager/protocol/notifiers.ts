/** What subscribers of invalidations, modules or threads, are told. */
import type { InvalidationReason } from '../../core/basics/types.js';

export type { InvalidationReason };

/** Pages that a processor loses. */
export interface Invalidation {
  /** Name of the array. */
  readonly array: string;
  /** Elements [begin, end) of the pages. */
  readonly begin: number;
  readonly end: number;
  /** Pages, counted from the start of the array. */
  readonly firstPage: number;
  readonly pages: number;
  readonly reason: InvalidationReason;
  /** The processor on whose behalf it happens: 'host' or a device's name. */
  readonly owner: string;
}

/** Facts about a subscription. */
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
 * Functions of a module in the manager's thread. They may only clear tables of their own. One that
 * throws, returns a promise or takes more than 1 ms is not called again.
 */
export interface NotifierFunctions {
  /** Called before pages change. */
  invalidate(invalidation: Invalidation): void;
  /** Called after they have changed; not for 'release'. */
  invalidated?(invalidation: Invalidation): void;
}

/**
 * The export of a notifier's module. `data` comes by structured clone; shared memory stays shared.
 */
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

/** What happened to a subscription's pages since it was last told. */
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

/** The most changes that may wait for a subscriber. */
export const LONGEST_QUEUE = 65_536;

/** The sequence number of an ended subscription: odd, and no reader's beginning. */
export const SEQUENCE_ENDED = -1;
/** Sequence numbers begin at 0 again after this one. */
export const SEQUENCE_MASK = 0x7fff_ffff;
