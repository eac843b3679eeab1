/**
 * Which block to bring next, before it is used: the first one that is missing, in the order of uses.
 * That, and to let none go for it that is used before it, are the rules by which bringing ahead
 * costs no more copies (Cao, Felten, Karlin and Li, 1995).
 */
import type { Foresight } from './foresight.js';
import type { Profile } from './profile.js';

/** Blocks that are looked at at a time. */
const LOOKS = 512;

/** What is asked of the plan. */
export interface Uses {
  isHere(block: number): boolean;
  /** In launches from now; Infinity: none is known, or it begins from zeros. */
  nextUse(block: number): number;
}

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
    private readonly foresight: Foresight,
    private readonly uses: Uses,
  ) {}

  /** Another launch is at hand, or more of them are known. */
  again(): void {
    this.step = 0;
    this.lacking = 0;
    this.begin();
  }

  /**
   * The next block that is missing, or -1.
   * @param gone how many blocks have left until now
   * @param freeBlocks that there is room for
   */
  find(current: Profile, gone: number, freeBlocks: number): number {
    const { foresight, uses } = this;
    for (let looks = LOOKS; looks > 0; ) {
      if (this.step > foresight.length) return -1;
      const profile = this.step === 0 ? current : foresight.at(this.step);
      looks--;
      if (!profile.isKnown && (this.step === 0 || profile.isScattered)) {
        this.lacking += profile.lacks(uses.isHere);
        this.next();
        continue;
      }
      // What such a launch uses was never seen: it comes where there is room for all of it.
      if (!profile.isKnown && freeBlocks < this.lacking + profile.lacks(uses.isHere)) return -1;
      if (this.lacking > 0 && freeBlocks <= this.lacking) return -1;
      const order = profile.order();
      if (this.completeAt.get(profile) === gone || this.at === order.length) {
        if (this.at > 0 && this.complete) this.completeAt.set(profile, gone);
        this.next();
        continue;
      }
      const block = order[this.at++];
      if (uses.isHere(block)) continue;
      this.complete = false;
      const use = uses.nextUse(block);
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
