/**
 * When a block is used: by the launch at hand, and by those that are known to come after it. A time
 * is how many launches from now, and when in that one. 0: now; Infinity: no use is known, or the
 * block begins from zeros before.
 */
import type { BlockSpan } from '../../core/basics/types.js';
import { Foresight } from './foresight.js';
import type { Profile } from './profile.js';
import { Profiles } from './profiles.js';

const NEVER = Number.POSITIVE_INFINITY;

export class Timeline {
  private readonly profiles = new Profiles();
  readonly foresight = new Foresight();
  /** The launch at hand. */
  current: Profile | null = null;
  /** Launches that have begun. */
  began = 0;
  /** What was kept for the launch at hand had left before it began, as where the host writes it. */
  keptInVain = false;

  /** Whether it is known what comes after the launch at hand. */
  get isPlanned(): boolean {
    return this.current !== null && this.foresight.length > 0;
  }

  wait(kernel: string, spans: readonly BlockSpan[]): void {
    this.foresight.wait(this.profiles.of(kernel, spans));
  }

  /** @param isHere whether the memory has a block */
  begin(kernel: string, spans: readonly BlockSpan[], isHere: (block: number) => boolean): void {
    const profile = this.profiles.of(kernel, spans);
    this.keptInVain = profile.isKnown && !profile.finds(isHere);
    this.began++;
    this.current = profile;
    this.foresight.begin(profile);
    profile.begin(this.profiles.like(profile));
  }

  /** @param isHere whether the memory has a block */
  end(isHere: (block: number) => boolean): void {
    if (this.current === null) return;
    this.current.end(isHere);
    this.profiles.ended(this.current);
    this.current = null;
  }

  /** Which launch that time is in, as `began` counts them; 0: in none that is known. */
  launchAt(time: number): number {
    return time === NEVER ? 0 : this.began + Math.floor(time);
  }

  nextUse(block: number): number {
    const { current, foresight } = this;
    const now = current === null ? NEVER : current.nextUse(block);
    if (now < NEVER) return now;
    const { length } = foresight;
    for (let step = 1; step <= length; step++) {
      const use = foresight.at(step).firstUse(block);
      if (use < 0) return NEVER;
      if (use < NEVER) return step + use;
    }
    return NEVER;
  }

  /** The next use after that time. */
  useAfter(block: number, time: number): number {
    const { current, foresight } = this;
    const now = current === null || time >= 1 ? NEVER : current.nextUse(block);
    if (now > time && now < NEVER) return now;
    const { length } = foresight;
    for (let step = Math.max(1, Math.floor(time)); step <= length; step++) {
      const use = foresight.at(step).firstUse(block);
      if (use < 0 && step > time) return NEVER;
      if (use >= 0 && use < NEVER && step + use > time) return step + use;
    }
    return NEVER;
  }
}
