import { beforeEach, describe, expect, it } from 'vitest';
import { Access, PAGES_PER_BLOCK as BLOCK, HOST, type Touch } from '../../core/basics/types.js';
import type { OpenManager } from '../../core/test-manager.js';
import {
  allocateIn,
  commandsThat,
  deviceOf,
  hostOf,
  managerOf,
  touchIn,
} from '../../core/test-parts.js';
import { namedPolicies } from '../choices.js';
import { touchOf } from '../test-touch.js';
import type { Walk } from './walks.js';
import { pagesPerWalk, WindowCap } from './window-cap.js';

let manager: OpenManager;
let faults: number;

const commands = commandsThat({
  deny: () => {
    throw new Error('an access was denied');
  },
});

beforeEach(() => {
  faults = 0;
  manager = managerOf(hostOf(16), commands, namedPolicies(), 1024);
});

function allocate(blocks: number): number {
  return allocateIn(manager, blocks * BLOCK, { provided: true, writable: false });
}

const arrays = (count: number, blocks: number): number[] =>
  Array.from({ length: count }, () => allocate(blocks));

/** A read of the page, which faults where the processor does not have it. */
function touch(processor: number, page: number): void {
  if (touchIn(manager, processor, page)) faults++;
}

/** Goes through all of them at once, a page of each after the other. */
function walk(processor: number, firsts: readonly number[], pages: number): void {
  for (let page = 0; page < pages; page++)
    for (const first of firsts) touch(processor, first + page);
}

/** Pages that come with a touch at the border to a block that the processor has wholly. */
function share(processor: number): number {
  const first = allocate(2);
  manager.acquire(9, processor, first, BLOCK, Access.Read);
  const before = manager.state.nodes[processor]?.counters.pagesProvided ?? 0;
  manager.fault(processor, first + BLOCK, false, 1);
  return (manager.state.nodes[processor]?.counters.pagesProvided ?? 0) - before;
}

describe('the share of a walk', () => {
  const args = (count: number, pages: number) =>
    Array.from({ length: count }, (_, at) => ({ first: at * 8192, end: at * 8192 + pages }));

  it('is a block where each may have one', () => {
    expect(pagesPerWalk(args(4, 4096), 1, 4 * BLOCK)).toBe(BLOCK);
    expect(pagesPerWalk(args(2, 4096), 2, 4 * BLOCK)).toBe(BLOCK);
    expect(pagesPerWalk([], 1, 2 * BLOCK)).toBe(BLOCK);
  });

  it('is a power of two of which each walk may have one, and 64 KiB at least', () => {
    expect(pagesPerWalk(args(5, 4096), 1, 4 * BLOCK)).toBe(256);
    expect(pagesPerWalk(args(5, 4096), 2, 4 * BLOCK)).toBe(128);
    expect(pagesPerWalk(args(9, 4096), 1, 2 * BLOCK)).toBe(64);
    expect(pagesPerWalk(args(500, 4096), 1, 2 * BLOCK)).toBe(16);
  });

  it('counts of small arguments only what they have', () => {
    expect(pagesPerWalk(args(20, 16), 8, 4 * BLOCK)).toBe(BLOCK);
    expect(pagesPerWalk(args(3, 300), 2, 2 * BLOCK)).toBe(BLOCK);
  });
});

describe('a launch that goes through more arrays than there are blocks', () => {
  it('brings less with a fault, so that each page comes about once', () => {
    const device = manager.addDevice(deviceOf(4)).processor;
    const all = arrays(9, 3);
    manager.launchBegin(
      1,
      device,
      all.map((first) => ({ first, count: 3 * BLOCK, use: 'in' })),
    );
    expect(share(device)).toBe(128);
    walk(device, all, 3 * BLOCK);
    expect(faults).toBeLessThan(9 * 3 * 10);
    expect(manager.state.nodes[device]?.counters.pagesProvided).toBeLessThan(1.3 * 9 * 3 * BLOCK);
    manager.launchEnd(1);
    expect(share(device)).toBe(BLOCK);
    manager.checkInvariants();
  });
});

describe('the host, when it goes through more arrays than there are blocks', () => {
  it('is brought less with a fault, once blocks have come back too soon', () => {
    walk(HOST, arrays(40, 2), 2 * BLOCK);
    expect(share(HOST)).toBeLessThan(BLOCK);
    expect(faults).toBeLessThan(40 * 2 * 20);
    manager.checkInvariants();
  });

  it('goes through arrays of one block by parts that grow', () => {
    walk(HOST, arrays(40, 1), BLOCK);
    expect(faults).toBeLessThan(400);
  });

  it('has whole blocks again when it goes through one array', () => {
    walk(HOST, arrays(40, 2), 2 * BLOCK);
    expect(share(HOST)).toBeLessThan(BLOCK);
    walk(HOST, [allocate(600)], 600 * BLOCK);
    expect(share(HOST)).toBe(BLOCK);
  });

  it('has whole blocks in passes over more than there is room for', () => {
    const [long, short] = [allocate(18), allocate(1)];
    for (let pass = 0; pass < 40; pass++) {
      walk(HOST, [long], 18 * BLOCK);
      walk(HOST, [short], BLOCK);
      expect(share(HOST)).toBe(BLOCK);
    }
  });
});

describe('a page that the range was touched at last', () => {
  let cap: WindowCap;
  let last: Walk;

  beforeEach(() => {
    cap = new WindowCap();
    last = { begin: 0, at: 0, next: BLOCK, length: 1, asked: -1, evictions: 0 };
  });

  /** Has it touched so often, four evictions from each other. Returns what may come with it. */
  function touchAgain(times: number, about: Partial<Touch>): number {
    let most = 0;
    for (let time = 0; time < times; time++) {
      const evictions = last.evictions + 4;
      most = cap.of(touchOf(0, { pressed: true, evictions, ...about }), 0, last);
      last.evictions = evictions;
    }
    return most;
  }

  it('comes with less where its block was given up since', () => {
    expect(touchAgain(7, { goneFor: () => 3 })).toBe(BLOCK);
    expect(touchAgain(1, { goneFor: () => 3 })).toBe(256);
    expect(touchAgain(8, { goneFor: () => 3 })).toBe(128);
  });

  it('comes with all of its block where that was given up before, or never', () => {
    expect(touchAgain(100, { goneFor: () => 4 })).toBe(BLOCK);
    expect(touchAgain(100, { goneFor: () => -1 })).toBe(BLOCK);
  });

  it('says nothing of the time that it waits for room', () => {
    expect(touchAgain(8, { goneFor: () => 3 })).toBe(256);
    expect(touchAgain(200, { goneFor: () => 9, again: true })).toBe(256);
    expect(touchAgain(64, { goneFor: () => 9 })).toBe(BLOCK);
  });
});
