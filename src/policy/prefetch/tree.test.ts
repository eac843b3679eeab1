import { describe, expect, it } from 'vitest';
import { addRun, createMask, has } from '../../core/basics/mask.js';
import { PAGES_PER_BLOCK, PAGES_PER_GROUP, type PrefetchRequest } from '../../core/basics/types.js';
import { none, tree } from './tree.js';

type Run = [first: number, count: number];

/** Asks the policy about a fault on `page`; runs are in pages. */
function ask(
  page: number,
  occupied: Run[],
  about: Partial<PrefetchRequest> = {},
  policy = tree(),
): Run[] {
  const request: PrefetchRequest = {
    page,
    write: false,
    occupied: createMask(),
    allowed: createMask(),
    streaming: false,
    pressed: false,
    walked: 0,
    most: PAGES_PER_BLOCK,
    distant: false,
    scattered: 0,
    close: false,
    result: createMask().fill(0x55555555),
    ...about,
  };
  for (const [first, count] of occupied) addRun(request.occupied, first, count);
  if (about.allowed === undefined) addRun(request.allowed, 0, PAGES_PER_BLOCK);
  policy(request);
  const runs: Run[] = [];
  for (let at = 0; at < PAGES_PER_BLOCK; at++) {
    if (!has(request.result, at)) continue;
    const last = runs.at(-1);
    if (last !== undefined && last[0] + last[1] === at) last[1]++;
    else runs.push([at, 1]);
  }
  return runs;
}

const group = (index: number, count = 1): Run => [index * PAGES_PER_GROUP, count * PAGES_PER_GROUP];

describe('the tree prefetcher', () => {
  it('brings 64 KiB for a first fault, aligned', () => {
    expect(ask(37, [])).toEqual([group(2)]);
    expect(ask(511, [])).toEqual([group(31)]);
  });

  it('brings a page alone from host memory to a node that is full, unless it may begin a walk', () => {
    const full = (page: number, occupied: Run[], about: Partial<PrefetchRequest> = {}) =>
      ask(page, occupied, { pressed: true, close: true, ...about });
    expect(full(37, [])).toEqual([[37, 1]]);
    expect(full(37, [], { close: false })).toEqual([group(2)]);
    expect(full(37, [], { pressed: false })).toEqual([group(2)]);
    expect(full(2 * PAGES_PER_GROUP, [])).toEqual([group(2)]);
    expect(full(38, [[37, 1]], { walked: 1 })).toEqual([
      [32, 5],
      [38, 10],
    ]);
  });

  it('pulls the fourth 64 KiB group of 256 KiB along with the third', () => {
    expect(ask(0, [group(1)])).toEqual([group(0)]);
    expect(ask(2 * PAGES_PER_GROUP, [group(0), group(1)])).toEqual([group(2, 2)]);
    expect(ask(0, [group(2), group(3)])).toEqual([group(0, 2)]);
  });

  it('needs more than 51 percent: half of a subtree is not enough', () => {
    expect(ask(0, [group(3)])).toEqual([group(0)]);
    expect(ask(0, [group(3)], {}, tree({ thresholdPercent: 49 }))).toEqual([group(0, 3)]);
  });

  it('takes the largest subtree that is dense enough, though one between is not', () => {
    // Of the 8 groups to the left there are 4 with the fault; of all 32 there are 20.
    expect(ask(0, [group(1, 3), group(16, 16)])).toEqual([group(0), group(4, 12)]);
    // 32 groups, 16 of them and the fault: 53 percent.
    expect(ask(0, [group(16, 16)])).toEqual([group(0, 16)]);
  });

  it('does not count pages of the group twice that are there already', () => {
    // 16 pages of the fault's own group are all that a 128 KiB subtree has: half, not all of it.
    expect(ask(0, [[1, 15]])).toEqual([[0, 1]]);
  });

  it('brings only what may be brought and is not there', () => {
    const allowed = createMask();
    addRun(allowed, 0, 10);
    expect(ask(3, [[5, 2]], { allowed })).toEqual([
      [0, 5],
      [7, 3],
    ]);
  });

  it('brings the group alone where the node is full, however dense the block is', () => {
    expect(ask(100, [group(0)], { pressed: true })).toEqual(ask(100, []));
    expect(ask(100, [group(0)], { pressed: true, streaming: true })).toEqual([group(1, 31)]);
    // Faults one after the other bring more and more, as far as the block goes.
    const brought = [0, 1, 2, 3, 4, 5].map((walked) => ask(256, [], { pressed: true, walked }));
    expect(brought).toEqual([1, 1, 2, 4, 8, 16].map((groups) => [group(16, groups)]));
    expect(ask(480, [], { pressed: true, walked: 5 })).toEqual([group(30, 2)]);
  });

  it('brings the rest of the block from far to a processor that walks, or reads where content begins there', () => {
    const brought = (about: Partial<PrefetchRequest>) =>
      ask(100, [group(0)], { distant: true, ...about });
    expect(brought({ walked: 0 })).toEqual([group(6)]);
    expect(brought({ walked: 1 })).toEqual([group(6, 26)]);
    expect(brought({ walked: 1, write: true })).toEqual([group(6)]);
    expect(brought({ walked: 2, write: true })).toEqual([group(6, 26)]);
    expect(brought({ walked: 1, pressed: true })).toEqual([group(6)]);
    expect(brought({ walked: 2, distant: false })).toEqual([group(6)]);
  });

  it('brings the whole block to a processor that streams', () => {
    expect(ask(100, [group(0)], { streaming: true })).toEqual([group(1, 31)]);
  });

  it('brings no more than the walks of a launch have room for', () => {
    expect(ask(100, [], { streaming: true, most: 64 })).toEqual([[64, 64]]);
    expect(ask(100, [], { pressed: true, walked: 6, most: 64 })).toEqual([[64, 64]]);
    expect(ask(100, [[96, 8]], { pressed: true, walked: 2, most: 16 })).toEqual([[104, 8]]);
  });

  it('always brings the page itself', () => {
    for (let page = 0; page < PAGES_PER_BLOCK; page += 7) {
      const runs = ask(page, page === 0 ? [] : [[0, page]]);
      expect(runs.some(([first, count]) => page >= first && page < first + count)).toBe(true);
    }
  });
});

describe('no prefetch', () => {
  it('brings the page alone', () => {
    expect(ask(77, [], {}, none)).toEqual([[77, 1]]);
  });
});
