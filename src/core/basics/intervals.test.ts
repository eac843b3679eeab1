import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Intervals } from './intervals.js';

describe('Intervals', () => {
  it('has the value of each page that was given last, whatever overlaps', () => {
    const step = fc.tuple(fc.nat(40), fc.nat(40), fc.nat(3));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const intervals = new Intervals<number>(-1);
        const plain = new Array<number>(64).fill(-1);
        for (const [first, count, value] of steps) {
          intervals.set(first, Math.min(first + count, 64), value);
          plain.fill(value, first, Math.min(first + count, 64));
          expect(plain.map((_, page) => intervals.at(page))).toEqual(plain);
        }
        const seen = new Array<number>(64).fill(-2);
        let before = -1;
        let last: number | undefined;
        intervals.each(3, 60, (from, to, value) => {
          expect(from).toBeGreaterThan(before);
          expect(value).not.toBe(last);
          before = from;
          last = value;
          seen.fill(value, from, to);
        });
        expect(seen.slice(3, 60)).toEqual(plain.slice(3, 60));
        expect(seen[2]).toBe(-2);
        expect(seen[60]).toBe(-2);
      }),
    );
  });

  it('joins neighbours of one value', () => {
    const intervals = new Intervals<string>('a');
    intervals.set(5, 10, 'b');
    expect(intervals.isUniform).toBe(false);
    intervals.set(4, 12, 'a');
    expect(intervals.isUniform).toBe(true);
    intervals.set(7, 7, 'c');
    expect(intervals.isUniform).toBe(true);
  });
});
