/**
 * The number of a subscription, which readers compare. It is odd while pages change. Threads of a
 * process share it as memory of the engine; where another process opened the space, both have a
 * file mapped.
 */
import { SharedWord } from '../../linux/memory/shared-word.js';
import { SEQUENCE_ENDED, SEQUENCE_MASK } from './notifiers.js';

export class Sequence {
  private constructor(
    private words: Int32Array | null,
    /** What threads of this process share; null: another process has the number, too. */
    readonly memory: SharedArrayBuffer | null,
    private readonly word: SharedWord | null,
    private readonly isLost: () => boolean,
  ) {}

  static inMemory(memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)): Sequence {
    return new Sequence(new Int32Array(memory), memory, null, () => false);
  }

  /**
   * @param fd of the file, which stays the caller's
   * @param isLost whether the process has gone that tells of changes
   */
  static inFile(fd: number, isLost = () => false): Sequence {
    const word = new SharedWord(fd);
    return new Sequence(word.words, null, word, isLost);
  }

  load(): number {
    return this.words === null || this.isLost() ? SEQUENCE_ENDED : Atomics.load(this.words, 0);
  }

  /**
   * After all that this thread has read before. It also writes: on no processor do plain reads
   * before that move behind it.
   */
  loadAfterReads(): number {
    return this.words === null || this.isLost() ? SEQUENCE_ENDED : Atomics.or(this.words, 0, 0);
  }

  /** Waits until the number is another one, or for so long. */
  wait(now: number, limitMs: number): void {
    if (this.words === null) return;
    if (this.word === null) Atomics.wait(this.words, 0, now, limitMs);
    else this.word.wait(now, limitMs);
  }

  /** From even to odd, when the first of several changes begins, and back when the last is through. */
  advance(): void {
    if (this.words === null) return;
    const next = (Atomics.load(this.words, 0) + 1) & SEQUENCE_MASK;
    this.set(this.words, next, next % 2 === 0);
  }

  /** No reader may believe from now on that nothing has changed. */
  end(): void {
    if (this.words !== null) this.set(this.words, SEQUENCE_ENDED, true);
    this.close();
  }

  /** A reader here sees the end from now on. */
  close(): void {
    if (this.words === null) return;
    this.words = null;
    this.word?.close();
  }

  private set(words: Int32Array, value: number, wakes: boolean): void {
    Atomics.store(words, 0, value);
    if (!wakes) return;
    if (this.word === null) Atomics.notify(words, 0);
    else this.word.wake();
  }
}
