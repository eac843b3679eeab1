/**
 * What the manager's loop asks of each of its parts. A part answers what concerns it; the loop goes
 * over those that do, in the order in which `parts.ts` lists them.
 */
export interface Part {
  /** Does a little between looks for faults. Returns its length in faults; 0: nothing. */
  step?(): number;
  /** Handles what the poller has found, after each sleep. */
  hear?(): void;
  /** Takes what other threads have answered: once a round, and whenever one has woken the manager. */
  poll?(): void;
  /** Does what is due by the clock, once a round. */
  look?(nowMs: number): void;
  /** Sends what waits, before the manager may sleep. */
  flush?(): void;
  /** Whether there is something to do at once, so that the manager must not sleep. */
  readonly busy?: boolean;
  /** Nothing is to be done at once: what may wait for that is done. */
  idle?(): void;
  /** How long the manager may sleep, and no longer than `most`. */
  sleepMs?(most: number, nowMs: number): number;
  /**
   * Whether the event loop must have a turn, in which it loads modules, and sees threads and
   * processes end. Asked once a round.
   * @param isIdle nothing has come in this round
   */
  needsTurn?(isIdle: boolean): boolean;
  /** Gives back what it holds, the last part of the list first. */
  close?(): void;
  /** Resolves when what it has started has ended. */
  ended?(): Promise<unknown>;
}

/** The parts that answer a question. */
export function partsThat<K extends keyof Part>(
  question: K,
  parts: readonly Part[],
): readonly (Part & Required<Pick<Part, K>>)[] {
  return parts.filter(
    (part): part is Part & Required<Pick<Part, K>> => part[question] !== undefined,
  );
}
