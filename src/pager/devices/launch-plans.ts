/** Launches that are planned, a little between looks for faults, so that no thread waits. */

import type { BytesWanted, Planning } from '../../drivers/wgsl-launch.js';

/** So many faults take as long as a step. */
const STEP = 16;
/** Milliseconds after which others have their turn. */
const SLICE_MS = 2;

interface Waiting {
  goOn(): 'more' | 'waits' | 'over';
}

export class LaunchPlans {
  private readonly waiting: Waiting[] = [];

  /** @param read answers with bytes of the space, or null where they cannot be had */
  constructor(
    private readonly now: () => number,
    private readonly read: (
      wanted: BytesWanted,
      done: (content: Uint8Array | null) => void,
    ) => void,
  ) {}

  /** Whether there is something to go on with. */
  get busy(): boolean {
    return this.waiting.length > 0;
  }

  /**
   * What is known already is there at once; other work is done by and by.
   * @param isOver true: it is wanted no more
   * @param done null: it was given up
   */
  start<T>(work: Planning<T>, isOver: () => boolean, done: (found: T | null) => void): void {
    let answer: Uint8Array | null = null;
    const goOn = (): 'more' | 'waits' | 'over' => {
      if (isOver()) {
        done(null);
        return 'over';
      }
      const step = work.next(answer);
      if (step.done === true) {
        done(step.value);
        return 'over';
      }
      if (step.value === undefined) return 'more';
      this.read(step.value, (content) => {
        answer = content;
        this.waiting.push({ goOn });
      });
      return 'waits';
    };
    if (goOn() === 'more') this.waiting.push({ goOn });
  }

  /** Takes one a little further. Returns what that counts for in faults; 0: there is none. */
  step(): number {
    const next = this.waiting.shift();
    if (next === undefined) return 0;
    const end = this.now() + SLICE_MS;
    let state = next.goOn();
    while (state === 'more' && this.now() < end) state = next.goOn();
    if (state === 'more') this.waiting.push(next);
    return STEP;
  }
}
