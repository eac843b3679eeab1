import { beforeEach, describe, expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import { add, addRun } from '../basics/mask.js';
import { type Commands, PAGES_PER_BLOCK } from '../basics/types.js';
import type { Node } from '../table/nodes.js';
import type { Range } from '../table/range.js';
import { createState, residenceOf, type State } from '../table/state.js';
import { type Block, rareMask } from '../table/va-block.js';
import { dirtyRuns, forgetUse, forgetUser, noteArguments, noteUse, youngRuns } from './usage.js';

const policies = namedPolicies();
let state: State;

beforeEach(() => {
  state = createState({} as Commands, policies, 16);
});

function allocate(pages: number, provided = false): Range {
  const range = state.va.allocate(pages, { name: 'x', writable: true, provided });
  if (range === null) throw new Error('no addresses');
  return range;
}

function block(index: number): Block {
  const found = state.va.block(index);
  if (found === undefined) throw new Error('no block');
  return found;
}

describe('dirty runs', () => {
  it('go on over the border of two blocks, and leave out what is freed, lost or outside', () => {
    allocate(2 * PAGES_PER_BLOCK - 2);
    addRun(block(0).dirty, 500, 12);
    addRun(block(1).dirty, 0, PAGES_PER_BLOCK);
    add(rareMask(block(1), 'freed'), 10);
    add(rareMask(block(1), 'lost'), 20);
    expect(dirtyRuns(state, 0, 2 * PAGES_PER_BLOCK)).toEqual([
      { first: 500, count: 22 },
      { first: 523, count: 9 },
      { first: 533, count: 489 },
    ]);
    expect(dirtyRuns(state, 505, 515)).toEqual([{ first: 505, count: 10 }]);
  });

  it('count what was emptied where a provider would give something else', () => {
    allocate(10);
    allocate(10, true);
    add(block(0).blank, 3);
    add(block(1).blank, 3);
    expect(dirtyRuns(state, 0, 2 * PAGES_PER_BLOCK)).toEqual([
      { first: PAGES_PER_BLOCK + 3, count: 1 },
    ]);
  });
});

describe('young runs', () => {
  it('join faults and launches by block, and make nothing of blocks that nobody has touched', () => {
    allocate(3 * PAGES_PER_BLOCK + 7);
    noteUse(state, 2, [{ first: PAGES_PER_BLOCK + 5, count: PAGES_PER_BLOCK }]);
    noteUse(state, 3, [{ first: 5, count: 0 }]);
    expect(state.va.blocks.size).toBe(0);
    block(3).young = 1;
    block(1).young = 1;
    const all = [
      { first: PAGES_PER_BLOCK, count: PAGES_PER_BLOCK, processors: 5 },
      { first: 2 * PAGES_PER_BLOCK, count: PAGES_PER_BLOCK, processors: 4 },
      { first: 3 * PAGES_PER_BLOCK, count: 7, processors: 1 },
    ];
    const pages = 3 * PAGES_PER_BLOCK + 7;
    expect(youngRuns(state, 0, pages)).toEqual(all);
    expect(youngRuns(state, PAGES_PER_BLOCK + 1, 1)).toEqual([all[0]]);
    forgetUse(state, PAGES_PER_BLOCK + 1, 1);
    expect(youngRuns(state, 0, pages)).toEqual(all.slice(1));
    forgetUse(state, 0, pages);
    expect(youngRuns(state, 0, pages)).toEqual([]);
  });

  it('are one where neighbouring blocks were used by the same processors, and end with the range', () => {
    allocate(4 * PAGES_PER_BLOCK);
    allocate(PAGES_PER_BLOCK);
    for (const index of [0, 1, 3]) block(index).young = 2;
    block(4).young = 1;
    expect(youngRuns(state, 0, 5 * PAGES_PER_BLOCK)).toEqual([
      { first: 0, count: 2 * PAGES_PER_BLOCK, processors: 2 },
      { first: 3 * PAGES_PER_BLOCK, count: PAGES_PER_BLOCK, processors: 2 },
    ]);
    expect(youngRuns(state, 2 * PAGES_PER_BLOCK, PAGES_PER_BLOCK + 1)).toHaveLength(1);
  });

  it('are none of no pages, and stay when no pages are forgotten', () => {
    allocate(PAGES_PER_BLOCK);
    block(0).young = 2;
    forgetUse(state, 5, 0);
    expect(youngRuns(state, 5, 0)).toEqual([]);
    expect(youngRuns(state, 5, 1)).toHaveLength(1);
  });

  it('know nothing of a processor that is no more', () => {
    const range = allocate(2 * PAGES_PER_BLOCK);
    range.memories[1] = 20;
    noteUse(state, 1, [{ first: 0, count: 600 }]);
    noteUse(state, 2, [{ first: 0, count: 1 }]);
    block(0).young = 6;
    forgetUser(state, 1);
    expect(youngRuns(state, 0, range.pages)).toEqual([
      { first: 0, count: PAGES_PER_BLOCK, processors: 4 },
    ]);
    expect(range.memories[1]).toBe(undefined);
    forgetUse(state, 0, range.pages);
    expect(range.users.isUniform).toBe(true);
  });
});

describe('arguments of a launch on a node of four blocks, which has the first two of an array', () => {
  let used: number[];

  beforeEach(() => {
    used = [];
    const eviction = { used: (index: number) => used.push(index) };
    state.nodes[0] = {
      allocator: null,
      budgetPages: 4 * PAGES_PER_BLOCK,
      eviction,
    } as unknown as Node;
    allocate(4 * PAGES_PER_BLOCK);
    for (const index of [0, 1]) residenceOf(state, block(index), 0).backedCount = 1;
  });

  it.each([
    { blocks: [0, 2], held: false, touched: [0, 1], what: 'wholly there and half of the node' },
    { blocks: [0, 3], held: false, touched: [], what: 'more than half of the node' },
    { blocks: [1, 2], held: false, touched: [], what: 'there in part' },
    {
      blocks: [0, 3],
      held: true,
      touched: [0, 1],
      what: 'needed at once, though there in part and more than half of the node',
    },
    { blocks: [0, 0], held: true, touched: [], what: 'empty' },
  ])('touch the blocks $touched when $what', ({ blocks: [first, count], held, touched }) => {
    const at = first * PAGES_PER_BLOCK + (count === 0 ? 5 : 0);
    noteArguments(state, 0, [{ first: at, count: count * PAGES_PER_BLOCK }], held);
    expect(used).toEqual(touched);
  });
});
