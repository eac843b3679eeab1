/**
 * The ring of shared memory by which the manager and a thread of copies share copies: places of a
 * copy's numbers, the kinds, and who takes which. The manager puts copies in at the end; the thread
 * takes the first one, and the manager, when it has nothing else to do, the last one. So both are
 * through at about the same time, and seldom map pages of one block, where each would wait for the
 * other: a huge folio is locked for each of its pages.
 */

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

/** Copies in the ring at once: a power of 2, so that counts may wrap around. */
export const PLACES = 32;

/**
 * Words of the signals: the number of the first copy that nobody has taken, the number after the
 * last one, how many copies the thread has made, whether to stop, and the kernel's id of the
 * thread, once it works.
 */
export const Signal = { First: 0, End: 1, Done: 2, Stop: 3, Thread: 4 } as const;
export const SIGNALS = 5;

export function placeOf(copy: number): number {
  return (copy & (PLACES - 1)) * COPY_WORDS;
}

/** Whether there are copies that nobody has taken. */
export function areLeft(signal: Int32Array): boolean {
  return ((Atomics.load(signal, Signal.End) - Atomics.load(signal, Signal.First)) | 0) > 0;
}

/** Takes the first copy, for the thread alone. Null: another thread took it. */
export function takeFirst(signal: Int32Array): number | null {
  const first = Atomics.load(signal, Signal.First);
  if (((Atomics.load(signal, Signal.End) - first) | 0) <= 0) return null;
  return Atomics.compareExchange(signal, Signal.First, first, (first + 1) | 0) === first
    ? first
    : null;
}

/** Takes the last copy: for the manager alone, which puts them in. False: there is none. */
export function takeLast(signal: Int32Array): boolean {
  const end = Atomics.load(signal, Signal.End);
  const last = (end - 1) | 0;
  // The thread looks at the end after the first, and the manager the other way round: one of the
  // two sees what the other did.
  Atomics.store(signal, Signal.End, last);
  const first = Atomics.load(signal, Signal.First);
  const before = (last - first) | 0;
  if (before > 0) return true;
  // The last is the first one, which the thread may be taking.
  const taken = before === 0 && Atomics.compareExchange(signal, Signal.First, first, end) === first;
  Atomics.store(signal, Signal.End, end);
  return taken;
}

/** What the thread is started with. */
export interface CopyRing {
  readonly numbers: SharedArrayBuffer;
  readonly signals: SharedArrayBuffer;
  /** Raised when all copies have been made, if the manager sleeps. */
  readonly wakeFd: number;
  /** The control memory of the space. */
  readonly control: SharedArrayBuffer;
  /** The index of the word there that is 0 while the manager sleeps. */
  readonly awake: number;
  /** The index of the word there that counts threads that are starting. */
  readonly starting: number;
  /** The index of the word there that system calls which fail on purpose share with tests. */
  readonly failingCalls: number;
  /** Ends with its first copy, so that tests can see what becomes of the space. */
  readonly ends: boolean;
}
