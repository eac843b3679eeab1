import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  add,
  addRun,
  clear,
  createMask,
  endOf,
  endWordOf,
  firstWordOf,
  has,
  isEmpty,
  type Mask,
  next,
  nextAbsent,
  remove,
  removeRun,
  size,
  sizeOfRun,
  WORDS,
} from './mask.js';
import { PAGES_PER_BLOCK } from './types.js';

const page = fc.integer({ min: 0, max: PAGES_PER_BLOCK - 1 });
const run = fc
  .tuple(page, page)
  .map(([a, b]): [first: number, count: number] => [Math.min(a, b), Math.abs(a - b) + 1]);

function pagesOf(mask: Mask): number[] {
  return Array.from({ length: PAGES_PER_BLOCK }, (_, at) => at).filter((at) => has(mask, at));
}

function maskOf(runs: [number, number][]): Mask {
  const mask = createMask();
  for (const [first, count] of runs) addRun(mask, first, count);
  return mask;
}

describe('a page mask', () => {
  it('ends after its last page', () => {
    fc.assert(
      fc.property(fc.array(run, { maxLength: 3 }), (runs) => {
        const mask = maskOf(runs);
        expect(endOf(mask)).toBe((pagesOf(mask).at(-1) ?? -1) + 1);
      }),
    );
  });

  it('knows the words in which it has pages', () => {
    fc.assert(
      fc.property(fc.array(run, { maxLength: 3 }), (runs) => {
        const mask = maskOf(runs);
        const words = pagesOf(mask).map((at) => at >>> 5);
        expect([firstWordOf(mask), endWordOf(mask)]).toEqual([
          words[0] ?? WORDS,
          (words.at(-1) ?? -1) + 1,
        ]);
      }),
    );
  });

  it('is searched up to a word, as if the words from there on were empty', () => {
    fc.assert(
      fc.property(
        fc.array(run, { maxLength: 6 }),
        page,
        fc.integer({ min: 0, max: WORDS }),
        (runs, from, words) => {
          const whole = maskOf(runs);
          const cut = maskOf(runs);
          cut.fill(0, words);
          expect(next(whole, from, words)).toBe(next(cut, from));
          expect(nextAbsent(whole, from, words)).toBe(nextAbsent(cut, from));
        },
      ),
    );
  });

  it('holds exactly what runs and pages put into it and took out', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constantFrom('addRun', 'removeRun'), run }),
      fc.record({
        kind: fc.constantFrom('add', 'remove'),
        run: page.map((at): [number, number] => [at, 1]),
      }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const mask = createMask();
        const model = new Set<number>();
        for (const { kind, run } of steps) {
          const [first, count] = run;
          if (kind === 'add') add(mask, first);
          else if (kind === 'remove') remove(mask, first);
          else if (kind === 'addRun') addRun(mask, first, count);
          else removeRun(mask, first, count);
          for (let at = first; at < first + count; at++) {
            if (kind.startsWith('add')) model.add(at);
            else model.delete(at);
          }
        }
        expect(pagesOf(mask)).toEqual([...model].sort((a, b) => a - b));
        expect(size(mask)).toBe(model.size);
        expect(isEmpty(mask)).toBe(model.size === 0);
      }),
    );
  });

  it('counts and finds within a run as one would by looking at each page', () => {
    fc.assert(
      fc.property(fc.array(run, { maxLength: 6 }), run, (runs, [first, count]) => {
        const mask = maskOf(runs);
        const pages = pagesOf(mask);
        expect(sizeOfRun(mask, first, count)).toBe(
          pages.filter((at) => at >= first && at < first + count).length,
        );
        expect(next(mask, first)).toBe(pages.find((at) => at >= first) ?? PAGES_PER_BLOCK);
        let absent = first;
        while (absent < PAGES_PER_BLOCK && has(mask, absent)) absent++;
        expect(nextAbsent(mask, first)).toBe(absent);
      }),
    );
  });

  it('knows its ends: the last page, all pages, none, and nothing past the end', () => {
    const mask = maskOf([[0, PAGES_PER_BLOCK]]);
    expect(size(mask)).toBe(PAGES_PER_BLOCK);
    expect(nextAbsent(mask, 0)).toBe(PAGES_PER_BLOCK);
    expect(next(mask, PAGES_PER_BLOCK)).toBe(PAGES_PER_BLOCK);
    expect(nextAbsent(mask, PAGES_PER_BLOCK)).toBe(PAGES_PER_BLOCK);
    clear(mask);
    expect(isEmpty(mask)).toBe(true);
    add(mask, PAGES_PER_BLOCK - 1);
    expect(next(mask, 0)).toBe(PAGES_PER_BLOCK - 1);
    expect(mask[15]).toBe(-(2 ** 31));
  });
});
