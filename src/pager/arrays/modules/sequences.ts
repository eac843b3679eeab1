/**
 * The number of a subscription, which readers compare. It is odd while pages change. Threads of the
 * process share it as memory of the engine, those of another process by a file that they sent.
 */
import { SharedWord } from '../../../linux/memory/shared-word.js';
import { SEQUENCE_ENDED, SEQUENCE_MASK } from '../../protocol/notifiers.js';

export class Sequence {
  /** What threads of this process share; null: it is another process's. */
  readonly memory: SharedArrayBuffer | null;
  private readonly word: SharedWord | null;
  private words: Int32Array | null;

  /** @param fd of the file that another process sent, which stays the caller's; null: none did */
  constructor(fd: number | null) {
    this.word = fd === null ? null : new SharedWord(fd);
    this.memory = fd === null ? new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT) : null;
    this.words = this.word?.words ?? new Int32Array(this.memory as SharedArrayBuffer);
  }

  /** From even to odd, when the first of several changes begins, and back when the last is through. */
  advance(): void {
    if (this.words === null) return;
    const next = (Atomics.load(this.words, 0) + 1) & SEQUENCE_MASK;
    this.set(this.words, next, next % 2 === 0);
  }

  /** No reader may believe from now on that nothing has changed. */
  end(): void {
    if (this.words === null) return;
    this.set(this.words, SEQUENCE_ENDED, true);
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
