/** How long at least one of several things was under way, that are told when they end. */
export class BusyTime {
  /** Beginnings and ends that do not meet, in their order. */
  private readonly spans: (readonly [number, number])[] = [];

  add(beganMs: number, endedMs: number): void {
    let from = beganMs;
    let to = endedMs;
    for (let last = this.spans.at(-1); last !== undefined && last[1] >= from; ) {
      from = Math.min(from, last[0]);
      to = Math.max(to, last[1]);
      this.spans.pop();
      last = this.spans.at(-1);
    }
    if (to > from) this.spans.push([from, to]);
  }

  /** The time since then; what is told later counts for the next time. */
  take(sinceMs: number): number {
    const spans = this.spans.splice(0);
    return spans.reduce((sum, [from, to]) => sum + Math.max(0, to - Math.max(from, sinceMs)), 0);
  }
}
