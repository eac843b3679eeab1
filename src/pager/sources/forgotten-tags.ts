/**
 * Values of 2 MiB of frames have one hash tag, by which a cluster finds their server; there are so
 * many, so that all servers of a cluster get their part. What has one tag is in one place, and is
 * forgotten together by a server that is started again without what it had: the thread that writes
 * finds that out when it has a new connection, and writes nothing there before the manager knows.
 */
import { PAGES_PER_BLOCK, PAGES_PER_GROUP } from '../../core/basics/types.js';

export const TAGS = 256;
const GROUPS_PER_TAG = PAGES_PER_BLOCK / PAGES_PER_GROUP;
/** How long the manager is not looked for. */
const LOOK_MS = 1000;

/** The tag of the value that has a group of frames (64 KiB). */
export function tagOf(group: number): number {
  return Math.floor(group / GROUPS_PER_TAG) % TAGS;
}

/** Memory of the thread and the manager: whether there is word, then a bit for each tag. */
export class ForgottenTags {
  private readonly words: Int32Array;
  private last: Promise<void> = Promise.resolve();

  constructor(readonly buffer = new SharedArrayBuffer(4 + TAGS / 8)) {
    this.words = new Int32Array(buffer);
  }

  /** Tells the manager, and waits until it has heard. @param wake has it look */
  tell(tags: readonly number[], wake: () => void): Promise<void> {
    const before = this.last;
    const told = async (): Promise<void> => {
      await before;
      const { words } = this;
      for (const tag of tags) words[1 + (tag >>> 5)] |= 1 << (tag & 31);
      Atomics.store(words, 0, 1);
      wake();
      while (Atomics.load(words, 0) === 1) await Atomics.waitAsync(words, 0, 1, LOOK_MS).value;
    };
    this.last = told();
    return this.last;
  }

  /** Hands `forget` what has been forgotten, if there is any, and says so. */
  hear(forget: (tags: readonly number[]) => void): void {
    const { words } = this;
    if (Atomics.load(words, 0) === 0) return;
    const tags: number[] = [];
    for (let tag = 0; tag < TAGS; tag++)
      if ((words[1 + (tag >>> 5)] & (1 << (tag & 31))) !== 0) tags.push(tag);
    words.fill(0, 1);
    forget(tags);
    Atomics.store(words, 0, 0);
    Atomics.notify(words, 0);
  }
}
