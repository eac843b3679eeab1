import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import { addRun, createMask, has, type Mask } from '../basics/mask.js';
import { Access, HOST, HOST_NODE, PAGES_PER_BLOCK, Status, type Touch } from '../basics/types.js';
import type { OpenManager } from '../test-manager.js';
import { allocateIn, commandsThat, deviceOf, hasPage, hostOf, managerOf } from '../test-parts.js';
import { widen } from './granules.js';

const GRANULE = 16;

let manager: OpenManager;
let heard: string[];
/** What copies that have begun are told by; they end at once where `copies` says so. */
let begun: number[];
let copies: Status;
let device: { processor: number; node: number };
let first: number;

beforeEach(() => {
  heard = [];
  begun = [];
  copies = Status.Done;
  const commands = commandsThat({
    map: (processor, page, count, access) =>
      heard.push(`map ${page - first}+${count} for ${processor}: ${access}`),
    revoke: (_token, processor, page, count, to) => {
      heard.push(`revoke ${page - first}+${count} of ${processor}: ${to}`);
      return Status.Done;
    },
    release: (_token, node, page, count) => {
      heard.push(`release ${page - first}+${count} of ${node}`);
      return Status.Done;
    },
    transfer: ({ token, page, count, node }) => {
      heard.push(`copy ${page - first}+${count} to ${node}`);
      begun.push(token);
      return copies;
    },
    deny: (_processor, page, _write, _thread, reason) =>
      heard.push(`deny ${page - first}: ${reason}`),
  });
  manager = managerOf(hostOf(16), commands, namedPolicies({ prefetch: 'none', readAhead: 'none' }));
  device = manager.addDevice(deviceOf(2, { granularityBytes: GRANULE * 4096 }));
  first = allocateIn(manager, 100);
});

const backed = (): number | undefined => manager.node(device.node)?.backedPages;
const touch = (page: number, write: boolean): void =>
  manager.fault(device.processor, first + page, write, 1);

