/** Some of many numbers, for their median: every so many of them. */

const MOST = 1024;

export class Sample {
  private values: number[] = [];
  private stride = 1;
  private seen = 0;

  add(value: number): void {
    if (this.seen++ % this.stride !== 0) return;
    this.values.push(value);
    if (this.values.length < MOST) return;
    this.stride *= 2;
    this.values = this.values.filter((_, at) => at % 2 === 0);
  }

  /** The upper one of two in the middle; NaN: there are none. */
  get median(): number {
    return this.values.toSorted((a, b) => a - b)[this.values.length >> 1] ?? Number.NaN;
  }
}
