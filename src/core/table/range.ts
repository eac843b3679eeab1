/** The addresses of one array, and what was said about its pages, touched or not. */
import type { Intervals } from '../basics/intervals.js';
import type { Access, Advice } from '../basics/types.js';

/** What fills pages that no node holds. */
export interface RangeOptions {
  readonly name: string;
  /** False: every write is denied. */
  readonly writable: boolean;
  /** Whether untouched pages come from a provider (a file) instead of being zero. */
  readonly provided: boolean;
  /** The provider gives content of another range: filling a page may need memory itself. */
  readonly derived?: boolean;
  /** The provider takes changed pages: what has no room on the host goes there, not home. */
  readonly takesBack?: boolean;
  /**
   * Other machines have the range, too, so that no processor may use its pages before that is
   * allowed (`protect`). The host's threads are not denied what they may not do, but wait for it
   * (`want`).
   */
  readonly shared?: boolean;
  /** Bytes of an element, for those who read a recording of the core. */
  readonly elementBytes?: number;
}

export interface Range extends RangeOptions {
  readonly id: number;
  readonly first: number;
  /** Pages that there are, or have been; the range may grow up to `reserved`. */
  pages: number;
  /** Pages whose addresses are the range's. */
  readonly reserved: number;
  /** What processors may do at most, by page of the range. */
  readonly protection: Intervals<Access>;
  /** Pages of the range that were cloned before they were touched. */
  readonly copyOnWrite: Intervals<boolean>;
  /** The range that each page is cloned from, at the same place of it; null: from none. */
  readonly sources: Intervals<Range | null>;
  /** What was said about the use of its pages; the same for all pages of a block. */
  readonly advice: Intervals<Advice>;
  /** Processors whose launches used the pages since that was last asked, a bit each. */
  readonly users: Intervals<number>;
  /** By processor: what its policy keeps of how it touches the range. Nothing else looks at it. */
  readonly memories: unknown[];
  /** Each right of a thread is asked for outside of the core: it gets what it faults for. */
  guarded: boolean;
  /** Subscribers that want to know of invalidations. */
  watchers: number;
  /** Its provider could not take pages, and is given none until it says that it can. */
  refuses: boolean;
  /** How many of its pages have been freed. */
  freedPages: number;
}
