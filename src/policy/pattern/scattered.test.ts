import { beforeEach, describe, expect, it } from 'vitest';
import {
  Access,
  PAGES_PER_BLOCK as BLOCK,
  HOST,
  type PrefetchPolicy,
  Status,
} from '../../core/basics/types.js';
import type { Range } from '../../core/table/range.js';
import type { OpenManager } from '../../core/test-manager.js';
import {
  allocateIn,
  commandsThat,
  deviceOf,
  hasPage,
  hostOf,
  managerOf,
} from '../../core/test-parts.js';
import { namedPolicies } from '../choices.js';

const host = hostOf(4);
const file = { provided: true, writable: false };

/** Pages that were brought. */
let brought = 0;
const commands = commandsThat({
  transfer({ count }) {
    brought += count;
    return Status.Done;
  },
});

describe('touches of a file here and there', () => {
  let manager: OpenManager;
  let first: number;
  let asked: number[];

  /** An array over a file, of which the host can have four blocks. */
  beforeEach(() => {
    asked = [];
    const policies = namedPolicies({ prefetch: 'pattern', readAhead: 'none' });
    const prefetch = (): PrefetchPolicy => {
      const policy = policies.prefetch();
      return (touch) => {
        policy(touch);
        asked.push((touch.memory as { scattered: number }).scattered);
      };
    };
    manager = managerOf(host, commands, { ...policies, prefetch }, 256);
    first = allocateIn(manager, 64 * BLOCK, file);
  });

  function touch(page: number): number {
    asked = [];
    brought = 0;
    manager.fault(HOST, first + page, false, 1);
    return brought;
  }

  /** One page of each 64 KiB, in an order in which no two of a block follow each other. */
  function touchAround(rounds: number, blocks: number): number[] {
    const counts: number[] = [];
    for (let round = 0; round < rounds; round++)
      for (let block = 0; block < blocks; block++)
        counts.push(touch(block * BLOCK + ((round * 5) % 32) * 16 + 3));
    return counts.filter((pages) => pages > 0);
  }

  it('bring 64 KiB at least as long as there is room', () => {
    for (const pages of touchAround(32, 4)) expect(pages).toBeGreaterThanOrEqual(16);
    expect(asked).toEqual([0]);
  });

  it('bring their page alone where the blocks keep leaving and coming back', () => {
    const counts = touchAround(64, 12);
    expect(counts[0]).toBe(16);
    expect(new Set(counts.slice(-100))).toEqual(new Set([1]));
    manager.checkInvariants();
  });

  it('bring their page alone also beside a block that is whole: there it says nothing of a walk', () => {
    touchAround(64, 12);
    manager.acquire(1, HOST, first + 20 * BLOCK, BLOCK, Access.Read);
    expect(touch(21 * BLOCK + 3)).toBe(1);
  });

  it('are not looked for where the program has said how it will touch', () => {
    const range = manager.state.va.rangeOfPage(first) as Range;
    touchAround(32, 4);
    touch(9 * BLOCK + 3);
    manager.advise(range, 0, range.pages, { pattern: 'random' });
    expect(touch(10 * BLOCK + 3)).toBe(1);
    expect(asked).toEqual([0]);
  });

  it('count as 16 at most, so that a walk is soon known for one', () => {
    touchAround(128, 12);
    touch(40 * BLOCK + 160);
    expect(asked).toEqual([16]);
  });

  it('count from none again after a walk, however long it was', () => {
    touchAround(32, 4);
    touch(9 * BLOCK + 3);
    const counts = [3, 100, 200].map((page) => {
      touch(10 * BLOCK + page);
      const [count] = asked;
      for (let other = 20 * BLOCK; other < 28 * BLOCK; other++) touch(other);
      return count;
    });
    expect(counts).toEqual([1, 1, 1]);
  });

  it('bring neighbours again when they follow each other', () => {
    touchAround(64, 12);
    const from = 40 * BLOCK;
    expect(touch(from + 160)).toBe(1);
    expect(touch(from + 161)).toBe(15);
    expect(asked).toEqual([12]);
  });

  it('bring 64 KiB again when the range has been walked through', () => {
    touchAround(64, 12);
    for (let page = 20 * BLOCK; page < 30 * BLOCK; page++) touch(page);
    expect(touch(50 * BLOCK + 3)).toBe(16);
  });

  it('are looked at by range and processor', () => {
    touchAround(64, 12);
    const other = allocateIn(manager, BLOCK, file);
    brought = 0;
    manager.fault(HOST, other + 3, false, 1);
    expect(brought).toBe(16);
  });
});

describe('touches of a device that read a page and then write it', () => {
  let manager: OpenManager;
  let device: number;
  let first: number;

  beforeEach(() => {
    manager = managerOf(
      hostOf(128),
      commands,
      namedPolicies({ prefetch: 'pattern', readAhead: 'none' }),
      256,
    );
    device = manager.addDevice(deviceOf(4)).processor;
    first = allocateIn(manager, 64 * BLOCK);
    for (let page = 0; page < 64 * BLOCK; page += 16) manager.fault(HOST, first + page, true, 1);
  });

  function change(page: number): void {
    if (!hasPage(manager, device, page)) manager.fault(device, page, false, 1);
    if (!hasPage(manager, device, page, 'writable')) manager.fault(device, page, true, 1);
  }

  it('are one touch each: pages come alone where they lie scattered', () => {
    let seed = 1;
    const some = (count: number): number => {
      const before = manager.state.nodes[device]?.counters.pagesIn ?? 0;
      for (let each = 0; each < count; each++) {
        seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
        change(first + (seed >>> 17));
      }
      return (manager.state.nodes[device]?.counters.pagesIn ?? 0) - before;
    };
    some(500);
    expect(some(500)).toBeLessThan(600);
    manager.checkInvariants();
  });
});
