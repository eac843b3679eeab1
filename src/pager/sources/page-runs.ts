/** Sets of pages as runs, in order and apart from each other. */

export interface PageRun {
  readonly first: number;
  readonly count: number;
}

/** Beyond this many runs gaps count as pages: right for what is only written again. */
const MAX_RUNS = 4096;

export class PageRuns {
  private runs: { first: number; end: number }[] = [];

  add(first: number, count: number): void {
    let begin = first;
    let end = first + count;
    // All runs that touch the new one become one with it.
    const from = this.indexOf(begin);
    let to = from;
    while (to < this.runs.length && this.runs[to].first <= end) {
      begin = Math.min(begin, this.runs[to].first);
      end = Math.max(end, this.runs[to].end);
      to++;
    }
    this.runs.splice(from, to - from, { first: begin, end });
    if (this.runs.length > MAX_RUNS)
      this.runs = [{ first: this.runs[0].first, end: this.runs[MAX_RUNS].end }];
  }

  addAll(others: PageRuns): void {
    for (const { first, end } of others.runs) this.add(first, end - first);
  }

  clear(): void {
    this.runs = [];
  }

  /** The runs in pieces of at most so many pages. */
  pieces(longest: number): PageRun[] {
    const pieces: PageRun[] = [];
    for (const { first, end } of this.runs) {
      for (let page = first; page < end; page += longest)
        pieces.push({ first: page, count: Math.min(longest, end - page) });
    }
    return pieces;
  }

  /** The first run that ends at or behind a page. */
  private indexOf(page: number): number {
    let low = 0;
    let high = this.runs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.runs[middle].end < page) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
