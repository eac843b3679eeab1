/**
 * Whether the manager stands still. Time on the wall says little: the process may be stopped,
 * suspended or debugged, and on a busy machine it gets the processor seldom. So what counts is what
 * the manager did with the time that it had.
 *
 *   it went round its loop            it does not stand still
 *   it is held, or wants a processor  only the time that it ran counts: a loop that does not end runs
 *   it waits for a disk or for memory only the time that it ran counts, if it ran: it goes on, slowly
 *   it sleeps                         all counts: nothing that the manager does lets it sleep for long outside of its loop
 */
import type { ThreadState } from '../../linux/threads/thread-state.js';

export class StallDetector {
  private beat = -1;
  private ranMs = 0;
  private still = 0;

  /** @param tickMs between looks; counted, since a stopped process makes none */
  constructor(private readonly tickMs: number) {}

  /** For how many milliseconds the manager stands still; `state` is null when unknown. */
  look(beat: number, state: ThreadState | null): number {
    const ran = state === null ? 0 : Math.max(0, state.ranMs - this.ranMs);
    if (state !== null) this.ranMs = state.ranMs;
    if (beat !== this.beat) {
      this.beat = beat;
      this.still = 0;
    } else this.still += this.stoodStill(state, ran);
    return this.still;
  }

  /** It is not expected to move now. */
  forgive(): void {
    this.still = 0;
  }

  private stoodStill(state: ThreadState | null, ran: number): number {
    if (state === null || state.doing === 'sleeping') return this.tickMs;
    if (state.doing === 'waiting' && ran === 0) return this.tickMs;
    return ran;
  }
}