describe('a device with granules', () => {
  it('gets and maps all of a granule where one page is touched', () => {
    touch(20, true);
    expect(heard).toEqual(['copy 16+16 to 1', 'map 16+16 for 1: 2']);
    expect(backed()).toBe(GRANULE);
    manager.checkInvariants();
  });

  it('has memory for all of the last granule, and copies what the array has of it', () => {
    touch(99, false);
    expect(heard).toEqual(['copy 96+4 to 1', 'map 96+16 for 1: 1']);
    expect(backed()).toBe(GRANULE);
    manager.checkInvariants();
  });

  it('loses the right to a granule where the host writes one page, and that page alone', () => {
    touch(20, true);
    heard = [];
    manager.fault(HOST, first + 18, true, 1);
    expect(heard).toEqual(['revoke 16+16 of 1: 0', 'copy 18+1 to 0']);
    expect(hasPage(manager, device.processor, first + 20)).toBe(false);
    heard = [];
    touch(20, true);
    expect(heard).toEqual(['revoke 18+1 of 0: 0', 'copy 18+1 to 1', 'map 16+16 for 1: 2']);
    manager.checkInvariants();
  });

  it('gives no memory back while something of the granule counts', () => {
    touch(20, true);
    heard = [];
    manager.free(1, first + 16, 8);
    expect(heard).toEqual(['revoke 16+16 of 1: 0']);
    manager.free(2, first + 24, 8);
    expect(heard).toEqual(['revoke 16+16 of 1: 0', 'release 16+16 of 1']);
    expect(backed()).toBe(0);
    manager.checkInvariants();
  });

  it('is denied a granule that has a pinned page, and may read it', () => {
    manager.fault(HOST, first + 18, true, 1);
    manager.pin(first + 18, 1, true);
    heard = [];
    touch(20, false);
    expect(heard.at(-1)).toBe('map 16+16 for 1: 1');
    touch(20, true);
    expect(manager.figures(device.processor).counters.denied).toBe(1);
    manager.checkInvariants();
  });

  it('gets a granule for writing whose pin has ended while the granule went home for it', () => {
    touch(20, true);
    manager.fault(HOST, first + 18, true, 1);
    manager.pin(first + 18, 1, true);
    touch(20, false);
    copies = Status.Pending;
    begun = [];
    heard = [];
    touch(20, true);
    expect(begun.length).toBeGreaterThan(0);
    manager.pin(first + 18, 1, false);
    copies = Status.Done;
    for (const token of begun) manager.transferred(token, Status.Done);
    expect(heard.filter((line) => line.startsWith('deny'))).toEqual([]);
    expect(hasPage(manager, device.processor, first + 20, 'writable')).toBe(true);
    manager.checkInvariants();
  });

  it('finds by a fault the pages by which an array has grown', () => {
    const range = manager.allocate(20, { name: 'b', writable: true, provided: false }, 40);
    if (range === null) throw new Error('no addresses are left');
    first = range.first;
    touch(19, true);
    manager.grow(range, 20, 30);
    heard = [];
    manager.unmapGranules(1, first + 20, 10);
    expect(heard).toEqual(['revoke 16+16 of 1: 0']);
    heard = [];
    touch(25, true);
    expect(heard).toEqual(['copy 20+10 to 1', 'map 16+16 for 1: 2']);
    manager.checkInvariants();
  });

  /** An array of 20 pages that the device may read grows to 30, before devices are told. */
  const growBehind = (): void => {
    const range = manager.allocate(20, { name: 'b', writable: true, provided: false }, 40);
    if (range === null) throw new Error('no addresses are left');
    first = range.first;
    touch(19, false);
    manager.grow(range, 20, 30);
    heard = [];
  };
  const filled = ['revoke 16+16 of 1: 0', 'copy 20+10 to 1', 'map 16+16 for 1: 1'];

  it('loses a granule into which an array has grown before that is filled by a request', () => {
    growBehind();
    manager.acquire(1, device.processor, first + 16, 4, Access.Read);
    expect(heard).toEqual(filled);
    manager.checkInvariants();
  });

  it('loses a granule into which an array has grown before that is filled for a thread', () => {
    growBehind();
    touch(18, true);
    expect(heard).toEqual([...filled.slice(0, 2), 'map 16+16 for 1: 2']);
    manager.checkInvariants();
  });

  it('keeps a granule into which an array has grown while a launch holds a part of it', () => {
    growBehind();
    manager.bring(1, device.node, first + 16, 2, Access.Read, { hold: true });
    manager.acquire(2, device.processor, first + 16, 4, Access.Read);
    expect(heard).toEqual([]);
    manager.release(device.node, first + 16, 2, Access.Read);
    expect(heard).toEqual(filled);
    manager.checkInvariants();
  });

  it('brings no granule along that has a page which may not be read', () => {
    const usual = namedPolicies({ readAhead: 'none' });
    const all = () => (touch: Touch) => touch.result.set(touch.allowed);
    manager = managerOf(hostOf(16), commandsThat(), { ...usual, prefetch: all });
    const { processor } = manager.addDevice(deviceOf(2, { granularityBytes: GRANULE * 4096 }));
    first = allocateIn(manager, 100);
    manager.fault(HOST, first + 40, true, 1);
    manager.protect(1, first + 40, 1, Access.None);
    manager.fault(processor, first + 20, false, 1);
    expect(hasPage(manager, processor, first + 99)).toBe(true);
    expect(hasPage(manager, processor, first + 39)).toBe(false);
    manager.fault(processor, first + 39, false, 1);
    expect(manager.figures(processor).counters.denied).toBe(1);
    manager.checkInvariants();
  });

  it('fails for its own threads alone: one of the host that waits for the same page gets it', () => {
    first = allocateIn(manager, 100, { provided: true });
    copies = Status.Pending;
    touch(20, false);
    manager.fault(HOST, first + 20, false, 2);
    copies = Status.Done;
    heard = [];
    manager.transferred(begun[0], Status.Refused);
    expect(heard).toContain('copy 20+1 to 0');
    expect(heard.filter((line) => line.startsWith('deny'))).toEqual(['deny 20: ACCESS_REFUSED']);
    expect(hasPage(manager, HOST, first + 20)).toBe(true);
    manager.checkInvariants();
  });

  it('holds a granule against writes of others, as long as it is mapped and held', () => {
    manager.acquire(1, device.processor, first, 4, Access.Write, { hold: true });
    heard = [];
    manager.fault(HOST, first + 10, true, 1);
    expect(heard).toEqual([]);
    manager.release(device.node, first, 4, Access.Write);
    expect(heard).toContain('copy 10+1 to 0');
    manager.bring(2, HOST_NODE, first, 1, Access.Read);
    manager.checkInvariants();
  });
});

