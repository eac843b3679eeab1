import { beforeEach, describe, expect, it } from 'vitest';
import {
  Access,
  PAGES_PER_BLOCK as BLOCK,
  HOST,
  HOST_NODE,
  type ReadAheadRequest,
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
  overheard,
} from '../../core/test-parts.js';
import { namedPolicies } from '../choices.js';
import { type NextOptions, next } from './next.js';
import { pattern } from './pattern.js';

let log: string[];
/** What the policy was asked. */
let asked: ReadAheadRequest[];
/** How revocations end. */
let revokeStatus: Status;
/** How transfers to the host end. */
let hostStatus: Status;
let manager: OpenManager;
let device: number;

const commands = commandsThat({
  map: (processor, page, count) => log.push(`map ${processor} ${page}+${count}`),
  revoke: () => revokeStatus,
  transfer: ({ node, page, count }) => {
    log.push(`to ${node} ${page}+${count}`);
    return node === HOST_NODE ? hostStatus : Status.Done;
  },
  deny: () => log.push('denied'),
});

function start(blocks: number, options: NextOptions = {}): void {
  log = [];
  asked = [];
  revokeStatus = Status.Done;
  hostStatus = Status.Done;
  const readAhead = overheard(
    () => next(options),
    (request) => asked.push({ ...request }),
  );
  const prefetch = () => pattern({}, readAhead());
  manager = managerOf(hostOf(32), commands, { ...namedPolicies(), prefetch });
  device = manager.addDevice(deviceOf(blocks)).processor;
}

function allocate(blocks: number): number {
  const first = allocateIn(manager, blocks * BLOCK);
  for (let page = first; page < first + blocks * BLOCK; page += 16)
    manager.fault(HOST, page, true, 1);
  return first;
}

/** The device's memory of its own. */
const aheadBlocks = (): number | undefined => manager.state.nodes[device]?.aheadBlocks;

/**
 * Another device, which writes all of these blocks: what only an engine reaches, unless it is
 * addressable.
 */
function written(first: number, blocks: number, addressable = false): void {
  const { processor } = manager.addDevice(
    deviceOf(16, { name: 'other', faults: false, units: 0, addressable }),
  );
  manager.launchBegin(9, processor, [{ first, count: blocks * BLOCK, use: 'out' }]);
  manager.launchEnd(9);
}

function fault(page: number): string[] {
  log = [];
  manager.fault(device, page, false, 2);
  manager.checkInvariants();
  return log;
}

function goAhead(): string[] {
  log = [];
  manager.goAhead();
  manager.checkInvariants();
  return log;
}

/** As a kernel goes through blocks that the device lacks. */
function walk(first: number, blocks: number): void {
  for (let page = first; page < first + blocks * BLOCK; page += 16) {
    if (!hasPage(manager, device, page)) fault(page);
    while (manager.waitsToGoAhead) goAhead();
  }
}

function writeAgain(first: number, blocks: number): void {
  for (let page = first; page < first + blocks * BLOCK; page++) manager.fault(HOST, page, true, 1);
}

beforeEach(() => start(16));

