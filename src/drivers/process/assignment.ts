/**
 * Which launch a unit works on: words that the manager and the threads of the device's process
 * share. A launch is given, the unit begins and ends it, and the main thread may end the unit
 * meanwhile. The thread that changes the state first has decided. So a unit is never ended for a
 * launch that it has ended itself, no launch is given to a unit that is gone, and a unit is ended
 * in the middle of a kernel only: in a call of the foreign function interface, which prepares a
 * kernel's arguments and reports its end, that would end the process.
 */

const IDLE = 0;
/** A launch was given, and its kernel has not begun. */
const GIVEN = 1;
const RUNNING = 2;
/** The kernel is not to begin. */
const REFUSED = 3;
/** The main thread ends the unit. */
const ENDING = 4;
/** The unit has ended; another one takes its place. */
const ENDED = 5;

const KINDS = 8;
/** A state names its launch, to tell it from a later one. Numbers repeat after hours. */
const NAMES = 2 ** 28;

const STATE = 0;
const LAUNCH = 1;
/** The last launch of which the unit's part is over. */
const OVER = 2;

export const ASSIGNMENT_WORDS = 3;

export class Assignment {
  /** @param words ASSIGNMENT_WORDS of them, zero at the beginning */
  constructor(private readonly words: Int32Array) {}

  /** False when the unit has ended: its successor must be given the launch. */
  give(launch: number): boolean {
    this.words[LAUNCH] = launch;
    return this.change(IDLE, nameOf(launch, GIVEN));
  }

  /** The launch that was given and has not begun, or 0. */
  get given(): number {
    const kind = Atomics.load(this.words, STATE) % KINDS;
    return kind === GIVEN || kind === REFUSED ? this.words[LAUNCH] >>> 0 : 0;
  }

  /** The kernel begins. False: it must not, and its part of the launch is over. */
  begin(launch: number): boolean {
    if (this.change(nameOf(launch, GIVEN), nameOf(launch, RUNNING))) return true;
    Atomics.store(this.words, STATE, IDLE);
    return false;
  }

  /** The kernel has ended. False: the unit is being ended, and must not report. */
  finish(launch: number): boolean {
    return this.change(nameOf(launch, RUNNING), IDLE);
  }

  /** Keeps a kernel from beginning. True: it runs, and the unit is to be ended now. */
  abort(launch: number): boolean {
    if (this.change(nameOf(launch, GIVEN), nameOf(launch, REFUSED))) return false;
    return this.change(nameOf(launch, RUNNING), nameOf(launch, ENDING));
  }

  /** The unit has ended. Returns the launch that it had not ended, or 0. */
  end(): number {
    const kind = Atomics.exchange(this.words, STATE, ENDED) % KINDS;
    return kind === IDLE || kind === ENDED ? 0 : this.words[LAUNCH] >>> 0;
  }

  /** Another unit has taken the place of one that has ended. */
  renew(): void {
    Atomics.store(this.words, STATE, IDLE);
  }

  /** The unit's part is over, as it says itself, or the main thread if the unit has ended. */
  setOver(launch: number): void {
    Atomics.store(this.words, OVER, launch);
  }

  isOver(launch: number): boolean {
    return Atomics.load(this.words, OVER) === (launch | 0);
  }

  private change(from: number, to: number): boolean {
    return Atomics.compareExchange(this.words, STATE, from, to) === from;
  }
}

function nameOf(launch: number, kind: number): number {
  return (launch % NAMES) * KINDS + kind;
}
