import { describe, expect, it } from 'vitest';
import { has, size } from '../basics/mask.js';
import { PAGES_PER_BLOCK } from '../basics/types.js';
import type { Range } from './range.js';
import { VaSpace } from './va-space.js';

const options = { name: 'a', writable: true, provided: false };

function take(space: VaSpace, pages: number): Range {
  const range = space.allocate(pages, options);
  if (range === null) throw new Error('no addresses are left');
  return range;
}

describe('VaSpace', () => {
  it('starts each range at a block of its own, and knows whose a page is', () => {
    const space = new VaSpace(8);
    const small = take(space, 1);
    const large = take(space, PAGES_PER_BLOCK + 1);
    expect([small.first, large.first]).toEqual([0, PAGES_PER_BLOCK]);
    expect(space.rangeOfPage(0)).toBe(small);
    expect(space.rangeOfPage(1)).toBeUndefined();
    expect(space.rangeOfPage(2 * PAGES_PER_BLOCK)).toBe(large);
    expect(space.rangeOfPage(2 * PAGES_PER_BLOCK + 1)).toBeUndefined();
    expect(space.rangeOfPage(3 * PAGES_PER_BLOCK)).toBeUndefined();
    expect(space.range(large.id)).toBe(large);
    expect([...space.allRanges()]).toEqual([small, large]);
  });

  it('makes the state of a block when it is first looked at, with the pages that belong to the range', () => {
    const space = new VaSpace(8);
    take(space, PAGES_PER_BLOCK + 3);
    expect(space.blocks.size).toBe(0);
    expect(size(space.block(0)?.inside ?? new Int32Array(16))).toBe(PAGES_PER_BLOCK);
    const last = space.block(1);
    expect(last === undefined ? 0 : size(last.inside)).toBe(3);
    expect(last === undefined || has(last.inside, 3)).toBe(false);
    expect(space.block(1)).toBe(last);
    expect(space.block(2)).toBeUndefined();
  });

  it('gives addresses again only when there are no fresh ones, the oldest first, and keeps the rest of a larger range', () => {
    const space = new VaSpace(6);
    const first = take(space, 3 * PAGES_PER_BLOCK);
    const second = take(space, PAGES_PER_BLOCK);
    space.block(0);
    space.recycle(first);
    space.recycle(second);
    expect(space.blocks.size).toBe(0);
    expect(space.rangeOfPage(0)).toBeUndefined();
    expect(take(space, 2 * PAGES_PER_BLOCK).first).toBe(4 * PAGES_PER_BLOCK);
    expect(take(space, 2 * PAGES_PER_BLOCK).first).toBe(0);
    expect(take(space, 1).first).toBe(3 * PAGES_PER_BLOCK);
    expect(take(space, 1).first).toBe(2 * PAGES_PER_BLOCK);
    expect(space.allocate(1, options)).toBeNull();
  });
});
