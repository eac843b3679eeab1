import { beforeEach, describe, expect, it } from 'vitest';
import { addRun, createMask } from '../../core/basics/mask.js';
import { PAGES_PER_BLOCK as BLOCK, HOST } from '../../core/basics/types.js';
import type { Range } from '../../core/table/range.js';
import type { OpenManager } from '../../core/test-manager.js';
import { allocateIn, commandsThat, hostOf, managerOf, touchIn } from '../../core/test-parts.js';
import { namedPolicies } from '../choices.js';
import { touchOf } from '../test-touch.js';
import { Trial } from './trial.js';

const ROOM = 8;
const BLOCKS = 16;
/** Of a block that a full memory has given up before. */
const GONE = { pressed: true, goneFor: () => 1 };

let manager: OpenManager;
let first: number;
let faults: number;

/** An array over a file, of which the host can have half. */
beforeEach(() => {
  manager = managerOf(hostOf(ROOM, { units: 2 }), commandsThat(), namedPolicies(), 256);
  first = allocateIn(manager, BLOCKS * BLOCK, { provided: true });
  faults = 0;
});

interface Kept {
  readonly scattered: number;
  readonly trial: { readonly block: number; readonly every: number; readonly left: number };
}

/** What the policy keeps of how the host touches the array. */
function picture(): Kept | undefined {
  return manager.state.va.rangeOfPage(first)?.memories[HOST] as Kept | undefined;
}

/** A read of the page, which faults where the host does not have it. */
function touch(page: number): void {
  if (touchIn(manager, HOST, page)) faults++;
}

/**
 * Goes through the array some times, and touches one page in so many. Returns the pages that came.
 */
function pass(times: number, stride: number, blocks = BLOCKS): number {
  const before = manager.state.nodes[0]?.counters.pagesProvided ?? 0;
  faults = 0;
  for (let time = 0; time < times; time++)
    for (let page = 0; page < blocks * BLOCK; page += stride) touch(first + page);
  manager.checkInvariants();
  return (manager.state.nodes[0]?.counters.pagesProvided ?? 0) - before;
}

describe('passes that touch a page here and there in each block', () => {
  it('have pages come alone where all that they use has room', () => {
    pass(16, 3);
    expect(pass(50, 3)).toBe(0);
  });

  it('have pages come alone where they are few, though not all have room', () => {
    first = allocateIn(manager, 128 * BLOCK, { provided: true });
    pass(4, 16, 128);
    expect(pass(4, 16, 128)).toBeLessThanOrEqual((4 * 128 * BLOCK) / 16);
  });

  it('have blocks come where they use too much', () => {
    pass(32, 2);
    expect(pass(1, 2)).toBeGreaterThanOrEqual((BLOCKS - ROOM) * BLOCK);
    expect(faults).toBeLessThan(4 * BLOCKS);
  });

  it('have blocks come again when all pages are touched', () => {
    pass(16, 3);
    pass(1, 1);
    pass(1, 1);
    expect(faults).toBeLessThan(6 * BLOCKS);
  });
});

describe('passes that touch all pages', () => {
  it('have a block tried less and less', () => {
    pass(400, 1);
    expect(picture()?.trial.every).toBe(1024);
    pass(50, 1);
    expect(faults).toBeLessThan(50 * 2 * BLOCKS);
  });

  it('are known for that by a page next to another one, whatever is touched in between', () => {
    const trial = () => picture()?.trial;
    for (let page = 0; page < 40 * BLOCKS * BLOCK && (trial()?.block ?? -1) === -1; page++)
      touch(first + (page % (BLOCKS * BLOCK)));
    const begin = first + (trial()?.block ?? 0) * BLOCK;
    for (const page of [300, 200, 400]) touch(begin + page);
    // To read a page and then to write it is one touch of it.
    manager.fault(HOST, begin + 400, true, 1);
    expect(trial()).toMatchObject({ pages: 4, every: 8 });
    touch(begin + 201);
    expect(trial()).toMatchObject({ block: -1, every: 16 });
  });
});

describe('a trial', () => {
  it('tells nothing where another thread has the processor go on elsewhere after a page or two', () => {
    for (let time = 0; time < 40; time++)
      for (let block = 0; block < BLOCKS; block++) touch(first + block * BLOCK + 2);
    expect(picture()?.scattered).toBe(0);
  });

  it('ends where the processor has got all of the block, which another one had brought', () => {
    const trial = new Trial();
    for (let block = 0; block < 8; block++) trial.look(touchOf(0, { ...GONE, block }), true);
    expect(trial).toMatchObject({ block: 7, every: 8 });
    const mapped = createMask();
    addRun(mapped, 0, BLOCK);
    expect(trial.look(touchOf(0, { ...GONE, block: 7, mapped, write: true }), true)).toBe('dense');
    expect(trial).toMatchObject({ block: -1, every: 16 });
  });

  it('counts a page once that waits for room', () => {
    const trial = new Trial();
    const waitFor = (block: number): void => {
      for (let time = 0; time < 100; time++)
        trial.look(touchOf(0, { ...GONE, block, again: time > 0 }), true);
    };
    waitFor(0);
    expect(trial).toMatchObject({ block: -1, left: 7 });
    for (let block = 1; block < 7; block++) trial.look(touchOf(0, { ...GONE, block }), true);
    waitFor(7);
    expect(trial).toMatchObject({ block: 7, pages: 1 });
    trial.look(touchOf(9, { ...GONE, block: 7 }), true);
    expect(trial).toMatchObject({ block: 7, pages: 2 });
  });

  it('is not made of what the program says it walks through', () => {
    const range = manager.state.va.rangeOfPage(first) as Range;
    manager.advise(range, 0, BLOCKS * BLOCK, { pattern: 'sequential' });
    pass(40, 3);
    expect(picture()?.trial.left).toBe(8);
  });
});