describe('a granule of which only a part stands in for a denied page', () => {
  const PAGES = 100;
  /** Pages that go in one copy. */
  const TOGETHER = 64;
  let ended: (string | null)[];
  let filled: number;

  beforeEach(() => {
    // The first copy fails: those to the rest of the granule have ended by then.
    copies = Status.Pending;
    ended = [];
    const commands = commandsThat({
      map: (_processor, page, count) => heard.push(`map ${page - first}+${count}`),
      transfer: ({ token, node, page, count }) => {
        if (node !== HOST_NODE) filled += count;
        if (node === HOST_NODE || page >= first + TOGETHER) return Status.Done;
        if (copies === Status.Pending) begun.push(token);
        return copies;
      },
      deny: (_processor, page, _write, _thread, reason) =>
        heard.push(`deny ${page - first}: ${reason}`),
      requestDone: (_request, _pages, failure) => ended.push(failure),
    });
    manager = managerOf(hostOf(16), commands, namedPolicies({ readAhead: 'none' }));
    device = manager.addDevice(deviceOf(2, { granularityBytes: PAGES_PER_BLOCK * 4096 }));
    first = allocateIn(manager, PAGES);
    manager.fault(HOST, first, true, 1);
    manager.pin(first, 1, true);
    touch(0, true);
    for (const token of begun) manager.transferred(token, Status.Failed);
    manager.pin(first, 1, false);
    copies = Status.Done;
    heard = [];
    filled = 0;
  });

  it('is filled with zeros as a whole before it is mapped', () => {
    touch(TOGETHER, false);
    expect(filled).toBe(PAGES_PER_BLOCK);
  });

  it('is denied for a page that may be had by then', () => {
    touch(0, true);
    expect(heard).toEqual(['deny 0: OUT_OF_MEMORY', 'map 0+512']);
    expect(hasPage(manager, device.processor, first, 'writable')).toBe(true);
    expect(hasPage(manager, HOST, first)).toBe(true);
    manager.checkInvariants();
  });

  it('cannot be held, on the page that has not come either', () => {
    manager.bring(1, device.node, first, 1, Access.Read, { hold: true });
    expect(ended).toEqual(['OUT_OF_MEMORY']);
    manager.checkInvariants();
  });
});

describe('widen', () => {
  it('adds the pages of each granule of which there is one', () => {
    const run = fc.tuple(fc.nat(PAGES_PER_BLOCK - 1), fc.integer({ min: 1, max: 40 }));
    const granules = fc.integer({ min: 0, max: 9 }).map((power) => 2 ** power);
    fc.assert(
      fc.property(fc.array(run, { maxLength: 6 }), granules, (runs, granule) => {
        const mask = createMask();
        for (const [from, count] of runs)
          addRun(mask, from, Math.min(count, PAGES_PER_BLOCK - from));
        const wide = mask.slice() as Mask;
        widen(wide, granule);
        const wrong: number[] = [];
        for (let page = 0; page < PAGES_PER_BLOCK; page++) {
          const begin = page - (page % granule);
          let any = false;
          for (let each = begin; each < begin + granule; each++) any ||= has(mask, each);
          if (has(wide, page) !== any) wrong.push(page);
        }
        expect(wrong).toEqual([]);
      }),
    );
  });
});
