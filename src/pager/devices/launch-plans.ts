/**
 * Launches that are being planned: each a little further between two looks for faults, so that no
 * thread waits for all of it.
 */

/** So many faults take as long as a step. */
const STEP = 16;
/** Milliseconds after which others have their turn. */
const SLICE_MS = 2;

interface Planning {
  /** False: it has come to its end, or was given up. */
  goOn(): boolean;
}

export class LaunchPlans {
  private readonly waiting: Planning[] = [];

  constructor(private readonly now: () => number) {}

  /** Whether there is something to go on with. */
  get busy(): boolean {
    return this.waiting.length > 0;
  }

  /**
   * What is known already is there at once; other work is done by and by.
   * @param isOver true: it is wanted no more
   * @param done null: it was given up
   */
  start<T>(work: Generator<void, T>, isOver: () => boolean, done: (found: T | null) => void): void {
    const goOn = (): boolean => {
      if (isOver()) {
        done(null);
        return false;
      }
      const step = work.next();
      if (step.done === true) done(step.value);
      return step.done !== true;
    };
    if (goOn()) this.waiting.push({ goOn });
  }

  /** Takes one a little further. Returns what that counts for in faults; 0: there is none. */
  step(): number {
    const planning = this.waiting.shift();
    if (planning === undefined) return 0;
    const end = this.now() + SLICE_MS;
    let goesOn = true;
    while (goesOn && this.now() < end) goesOn = planning.goOn();
    if (goesOn) this.waiting.push(planning);
    return STEP;
  }
}
