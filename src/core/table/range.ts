/**
 * A range: the addresses of one array, and what was said about its pages, also about those that
 * were never touched.
 */
import type { Intervals } from '../basics/intervals.js';
import type { Access, Advice } from '../basics/types.js';

/** What fills pages that no node holds. */
export interface RangeOptions {
  /** Shown in messages. */
  readonly name: string;
  /** False: every write is denied. */
  readonly writable: boolean;
  /** Whether untouched pages come from a provider (a file) instead of being zero. */
  readonly provided: boolean;
  /**
   * What the provider gives is the content of another range of the space, so that filling a page
   * may need memory itself.
   */
  readonly derived?: boolean;
  /**
   * The provider takes changed pages: what the host has no room for goes there, rather than to the
   * host's home.
   */
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

/** What is being found out of a processor's way through a range. */
export interface Trial {
  /** Blocks that come back from one that is tried to the next. */
  every: number;
  /** Of those, the ones that are left. */
  left: number;
  /** The block that is tried; -1: none is. */
  block: number;
  /** Pages of it that have come alone, none of them next to another. */
  pages: number;
  /** The last block that was tried was, so that pages come alone. */
  sparse: boolean;
}

export interface Range extends RangeOptions {
  readonly id: number;
  /** First page of the space. */
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
  /**
   * By processor: faults that lay scattered over the range while its node was full, less those that
   * followed others; none: 0.
   */
  readonly scattered: number[];
  /** By processor: whether it touches most pages of the blocks that it goes through. */
  readonly trials: Trial[];
  /**
   * Someone outside of the core is asked before a thread gets a right: threads of host memory get
   * only what they fault for.
   */
  guarded: boolean;
  /** Subscribers that want to know of invalidations. */
  watchers: number;
  /** Its provider could not take pages, and is given none until it says that it can. */
  refuses: boolean;
  /** How many of its pages have been freed. */
  freedPages: number;
  /** The block at whose beginning a processor last came to what is far away; -1: none has. */
  beganIn: number;
  /**
   * How many of those after it were asked for then, and how many the processor has been seen to
   * walk into.
   */
  askedBlocks: number;
  walkedBlocks: number;
  /** The block of the host's last fault while its memory was full; -1: it had none. */
  hostBlock: number;
}
