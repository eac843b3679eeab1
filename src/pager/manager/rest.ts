/**
 * How the manager waits until something happens: first it looks around for the end of a launch that is about to come, where that has paid, then it
 * sleeps. Before it sleeps it says so to those that would otherwise not wake it: clients, and the units of devices.
 */
import { yieldProcessor } from '../../linux/process.js';
import { Attention } from './attention.js';
import { Lookout } from './lookout.js';
import { type Parts, WAKE_SLOT } from './parts.js';
import type { Spin } from './spin.js';

export class Rest {
  private readonly attention: Attention;
  /** For the end of a launch. */
  private readonly lookout = new Lookout();
  /** The launch that was looked for last. */
  private awaited = 0;

  constructor(
    private readonly parts: Pick<Parts, 'control' | 'now' | 'poller' | 'polls'>,
    private readonly spin: Spin,
  ) {
    this.attention = new Attention(parts.control);
  }

  /** Whether something has come of which no descriptor tells. */
  get isOver(): boolean {
    return this.attention.isAsked || this.parts.polls.haveEnds;
  }

  /** What clients have asked is about to be read. Returns whether there is something. */
  takeAsked(): boolean {
    return this.attention.take();
  }

  /** Waits until something happens, at most so long. Returns how many descriptors are ready. */
  wait(longestMs: number): number {
    const { now, poller, polls } = this.parts;
    const began = now();
    const found = this.lookAround(began);
    if (found !== null) return found;
    const ended = polls.unwatch();
    // No unit and no client tells of what came before it knew of the sleep.
    const calm = this.attention.rest() && !ended;
    const ready = poller.wait(calm ? longestMs : 0);
    this.attention.wake();
    if (calm && poller.readyAt(WAKE_SLOT) === 0) this.spin.slept(now() - began);
    return ready;
  }

  /** From now on clients must wake the manager, which ends. */
  end(): void {
    this.attention.rest();
  }

  /** How many descriptors are ready where something has come; null: nothing has. */
  private lookAround(began: number): number | null {
    const { now, poller, polls } = this.parts;
    const { awaited } = polls;
    if (awaited !== 0 && awaited !== this.awaited) this.lookout.expect(began);
    this.awaited = awaited;
    for (let time = began; this.lookout.lasts(time); time = now()) {
      // A unit that waits for this CPU has it now.
      yieldProcessor();
      const ended = polls.haveEnds;
      if (ended) this.lookout.came(now());
      const ready = poller.wait(0);
      if (ready > 0 || ended || this.attention.isAsked) return ready;
    }
    return null;
  }
}
