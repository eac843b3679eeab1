import { expect, test } from 'vitest';
import { PAGES_PER_BLOCK } from '../../core/basics/types.js';
import { IDLE_LOOK_MS, IdleBlocks } from './idle-blocks.js';

test('a block is idle when a whole time between two looks has passed without a mapping', () => {
  const blocks = new IdleBlocks();
  blocks.touch(PAGES_PER_BLOCK, 1);
  expect(blocks.look()).toEqual([]);
  blocks.touch(3 * PAGES_PER_BLOCK - 1, 2);
  expect(blocks.look()).toEqual([1]);
  expect(blocks.look()).toEqual([2, 3]);
  expect(blocks.look()).toEqual([]);
});

test('a block in which something was mapped after it was asked for is not empty', () => {
  const blocks = new IdleBlocks();
  blocks.touch(0, 2 * PAGES_PER_BLOCK);
  blocks.look();
  expect(blocks.look()).toEqual([0, 1]);
  blocks.touch(5, 1);
  expect(blocks.takeEmpty()).toEqual([1]);
  expect(blocks.takeEmpty()).toEqual([]);
});

test('looks are due by the clock', () => {
  const blocks = new IdleBlocks();
  expect(blocks.isDue(5)).toBe(true);
  expect(blocks.isDue(5 + IDLE_LOOK_MS - 1)).toBe(false);
  expect(blocks.isDue(5 + IDLE_LOOK_MS)).toBe(true);
});
