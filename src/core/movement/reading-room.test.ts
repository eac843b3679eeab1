import { expect, it } from 'vitest';
import { PAGES_PER_BLOCK as BLOCK, HOST_NODE } from '../basics/types.js';
import type { Node } from '../table/nodes.js';
import { readingRoomOf } from './reading-room.js';

it.each([
  ['an eighth of the budget of a host that has little', HOST_NODE, 8, 1],
  ['four blocks of one that has much', HOST_NODE, 64, 4],
  ['none of another node', HOST_NODE + 1, 64, 0],
])('the room for what is only read is %s', (_what, id, budget, blocks) => {
  expect(readingRoomOf({ id, budgetPages: budget * BLOCK } as Node)).toBe(blocks * BLOCK);
});
