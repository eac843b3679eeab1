/**
 * The generator behind a schedule: small, fast, and the same everywhere, so that a seed names one
 * schedule for good.
 */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 0;
    for (let i = 0; i < 4; i++) this.next();
  }

  /** 32 random bits (mulberry32). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let value = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return (value ^ (value >>> 14)) >>> 0;
  }

  /** A whole number in [0, end). */
  below(end: number): number {
    return this.next() % end;
  }

  /** A whole number in [first, last]. */
  between(first: number, last: number): number {
    return first + this.below(last - first + 1);
  }

  chance(probability: number): boolean {
    return this.next() < probability * 0x1_0000_0000;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }
}