describe('reading ahead of a device that walks', () => {
  it('waits until no thread does', () => {
    const first = allocate(4);
    walk(first, 1);
    expect(fault(first + BLOCK)).not.toContain(`to 1 ${first + 2 * BLOCK}+16`);
    expect(manager.waitsToGoAhead).toBe(true);
    expect(goAhead()).toContain(`to 1 ${first + 2 * BLOCK}+16`);
    expect(manager.waitsToGoAhead).toBe(false);
    expect(goAhead()).toEqual([]);
  });

  it('begins at once with what an engine reaches, which answers late', () => {
    const first = allocate(4);
    written(first, 4);
    walk(first, 1);
    expect(fault(first + BLOCK)).toContain(`to 1 ${first + 2 * BLOCK}+64`);
    expect(manager.waitsToGoAhead).toBe(false);
  });

  it('begins at once with what lies in a store', () => {
    manager.setHome(HOST_NODE, manager.addNode(deviceOf(32, { name: 'store' })));
    const first = allocate(6);
    manager.setBudget(HOST_NODE, 2 * BLOCK);
    walk(first, 1);
    expect(fault(first + BLOCK)).toContain(`to 1 ${first + 2 * BLOCK}+64`);
    expect(manager.waitsToGoAhead).toBe(false);
  });

  it.each([
    ['another device has, whose memory the manager reaches', true],
    ['an engine reached until the host wrote it again', false],
  ])('waits with what %s', (_what, addressable) => {
    const first = allocate(4);
    written(first, 4, addressable);
    if (!addressable) writeAgain(first, 4);
    walk(first, 1);
    expect(fault(first + BLOCK)).not.toContain(`to 1 ${first + 2 * BLOCK}+16`);
    expect(manager.waitsToGoAhead).toBe(true);
  });

  it('brings a single group where it has walked into the block before, and not to its end', () => {
    const first = allocate(4);
    for (const page of [0, 16, 32]) fault(first + page);
    expect(fault(first + BLOCK)).toEqual([`to 1 ${first + BLOCK}+16`]);
  });

  it('is known to walk from a block that it has, by whatever way, and not from one of which it lacks a page', () => {
    const first = allocate(4);
    manager.acquire(1, device, first, BLOCK, Access.Read);
    manager.acquire(2, device, first + 2 * BLOCK, BLOCK - 1, Access.Read);
    expect(fault(first + BLOCK)).toContain(`to 1 ${first + BLOCK}+64`);
    expect(fault(first + 3 * BLOCK)).toEqual([`to 1 ${first + 3 * BLOCK}+16`]);
  });

  it.each([16, 100, BLOCK - 16])(
    'brings a single group at page %i of the block after one that it has',
    (page) => {
      const first = allocate(4);
      walk(first, 1);
      const group = first + BLOCK + page - (page % 16);
      expect(fault(first + BLOCK + page)).toEqual([`to 1 ${group}+16`]);
    },
  );

  it('brings a single group before the last of the block before one that it has', () => {
    const first = allocate(4);
    walk(first + BLOCK, 1);
    expect(fault(first + BLOCK - 17)).toEqual([`to 1 ${first + BLOCK - 32}+16`]);
  });

  it('takes no other array for one that it walks through', () => {
    const [before, between, behind] = [allocate(1), allocate(2), allocate(1)];
    expect([between, behind]).toEqual([before + BLOCK, before + 3 * BLOCK]);
    for (const first of [before, behind]) walk(first, 1);
    expect(fault(between)).toEqual([`to 1 ${between}+16`]);
    expect(fault(between + 2 * BLOCK - 1)).toEqual([`to 1 ${between + 2 * BLOCK - 16}+16`]);
  });

  it('brings nothing of the array behind the one that it walks through', () => {
    const first = allocate(2);
    allocate(1);
    walk(first, 1);
    fault(first + BLOCK);
    expect(manager.waitsToGoAhead).toBe(false);
  });

  it('brings a block whole, and none ahead, where it walks backwards', () => {
    const first = allocate(4);
    written(first, 4);
    walk(first + 2 * BLOCK, 1);
    const brought = fault(first + 2 * BLOCK - 16).filter((line) => line.startsWith('to 1'));
    const pages = brought.map((line) => Number(line.split('+')[1]));
    expect(pages.reduce((sum, count) => sum + count)).toBe(BLOCK);
  });

  it('begins at once where the program has said that it will walk', () => {
    const first = allocate(4);
    const range = manager.state.va.rangeOfPage(first) as Range;
    manager.advise(range, 0, 4 * BLOCK, { pattern: 'sequential' });
    expect(fault(first)).toContain(`to 1 ${first + BLOCK}+16`);
    expect(manager.waitsToGoAhead).toBe(false);
  });

  it('brings none ahead where the program has said that it will touch here and there', () => {
    const first = allocate(4);
    manager.advise(manager.state.va.rangeOfPage(first) as Range, 0, 4 * BLOCK, {
      pattern: 'random',
    });
    manager.acquire(1, device, first, BLOCK, Access.Read);
    expect(fault(first + BLOCK)).toEqual([`to 1 ${first + BLOCK}+1`]);
    expect(manager.waitsToGoAhead).toBe(false);
  });

  it('does not bring a block ahead into which the device has come meanwhile', () => {
    const first = allocate(4);
    walk(first, 1);
    fault(first + BLOCK);
    fault(first + 2 * BLOCK);
    expect(goAhead()).toEqual([]);
    expect(goAhead()).toContain(`to 1 ${first + 3 * BLOCK}+16`);
  });

  it('does not bring a block ahead again which the device has come into, and had taken from it', () => {
    const first = allocate(4);
    walk(first, 1);
    fault(first + BLOCK);
    fault(first + 2 * BLOCK + 100);
    writeAgain(first + 2 * BLOCK, 1);
    expect(goAhead()).toEqual([]);
  });

  it('does not count a block as a guess any more of which something has been asked for meanwhile', () => {
    const first = allocate(4);
    walk(first, 1);
    fault(first + BLOCK);
    expect(aheadBlocks()).toBe(1);
    manager.acquire(1, device, first + 2 * BLOCK, 1, Access.Read);
    expect([goAhead(), aheadBlocks()]).toEqual([[], 0]);
  });

  it('does not bring a block ahead, nor count it, in which something is under way when its turn has come', () => {
    const first = allocate(4);
    walk(first, 1);
    fault(first + BLOCK);
    revokeStatus = Status.Pending;
    manager.protect(1, first + 2 * BLOCK, 1, Access.Read);
    expect([goAhead(), aheadBlocks()]).toEqual([[], 0]);
  });

  it.each<[string, (page: number) => void]>([
    [
      'a copy is under way',
      (page) => {
        hostStatus = Status.Pending;
        manager.fault(HOST, page, false, 1);
      },
    ],
    [
      'something has been asked for that waits',
      (page) => {
        manager.acquire(1, HOST, page, 1, Access.Read, { hold: true });
        manager.zero(2, page, 1);
      },
    ],
  ])('brings none ahead in which %s', (_what, begin) => {
    const first = allocateIn(manager, 4 * BLOCK);
    walk(first, 1);
    begin(first + 2 * BLOCK);
    fault(first + BLOCK);
    expect([manager.waitsToGoAhead, aheadBlocks()]).toEqual([false, 0]);
  });

  it('brings none ahead that it reaches in place', () => {
    device = manager.addDevice(deviceOf(16, { name: 'near', remoteAccess: true })).processor;
    const first = allocate(4);
    const range = manager.state.va.rangeOfPage(first) as Range;
    manager.advise(range, 2 * BLOCK, 3 * BLOCK, { accessedBy: 1 << device });
    manager.arrange(1, device, [{ first, count: 4 * BLOCK }]);
    walk(first, 1);
    fault(first + BLOCK);
    expect([manager.waitsToGoAhead, aheadBlocks()]).toEqual([false, 0]);
  });

  it('counts none as a guess twice', () => {
    const first = allocate(4);
    walk(first, 1);
    fault(first + BLOCK);
    writeAgain(first + BLOCK, 1);
    fault(first + BLOCK);
    expect(aheadBlocks()).toBe(1);
  });

  it('counts none as a guess that it has already', () => {
    const first = allocate(4);
    walk(first, 1);
    manager.acquire(1, device, first + 2 * BLOCK, BLOCK, Access.Read);
    fault(first + BLOCK);
    expect([manager.waitsToGoAhead, aheadBlocks()]).toEqual([false, 0]);
  });

  it('brings nothing more once it is gone', () => {
    const first = allocate(4);
    walk(first, 1);
    fault(first + BLOCK);
    manager.processorLost(device);
    expect(goAhead()).toEqual([]);
  });

  it('gets zeros ahead, too', () => {
    const first = allocateIn(manager, 4 * BLOCK);
    walk(first, 1);
    fault(first + BLOCK);
    expect(goAhead()).toContain(`to 1 ${first + 2 * BLOCK}+16`);
  });

  it('goes on in as many arrays as it walks through', () => {
    const arrays = [allocate(4), allocate(4), allocate(4)];
    for (const first of arrays) walk(first, 1);
    for (const first of arrays) fault(first + BLOCK);
    const brought = arrays.flatMap(() => goAhead());
    for (const first of arrays) expect(brought).toContain(`to 1 ${first + 2 * BLOCK}+16`);
  });
});

