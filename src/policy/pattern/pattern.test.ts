import { beforeEach, describe, expect, it } from 'vitest';
import { addRun, createMask, has } from '../../core/basics/mask.js';
import { PAGES_PER_BLOCK, PAGES_PER_GROUP, type Touch } from '../../core/basics/types.js';
import { touchOf } from '../test-touch.js';
import { noReadAhead } from './next.js';
import { none, pattern } from './pattern.js';

type Run = [first: number, count: number];

let policy: (touch: Touch) => void;
let memory: unknown;
let last: Touch;

beforeEach(() => {
  policy = pattern({}, noReadAhead);
  memory = undefined;
});

/** A fault on `page`, after those before it; runs are in pages. */
function next(page: number, occupied: Run[], about: Partial<Touch> = {}): Run[] {
  const touch = touchOf(page, { memory, ...about });
  for (const [first, count] of occupied) addRun(touch.occupied as Int32Array, first, count);
  if (about.allowed === undefined) addRun(touch.allowed as Int32Array, 0, PAGES_PER_BLOCK);
  policy(touch);
  memory = touch.memory;
  last = touch;
  const runs: Run[] = [];
  for (let at = 0; at < PAGES_PER_BLOCK; at++) {
    if (!has(touch.result, at)) continue;
    const run = runs.at(-1);
    if (run !== undefined && run[0] + run[1] === at) run[1]++;
    else runs.push([at, 1]);
  }
  return runs;
}

/** The first fault in a range. */
function ask(page: number, occupied: Run[], about: Partial<Touch> = {}): Run[] {
  memory = undefined;
  return next(page, occupied, about);
}

const group = (index: number, count = 1): Run => [index * PAGES_PER_GROUP, count * PAGES_PER_GROUP];
const groups = (index: number, counts: number[]): Run[][] => {
  let at = index;
  return counts.map((count) => {
    at += count;
    return [group(at - count, count)];
  });
};

/** The page behind those that came. */
function endOf({ result }: Touch): number {
  let end = PAGES_PER_BLOCK;
  while (!has(result, end - 1)) end--;
  return end;
}

/** Faults one after the other, each behind what came with the one before. */
function walk(from: number, times: number, about: Partial<Touch> = {}): Run[][] {
  let page = from;
  memory = undefined;
  return Array.from({ length: times }, () => {
    const brought = next(page, [], about);
    const [first, count] = brought[0];
    page = first + count;
    return brought;
  });
}

describe('what comes while there is room', () => {
  it('is 64 KiB for a first fault, aligned', () => {
    expect(ask(37, [])).toEqual([group(2)]);
    expect(last.reason).toBe('near');
    expect(ask(511, [])).toEqual([group(31)]);
  });

  it('pulls the fourth 64 KiB group of 256 KiB along with the third', () => {
    expect(ask(0, [group(1)])).toEqual([group(0)]);
    expect(ask(2 * PAGES_PER_GROUP, [group(0), group(1)])).toEqual([group(2, 2)]);
    expect(last.reason).toBe('dense');
    expect(ask(0, [group(2), group(3)])).toEqual([group(0, 2)]);
  });

  it('needs more than 51 percent: half of a subtree is not enough', () => {
    expect(ask(0, [group(3)])).toEqual([group(0)]);
    policy = pattern({ thresholdPercent: 49 }, noReadAhead);
    expect(ask(0, [group(3)])).toEqual([group(0, 3)]);
  });

  it('is the largest subtree that is dense enough, though one between is not', () => {
    // Of the 8 groups to the left there are 4 with the fault; of all 32 there are 20.
    expect(ask(0, [group(1, 3), group(16, 16)])).toEqual([group(0), group(4, 12)]);
    // 32 groups, 16 of them and the fault: 53 percent.
    expect(ask(0, [group(16, 16)])).toEqual([group(0, 16)]);
  });

  it('does not count pages of the group twice that are there already', () => {
    // 16 pages of the fault's own group are all that a 128 KiB subtree has: half, not all of it.
    expect(ask(0, [[1, 15]])).toEqual([[0, 1]]);
  });

  it('is only what may be brought and is not there', () => {
    const allowed = createMask();
    addRun(allowed, 0, 10);
    expect(ask(3, [[5, 2]], { allowed })).toEqual([
      [0, 5],
      [7, 3],
    ]);
  });
});

describe('what comes while there is none', () => {
  it('is the group, however dense the block is, and twice as much each time for a walk', () => {
    expect(ask(100, [group(0)], { full: true })).toEqual([group(6)]);
    expect(ask(0, [], { full: true, hasWhole: (step) => step === -1 })).toEqual([group(0, 32)]);
    expect(last.reason).toBe('walk');
    expect(walk(0, 6, { full: true })).toEqual(groups(0, [1, 1, 2, 4, 8, 16]));
    expect(walk(480, 2, { full: true })).toEqual(groups(30, [1, 1]));
  });
});

describe('what comes where a launch begins as one before it', () => {
  it('is the block, until the walk has not gone on once', () => {
    const first = ask(0, [], { declared: true });
    next(16, [group(0)], { declared: true });
    for (let page = 32; page < PAGES_PER_BLOCK; page = endOf(last))
      next(page, [[0, page]], { declared: true });
    next(0, [], { declared: true, block: 1, hasWhole: (step) => step === -1 });
    expect(first).toEqual([group(0)]);
    expect(next(0, [], { declared: true, block: 0 })).toEqual([group(0, 32)]);
    expect(last.reason).toBe('repeat');
    expect(next(0, [], { declared: true, block: 0 })).toEqual([group(0)]);
  });
});

describe('what comes from far', () => {
  const far = { source: 'far' } as const;

  it('is the rest of the block to a processor that walks, and where content begins', () => {
    expect(walk(96, 2, far)).toEqual(groups(6, [1, 25]));
    expect(walk(96, 3, { ...far, write: true })).toEqual(groups(6, [1, 1, 24]));
    expect(walk(96, 2, { ...far, full: true })).toEqual(groups(6, [1, 1]));
    expect(ask(96, [], { ...far, continues: false })).toEqual([group(6, 26)]);
    expect(last.reason).toBe('begin');
  });
});

describe('how much comes at most', () => {
  const uses = Array.from({ length: 64 }, (_, at) => ({ first: at * 8192, end: at * 8192 + 8192 }));

  it('is what the walks of a launch have room for', () => {
    const about = { uses, hasWhole: (step: number) => step === -1 };
    expect(ask(0, [], about)).toEqual([[0, 64]]);
    expect(walk(0, 8, { uses, full: true }).at(-1)).toEqual([[320, 64]]);
  });
});

describe('the pages that come', () => {
  it('are all of the block to what the program says is walked through', () => {
    expect(ask(100, [group(0)], { advice: 'sequential' })).toEqual([group(1, 31)]);
    expect(last.reason).toBe('advice');
  });

  it('always have the page itself among them', () => {
    for (let page = 0; page < PAGES_PER_BLOCK; page += 7) {
      const runs = ask(page, page === 0 ? [] : [[0, page]]);
      expect(runs.some(([first, count]) => page >= first && page < first + count)).toBe(true);
    }
  });

  it('are the page alone without a policy', () => {
    policy = none;
    expect(ask(77, [])).toEqual([[77, 1]]);
  });
});
