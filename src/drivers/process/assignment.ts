/**
 * Which launch a unit works on: a word that three threads of a device share. The control thread gives a launch, the unit ends it, and the
 * main thread may end the unit meanwhile; whoever changes the word first has decided, so that a unit is never ended for a launch that it
 * has ended itself, and no launch is given to a unit that is gone.
 */

const IDLE = 0;
/** The main thread ends the unit. */
const ENDING = -1;
/** The unit has ended; another one takes its place, with a word of its own. */
const ENDED = -2;

export class Assignment {
  private readonly word: Int32Array;

  constructor(readonly memory: SharedArrayBuffer = new SharedArrayBuffer(4)) {
    this.word = new Int32Array(memory);
  }

  /** False when the unit has ended: its successor must be given the launch. */
  give(launch: number): boolean {
    return Atomics.compareExchange(this.word, 0, IDLE, launch) === IDLE;
  }

  /** False when the unit is being ended because of this launch: it must not report any more. */
  finish(launch: number): boolean {
    return Atomics.compareExchange(this.word, 0, launch, IDLE) === launch;
  }

  /** Whether the unit works on this launch, and so is to be ended now. */
  abort(launch: number): boolean {
    return Atomics.compareExchange(this.word, 0, launch, ENDING) === launch;
  }

  /** The unit has ended. Returns the launch that it had by its own doing, or 0. */
  end(): number {
    return Math.max(0, Atomics.exchange(this.word, 0, ENDED));
  }
}