describe('a device whose memory is full of old content', () => {
  it('sends nothing home ahead', () => {
    start(16);
    const old = allocate(16);
    walk(old, 16);
    writeAgain(old, 16);
    const first = allocate(4);
    manager.launchBegin(1, device, [{ first, count: 4 * BLOCK, use: 'out' }]);
    log = [];
    for (let page = first; page < first + 2 * BLOCK; page += 16)
      manager.fault(device, page, true, 2);
    expect(log.filter((line) => line.startsWith('to 0'))).toEqual([]);
  });
});

describe('a device that comes to where the content of an engine begins', () => {
  /**
   * Has an engine write the first blocks, and the host the others, and returns those of which
   * something comes by the first fault.
   */
  function begin(first: number, blocks: number, engine: number): number[] {
    writeAgain(first, blocks);
    written(first, engine);
    fault(first);
    const came = Array.from({ length: blocks }, (_, block) => block);
    return came.filter((block) =>
      log.some((line) => line.startsWith(`to 1 ${first + block * BLOCK}+`)),
    );
  }

  it('gets what the host has among the blocks that come along', () => {
    start(16, { share: 1 });
    const first = allocate(6);
    begin(first, 6, 6);
    walk(first, 5);
    expect(begin(first, 6, 2)).toEqual([0, 1, 2, 3]);
    // The last of them, which is only copied, comes as soon as no thread waits.
    expect(goAhead()).toContain(`to 1 ${first + 4 * BLOCK}+16`);
  });

  it('gets 8 blocks along at most', () => {
    start(16, { share: 1, stored: 16 });
    const first = allocate(12);
    begin(first, 12, 12);
    walk(first, 12);
    expect(begin(first, 12, 12)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  });
});

describe('what a policy is told of the blocks after the one that a device has walked into', () => {
  const told = (): unknown[] =>
    asked.slice(-1).map(({ reached, stored, aheadBlocks }) => [reached, stored, aheadBlocks]);

  it('is how many of them are guesses, and whether an engine has the first one that is missing', () => {
    start(16, { share: 1, stored: 2 });
    const first = allocate(6);
    written(first + 2 * BLOCK, 2);
    walk(first, 1);
    fault(first + BLOCK);
    expect(told()).toEqual([[0, true, 0]]);
    fault(first + 2 * BLOCK);
    expect(told()).toEqual([[1, false, 1]]);
  });

  it('leaves out those that the device has', () => {
    const first = allocate(6);
    written(first + 4 * BLOCK, 2);
    manager.acquire(1, device, first, BLOCK, Access.Read);
    manager.acquire(2, device, first + 2 * BLOCK, 2 * BLOCK, Access.Read);
    fault(first + BLOCK);
    expect(told()).toEqual([[0, true, 0]]);
  });

  it('counts none of another array', () => {
    start(16, { share: 1, stored: 2 });
    const [first, behind] = [allocate(2), allocate(4)];
    written(behind, 4);
    walk(behind, 1);
    fault(behind + BLOCK);
    walk(first, 1);
    fault(first + BLOCK);
    expect(told()).toEqual([[0, false, 2]]);
  });
});

describe('reading ahead of a thread on the host', () => {
  it('begins at once with what a provider has', () => {
    const first = allocateIn(manager, 4 * BLOCK, { provided: true, writable: false });
    log = [];
    for (let page = first; page <= first + BLOCK; page += 16) manager.fault(HOST, page, false, 1);
    expect(log).toContain(`to 0 ${first + 2 * BLOCK}+16`);
  });

  it('brings no zeros', () => {
    const first = allocateIn(manager, 4 * BLOCK);
    log = [];
    for (let page = first; page <= first + BLOCK; page += 16) manager.fault(HOST, page, false, 1);
    expect(log).not.toContain(`to 0 ${first + 2 * BLOCK}+16`);
  });
});
