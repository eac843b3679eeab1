/**
 * The number of a notifier, as a reader sees it: in memory that threads of this process share, or,
 * where another process opened the space, in a file that both have mapped.
 */
import { closeDescriptor } from '../../../linux/base/libc.js';
import { createWordFile, SharedWord } from '../../../linux/memory/shared-word.js';
import { SEQUENCE_ENDED } from '../../../pager/protocol/notifiers.js';

export interface Sequence {
  load(): number;
  /** After all that this thread has read before. */
  loadAfterReads(): number;
  /** Waits until the number is another one, or for so long. */
  wait(now: number, limitMs: number): void;
}

export class ThreadSequence implements Sequence {
  private readonly words: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.words = new Int32Array(memory);
  }

  load(): number {
    return Atomics.load(this.words, 0);
  }

  loadAfterReads(): number {
    return loadAfterReads(this.words);
  }

  wait(now: number, limitMs: number): void {
    Atomics.wait(this.words, 0, now, limitMs);
  }
}

export class ProcessSequence implements Sequence {
  private word: SharedWord | null;

  /**
   * @param fd of the file, which stays the caller's
   * @param isLost whether the owner has gone, which would tell of no change any more
   */
  constructor(
    fd: number,
    private readonly isLost: () => boolean,
  ) {
    this.word = new SharedWord(fd);
  }

  load(): number {
    const word = this.mapped;
    return word === null ? SEQUENCE_ENDED : Atomics.load(word.words, 0);
  }

  loadAfterReads(): number {
    const word = this.mapped;
    return word === null ? SEQUENCE_ENDED : loadAfterReads(word.words);
  }

  wait(now: number, limitMs: number): void {
    this.word?.wait(now, limitMs);
  }

  /** Readers see the end from now on. */
  close(): void {
    this.word?.close();
    this.word = null;
  }

  private get mapped(): SharedWord | null {
    return this.isLost() ? null : this.word;
  }
}

/** Has `use` send the file of a number to the owner, and gives the number of this process. */
export async function sentSequence(
  isLost: () => boolean,
  use: (fd: number) => Promise<unknown>,
): Promise<ProcessSequence> {
  const fd = createWordFile();
  let sequence: ProcessSequence | null = null;
  try {
    sequence = new ProcessSequence(fd, isLost);
    await use(fd);
    return sequence;
  } catch (error) {
    sequence?.close();
    throw error;
  } finally {
    closeDescriptor(fd);
  }
}

/** A read that also writes: on no processor do plain reads before it move behind it. */
function loadAfterReads(words: Int32Array): number {
  return Atomics.or(words, 0, 0);
}
