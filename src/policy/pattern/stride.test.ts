import { beforeEach, describe, expect, it } from 'vitest';
import { createMask, has } from '../../core/basics/mask.js';
import { PAGES_PER_BLOCK as BLOCK } from '../../core/basics/types.js';
import { Stride } from './stride.js';

let stride: Stride;

beforeEach(() => {
  stride = new Stride();
});

/** A touch of a page of the range. Returns the pages of its block that are expected after it. */
function touch(page: number): number[] {
  const expected = createMask();
  stride.look(page);
  if (stride.isKnown) stride.expect(expected, page % BLOCK);
  const base = page - (page % BLOCK);
  return Array.from({ length: BLOCK }, (_, at) => at)
    .filter((at) => has(expected, at))
    .map((at) => base + at);
}

/** Touches pages that are not there. Returns how many faulted, and how many came in vain. */
function pass(pages: readonly number[]): [faults: number, vain: number] {
  const here = new Set<number>();
  let faults = 0;
  for (const page of pages) {
    if (here.has(page)) continue;
    faults++;
    for (const expected of touch(page)) here.add(expected);
    here.add(page);
  }
  return [faults, here.size - new Set(pages).size];
}

/** Pages of a block in which each row of so many pages has one. */
const down = (block: number, row: number, from = 0): number[] =>
  Array.from({ length: Math.ceil((BLOCK - from) / row) }, (_, at) =>
    Math.floor(block * BLOCK + from + at * row),
  );

describe('touches so many pages apart', () => {
  it('are expected from the third on, twice as many each time', () => {
    expect(touch(0)).toEqual([]);
    expect(touch(8)).toEqual([]);
    expect(touch(16)).toEqual([24]);
    expect(touch(32)).toEqual([40, 48, 56]);
    expect(touch(64)).toHaveLength(7);
  });

  it('are expected downwards, too', () => {
    for (const page of [400, 390]) touch(page);
    expect(touch(380)).toEqual([370]);
  });

  it('are expected in the block alone', () => {
    for (const page of [300, 400]) touch(page);
    expect(touch(500)).toEqual([]);
  });

  it('are not expected where pages follow each other, or each block has one', () => {
    for (const page of [1, 2, 3]) expect(touch(page)).toEqual([]);
    for (const block of [1, 2, 3, 4]) expect(touch(block * BLOCK)).toEqual([]);
  });

  it('are found again in another block after one touch', () => {
    pass(down(0, 4));
    for (const block of [5, 3]) {
      const [faults, vain] = pass(down(block, 4));
      expect(faults).toBeLessThan(10);
      expect(vain).toBe(0);
    }
  });

  it('are known in spite of a touch elsewhere, and not of touches here and there', () => {
    for (const page of [0, 8, 16, 32]) touch(page);
    expect(touch(5000)).not.toEqual([]);
    for (const page of [9000, 2100, 7777, 31, 6400]) touch(page);
    expect(touch(4444)).toEqual([]);
  });
});

describe('rows that are no whole pages', () => {
  it.each([2.83, 2.93, 5.13, 20.4])('of %d pages are found out', (row) => {
    pass(down(0, row));
    pass(down(2, row, 0.3));
    const pages = down(4, row, 0.7);
    const [faults, vain] = pass(pages);
    expect(faults).toBeLessThan(pages.length / 2);
    expect(vain).toBeLessThan(pages.length / 4);
  });
});
