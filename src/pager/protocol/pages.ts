/** Pages and bytes of arrays, as requests name them, and what is reported about them. */
import type { Advice } from '../../core/basics/types.js';

/** Pages of an array. It is named, since its addresses may be another one's by now. */
export interface ArrayPages {
  readonly range: number;
  readonly name: string;
  readonly firstPage: number;
  readonly count: number;
}

/** Where bytes of an array begin. Its name tells it from a later one at the addresses. */
export interface BytePlace {
  readonly range: number;
  readonly name: string;
  readonly offset: number;
}

export interface PageReport {
  /** Bits of nodes that hold the page's content, a word a page. */
  readonly nodes: Uint32Array;
  /** Two bits a processor: its right. */
  readonly access: Uint32Array;
  /** Bits of PageState. */
  readonly flags: Uint8Array;
  /** What `Provided` means here. */
  readonly providedBy: 'file' | 'provider' | 'clone' | 'shared';
  /** Names of processors, by their numbers. */
  readonly processors: readonly (string | undefined)[];
}

export interface PointerReport {
  readonly name: string;
  readonly element: number;
  /** Bytes from the beginning of the array. */
  readonly byteOffset: number;
  readonly page: PageReport;
}

export type AdviceChange = Partial<Advice>;

/** What was advised for pages of a range. */
export interface AdviceRun {
  readonly first: number;
  readonly end: number;
  readonly advice: Advice;
  /** By processor that is to reach host memory in place: how far it does. */
  readonly remote: readonly ('in place' | 'partly' | 'migrates' | undefined)[];
}

export interface PinReport {
  /** Whether the kernel may not swap the pages. */
  readonly locked: boolean;
}
