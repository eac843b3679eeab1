/**
 * Reads that a disk failed. Each is tried again for a while, since cables, controllers and networks
 * come back; whoever waits for it waits on. Then it is given up, and those that fail after it are
 * given up at once until one goes well: a launch must not wait as long for every page.
 */

/** How long a read is tried again. */
export const READ_MS = 5000;
const PAUSE_MS = 50;

interface Waiting {
  readonly since: number;
  readonly again: (since: number) => void;
}

export class RetriedReads {
  private waiting: Waiting[] = [];
  private triedAt = 0;
  /** One was given up, and none has gone well since. */
  gaveUp = false;

  constructor(private readonly now: () => number) {}

  /**
   * A read failed. False: it is given up.
   * @param since when it failed first; 0: now
   * @param again tries it again, and is told when it failed first
   */
  failed(since: number, again: (since: number) => void): boolean {
    const now = this.now();
    const first = since === 0 ? now : since;
    if (this.gaveUp || now - first >= READ_MS) {
      this.gaveUp = true;
      return false;
    }
    if (this.waiting.length === 0) this.triedAt = now;
    this.waiting.push({ since: first, again });
    return true;
  }

  succeeded(): void {
    this.gaveUp = false;
  }

  /** Tries again what is due. */
  look(): void {
    if (this.waiting.length === 0) return;
    const now = this.now();
    if (now - this.triedAt < PAUSE_MS) return;
    this.triedAt = now;
    const { waiting } = this;
    this.waiting = [];
    for (const { since, again } of waiting) again(since);
  }

  /** Milliseconds that the manager may sleep. */
  sleepMs(most: number): number {
    return this.waiting.length === 0 ? most : Math.min(most, PAUSE_MS);
  }
}
