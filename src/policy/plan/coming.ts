/**
 * Which block to bring next, before it is used: the first one that is missing, in the order of uses.
 * That, and to let none go for it that is used before it, are the rules by which bringing ahead
 * costs no more copies (Cao, Felten, Karlin and Li, 1995).
 */
import type { Profile } from './profile.js';
import type { Timeline } from './timeline.js';
import type { Victims } from './victims.js';

/** Blocks that are looked at at a time. */
const LOOKS = 512;

export class Coming {
  /** The launch that is looked through, from the one at hand on, and the place in its order. */
  private step = 0;
  private at = 0;
  /** All that the launch uses was here, as far as it was looked through. */
  private complete = true;
  /** Blocks that launches lack which were passed over: they need room, too. */
  private lacking = 0;
  /** When a block was used that was found last, and whether that launch writes it. */
  use = 0;
  writes = false;
  /** Launches of which all was here when so many blocks had left. */
  private readonly completeAt = new WeakMap<Profile, number>();

  constructor(
    private readonly timeline: Timeline,
    private readonly memory: Victims,
  ) {}

  /** Another launch is at hand, or more of them are known. */
  again(): void {
    this.step = 0;
    this.lacking = 0;
    this.begin();
  }

  /** The next block that is missing, or -1, while there is room for so many. */
  find(freeBlocks: number): number {
    const { memory } = this;
    const { foresight } = this.timeline;
    for (let looks = LOOKS; looks > 0; looks--) {
      if (this.step > foresight.length) return -1;
      const profile = foresight.at(this.step);
      if (!profile.isKnown && (this.step === 0 || profile.isScattered)) {
        this.lacking += profile.lacks(memory.isHere);
        this.next();
        continue;
      }
      // What such a launch uses was never seen: it comes where there is room for all of it.
      if (!profile.isKnown && freeBlocks < this.lacking + profile.lacks(memory.isHere)) return -1;
      if (this.lacking > 0 && freeBlocks <= this.lacking) return -1;
      const order = profile.order();
      if (this.completeAt.get(profile) === memory.gone || this.at === order.length) {
        if (this.at > 0 && this.complete) this.completeAt.set(profile, memory.gone);
        this.next();
        continue;
      }
      const block = order[this.at++];
      if (memory.isHere(block)) continue;
      this.complete = false;
      const use = this.timeline.nextUse(block);
      // It is used before, or has been used, or begins from zeros before this launch needs it.
      if (use < this.step || use > this.step + 1) continue;
      // The launch at hand gets its own by its walks, and needs the room first.
      if (this.step === 0) {
        this.at--;
        return -1;
      }
      this.use = use;
      this.writes = profile.writes(block);
      return block;
    }
    return -1;
  }

  /** The block that was found last does not come now: it is found again. */
  putBack(): void {
    this.at--;
  }

  private next(): void {
    this.step++;
    this.begin();
  }

  private begin(): void {
    this.at = 0;
    this.complete = true;
  }
}
