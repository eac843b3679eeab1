/**
 * Which launches come next: those that wait, and after them those that came after the same ones
 * before. The longest end of the sequence that was there before says what follows, as in prediction
 * by partial matching (Cleary and Witten, 1984).
 */
import type { Profile } from './profile.js';

/** Launches that are remembered, and the longest iteration that is recognised. */
const MEMORY = 256;
const MOST_WAITING = 64;
/** How long an end is looked for. */
const LONGEST = 16;

export class Foresight {
  /** Those that began, the last one is at hand; then those that wait. */
  private readonly sequence: Profile[] = [];
  private waiting = 0;
  /** Of the sequence: what comes after its end is what is there; -1: unknown. */
  private follows = -1;
  /** How often what was to follow did not, of late: so much longer an end must have been there. */
  private doubt = 0;
  /** The last launch was not the one that waited. */
  private unexpected = false;

  /** A launch waits behind those that are known. */
  wait(profile: Profile): void {
    if (this.waiting === MOST_WAITING) return;
    this.sequence.push(profile);
    this.waiting++;
    this.match();
  }

  begin(profile: Profile): void {
    const { sequence } = this;
    const next = sequence.length - this.waiting;
    if (this.waiting > 0 && sequence[next] === profile) {
      this.waiting--;
      this.unexpected = false;
    } else if (this.waiting > 0 && !this.unexpected) {
      // The first one of a row may begin without a wait.
      this.unexpected = true;
      sequence.splice(next, 0, profile);
    } else {
      if (this.waiting === 0 && this.follows !== -1)
        this.doubt =
          this.at(1) === profile ? Math.max(0, this.doubt - 1) : Math.min(LONGEST, this.doubt + 1);
      // Others come: what was to wait is not known any more.
      sequence.length = next;
      this.waiting = 0;
      this.unexpected = false;
      sequence.push(profile);
    }
    if (sequence.length > 2 * MEMORY) sequence.splice(0, sequence.length - MEMORY);
    this.match();
  }

  /** How many launches are known after the one at hand, as far as anything new is in them. */
  get length(): number {
    const known = this.waiting;
    return this.follows === -1 ? known : known + this.sequence.length - this.follows;
  }

  /** The launch so many after the one at hand; 0: that one, or the last one. */
  at(step: number): Profile {
    const { sequence } = this;
    const at = sequence.length - this.waiting - 1 + step;
    return at < sequence.length ? sequence[at] : sequence[this.follows + at - sequence.length];
  }

  private match(): void {
    const { sequence } = this;
    const last = sequence.length - 1;
    let longest = 0;
    this.follows = -1;
    for (let end = last - 1; end >= Math.max(0, last - MEMORY); end--) {
      let length = 0;
      while (
        length < LONGEST &&
        length <= end &&
        sequence[end - length] === sequence[last - length]
      )
        length++;
      if (length <= longest) continue;
      longest = length;
      if (length > this.doubt) this.follows = end + 1;
      if (length === LONGEST) break;
    }
  }
}
