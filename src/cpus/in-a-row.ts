/**
 * Events in a row. After so many of one kind a thread is placed or looks around, or is left alone
 * again: one event alone says nothing of the next.
 */
export class InARow {
  private count = 0;

  /** @param needed after how many in a row something is done */
  constructor(private needed: number) {}

  /** Whether there have been enough in a row. */
  get isEnough(): boolean {
    return this.count >= this.needed;
  }

  /** One more event; one of another kind ends the row. Returns whether there are enough in a row. */
  note(isOfKind = true): boolean {
    this.count = isOfKind ? this.count + 1 : 0;
    return this.isEnough;
  }

  /** Begins anew, from now on with as many as are said. */
  begin(needed = this.needed): void {
    this.count = 0;
    this.needed = needed;
  }
}
