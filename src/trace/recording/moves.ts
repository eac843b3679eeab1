/** What a recorded run tells: memories, arrays, launches, faults, and moves with their causes. */
import { HOST_NODE, type MemorySpeed, type Reason } from '../../core/basics/types.js';
import type { Whereabouts } from '../../core/queries/whereabouts.js';

/** A memory that holds pages. */
export interface Memory {
  readonly id: number;
  readonly name: string;
  budgetPages: number;
  /** It gets and gives back so much at once; a page where it is not said. */
  readonly granularityBytes?: number;
  /** How fast it is, where that was described. */
  readonly speed?: MemorySpeed;
}

export interface Processor {
  readonly id: number;
  readonly name: string;
  /** Its own memory, or -1. */
  readonly memory: number;
}

export interface RecordedArray {
  readonly id: number;
  readonly name: string;
  /** First page of the space. */
  readonly first: number;
  pages: number;
  readonly elementBytes: number;
}

export interface Launch {
  /** Counts from 1, in the order in which they began. */
  readonly id: number;
  readonly kernel: string;
  readonly processor: number;
  readonly beganMs: number;
  /** NaN: the recording ends before. */
  endedMs: number;
  /** Names of its arrays. */
  readonly arrays: readonly string[];
  /** Of these, the ones that it writes; missing: it had begun before the record did. */
  readonly written?: readonly string[];
}

/**
 * Why something happened. `touch`: a thread waited for a page. `launch`: a launch needs its
 * arguments. `ahead`: read-ahead of a walk. `request`: the program asked (prefetch, copy, advice, a
 * write to a file, ...).
 */
export interface Cause {
  readonly kind: 'touch' | 'launch' | 'ahead' | 'request';
  /** The event of the core. */
  readonly event: string;
  readonly atMs: number;
  /** Who touched, or for whom; -1: nobody that is known. */
  readonly processor: number;
  /** The page that was touched, or the first that was asked for; -1: none is known. */
  page: number;
  readonly pages: number;
  readonly write: boolean;
  /** Names of the arrays that its launch writes, if there is one. */
  readonly written?: readonly string[];
  /** Of a launch: its number; otherwise -1. */
  readonly launch: number;
  /** Of a launch. */
  readonly kernel: string;
}

/** Why pages arrived: what their cause is, or that they gave others their room elsewhere. */
export type Need = Cause['kind'] | 'room';

/** Why pages left a memory. */
export type Leaving = 'evicted' | 'moved' | 'freed';

export interface Arrival {
  readonly kind: 'arrival';
  readonly atMs: number;
  readonly memory: number;
  /** The memory that they came from; -1: they were zero; -2: a provider such as a file. */
  readonly source: number;
  readonly page: number;
  readonly pages: number;
  /** Of these, the ones that it had no memory for: others write over what had become stale there. */
  readonly added: number;
  /** Pages of memory that it took for them: whole granules, also where a range ends within one. */
  readonly taken: number;
  readonly cause: Cause;
  readonly need: Need;
  /** Why they came with a touch, as the policy said; null: they were asked for. */
  readonly reason: Reason | null;
  /** Pages that had been evicted from this memory before. */
  returned: number;
  /** From the command to its end. */
  readonly tookMs: number;
}

export interface Departure {
  readonly kind: 'departure';
  readonly atMs: number;
  readonly memory: number;
  readonly page: number;
  readonly pages: number;
  /** Pages of memory that it gave back with them: whole granules. */
  given: number;
  readonly cause: Cause;
  readonly why: Leaving;
  /** Faults that had been served by then. */
  readonly faults: number;
  /** The first arrival that brought some of an eviction's pages back; null: none did. */
  regret: { readonly afterMs: number; readonly afterFaults: number; readonly cause: Cause } | null;
  /** How many of its pages came back. */
  returned: number;
}

export type Move = Arrival | Departure;

export interface Fault {
  readonly atMs: number;
  readonly processor: number;
  readonly page: number;
  readonly write: boolean;
  /** The launch that ran on the processor, or -1. */
  readonly launch: number;
}

/** What a record of moves begins with: where all pages are, and which launches run. */
export interface State extends Whereabouts {
  /** The name of the policy that chooses what is evicted. */
  readonly rule?: string;
  readonly launches: readonly {
    readonly id: number;
    readonly kernel: string;
    readonly processor: number;
    readonly arrays: readonly string[];
    readonly beganMs: number;
  }[];
}

/** Pages that a memory had already. */
export interface Held {
  readonly memory: number;
  readonly page: number;
  readonly pages: number;
  /** As of an arrival. */
  readonly taken: number;
}

/** By how many pages what a memory has of an array grows with a move. */
export function growthOf(move: Move): number {
  return move.kind === 'arrival' ? move.added : -move.pages;
}

/** By how many pages the memory grows that is in use. */
export function memoryGrowthOf(move: Move): number {
  return move.kind === 'arrival' ? move.taken : -move.given;
}

/** What causes and moves are named by. */
export interface Names {
  /** The name of the policy that chooses what is evicted; empty: not known. */
  readonly rule: string;
  readonly memories: readonly Memory[];
  readonly processors: readonly Processor[];
  /** The array that had the page at the end, or last; null: none. */
  arrayAt(page: number): RecordedArray | null;
}

/** The memory that a processor's touches bring pages to. */
export function memoryOf({ processors }: Names, processor: number): number {
  const own = processors[processor]?.memory ?? -1;
  return own === -1 ? HOST_NODE : own;
}

/** Whether what caused a move of some of an array writes to it. */
export function writesTo({ write, written }: Cause, array: string): boolean {
  return write || written?.includes(array) === true;
}
