/**
 * A value for each page of a range, kept as runs: what was said about pages that were never touched
 * must cost nothing by the page. Runs are few, so that a walk over them is as fast as anything
 * cleverer.
 */
export class Intervals<T> {
  /** Where each run begins, ascending; the first begins at 0 and each lasts until the next. */
  private readonly starts: number[] = [0];
  private readonly values: T[];

  constructor(initial: T) {
    this.values = [initial];
  }

  at(page: number): T {
    return this.values[this.indexOf(page)];
  }

  /** Whether one value holds for all pages. */
  get isUniform(): boolean {
    return this.values.length === 1;
  }

  /** Gives pages [first, end) a value. */
  set(first: number, end: number, value: T): void {
    if (first >= end) return;
    const after = this.at(end);
    this.cut(first);
    this.cut(end);
    const from = this.starts.indexOf(first);
    const to = this.starts.indexOf(end);
    this.starts.splice(from, to - from, first);
    this.values.splice(from, to - from, value);
    this.values[this.starts.indexOf(end)] = after;
    this.join();
  }

  /** Calls `visit` for each run within [first, end). */
  each(first: number, end: number, visit: (first: number, end: number, value: T) => void): void {
    for (
      let index = this.indexOf(first);
      index < this.starts.length && this.starts[index] < end;
      index++
    ) {
      const from = Math.max(first, this.starts[index]);
      const to = Math.min(end, this.starts[index + 1] ?? end);
      if (from < to) visit(from, to, this.values[index]);
    }
  }

  private indexOf(page: number): number {
    let index = this.starts.length - 1;
    while (index > 0 && this.starts[index] > page) index--;
    return index;
  }

  private cut(page: number): void {
    const index = this.indexOf(page);
    if (this.starts[index] === page) return;
    this.starts.splice(index + 1, 0, page);
    this.values.splice(index + 1, 0, this.values[index]);
  }

  private join(): void {
    for (let index = this.starts.length - 1; index > 0; index--) {
      if (this.values[index] !== this.values[index - 1]) continue;
      this.starts.splice(index, 1);
      this.values.splice(index, 1);
    }
  }
}
