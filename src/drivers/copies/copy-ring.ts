/** The ring of shared memory by which the manager hands copies to a thread of copies: places of a copy's numbers, and the kinds. */

/** Places of a copy's numbers. */
export const Word = {
  Kind: 0,
  /** The descriptor by which faults of the processor's mapping are answered. */
  Faults: 1,
  /** Where the content is; 0: zeros. */
  Source: 2,
  /** Where the manager has the target's memory mapped. */
  Memory: 3,
  /** Where the target's processor has it. */
  Address: 4,
  Length: 5,
  /** The right that the processor gets. */
  Access: 6,
  /** 0 or the error number of the call that failed. */
  Result: 7,
  /** Bytes that were mapped by then; -1: the pages got no memory, and nothing was copied. */
  Progress: 8,
} as const;
export const COPY_WORDS = 12;

export const Kind = {
  /** Pages without memory get it, their content and their mapping by one call. */
  Insert: 1,
  /** Pages that have memory are filled, then mapped if the processor gets a right. */
  Fill: 2,
  /** Pages get memory and are filled; nothing is mapped. */
  Populate: 3,
} as const;
export type Kind = (typeof Kind)[keyof typeof Kind];

/** Words of the signals: copies handed in, copies done, whether to stop, whether the thread works. */
export const Signal = { HandedIn: 0, Done: 1, Stop: 2, Up: 3 } as const;
export const SIGNALS = 4;

/** What the thread is started with. */
export interface CopyRing {
  readonly numbers: SharedArrayBuffer;
  readonly signals: SharedArrayBuffer;
  /** Raised whenever a copy ends. */
  readonly wakeFd: number;
  /** The control memory of the space. */
  readonly control: SharedArrayBuffer;
  /** The index of the word there that counts threads that are starting. */
  readonly starting: number;
  /** The index of the word there that system calls which fail on purpose share with tests. */
  readonly failingCalls: number;
  /** Ends with its first copy, so that tests can see what becomes of the space. */
  readonly ends: boolean;
}
