import { beforeEach, describe, expect, it } from 'vitest';
import { namedPolicies } from '../policy/choices.js';
import { OpenManager } from './open-manager.js';
import type { Range } from './range.js';
import { PAGES_PER_BLOCK as BLOCK, type Commands, type DeviceDescription, HOST, NO_NODE, Status } from './types.js';

const host: DeviceDescription = {
  name: 'host',
  budgetPages: 32 * BLOCK,
  frames: 'identity',
  faults: true,
  addressable: true,
  units: 1,
  memorySurvives: true,
};

let log: string[];
let manager: OpenManager;
let device: number;

const commands: Commands = {
  map: (processor, page, count) => log.push(`map ${processor} ${page}+${count}`),
  revoke: () => Status.Done,
  transfer: ({ node, page, count }) => {
    log.push(`to ${node} ${page}+${count}`);
    return Status.Done;
  },
  remap: () => Status.Done,
  cover: () => Status.Done,
  release: () => Status.Done,
  wake: () => undefined,
  deny: () => log.push('denied'),
  breakCopyOnWrite: () => undefined,
  want: () => undefined,
  invalidate: () => undefined,
  invalidated: () => undefined,
  requestDone: () => undefined,
  drained: () => undefined,
  emptied: () => undefined,
};

function start(blocks: number): void {
  log = [];
  manager = new OpenManager(commands, namedPolicies(), 64);
  manager.addDevice(host, NO_NODE);
  device = manager.addDevice({ ...host, name: 'device', budgetPages: blocks * BLOCK }).processor;
}

function allocate(blocks: number): number {
  const range = manager.allocate(blocks * BLOCK, { name: 'a', provided: false, writable: true });
  if (range === null) throw new Error('no addresses are left');
  for (let page = range.first; page < range.first + blocks * BLOCK; page += 16) manager.fault(HOST, page, true, 1);
  return range.first;
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

function launch(first: number, blocks: number, walk: () => void): void {
  manager.launchBegin(1, device, [{ first, count: blocks * BLOCK, use: 'in' }]);
  walk();
  manager.launchEnd(1);
}

/** As a kernel goes through blocks that the device lacks. */
function walk(first: number, blocks: number): void {
  for (let page = first; page < first + blocks * BLOCK; page += 16) {
    const mapped = manager.state.va.blocks.get(Math.floor(page / BLOCK))?.mappings[device]?.mapped;
    if (mapped === undefined || (mapped[(page % BLOCK) >>> 5] & (1 << (page & 31))) === 0) fault(page);
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
  });

  it('brings a block whole, and none ahead, where it walks backwards', () => {
    const first = allocate(4);
    walk(first + 2 * BLOCK, 1);
    const brought = fault(first + 2 * BLOCK - 1).filter((line) => line.startsWith('to 1'));
    const pages = brought.map((line) => Number(line.split('+')[1]));
    expect(pages.reduce((sum, count) => sum + count)).toBeGreaterThan(16);
    expect(manager.waitsToGoAhead).toBe(false);
  });

  it('begins at once where the program has said that it will walk', () => {
    const first = allocate(4);
    const range = manager.state.va.rangeOfPage(first) as Range;
    manager.advise(range, 0, 4 * BLOCK, { pattern: 'sequential' });
    expect(fault(first)).toContain(`to 1 ${first + BLOCK}+16`);
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

  it('goes on in as many arrays as it walks through', () => {
    const arrays = [allocate(4), allocate(4), allocate(4)];
    for (const first of arrays) walk(first, 1);
    for (const first of arrays) fault(first + BLOCK);
    const brought = arrays.flatMap(() => goAhead());
    for (const first of arrays) expect(brought).toContain(`to 1 ${first + 2 * BLOCK}+16`);
  });
});

describe('a launch that uses an array as the one before did', () => {
  it('gets whole blocks from where that one began to walk', () => {
    const first = allocate(4);
    launch(first, 4, () => {
      expect(fault(first)).toEqual([`to 1 ${first}+16`]);
      walk(first, 4);
    });
    writeAgain(first, 4);
    launch(first, 4, () => {
      expect(fault(first)).toContain(`to 1 ${first}+64`);
      expect(goAhead()).toContain(`to 1 ${first + BLOCK}+16`);
    });
  });

  it('gets them again only once it has walked on', () => {
    const first = allocate(4);
    launch(first, 4, () => walk(first, 4));
    for (const brought of [64, 16, 16]) {
      writeAgain(first, 4);
      launch(first, 4, () => expect(fault(first)).toContain(`to 1 ${first}+${brought}`));
    }
  });

  it('gets single groups elsewhere, and without a launch', () => {
    const first = allocate(4);
    launch(first, 4, () => walk(first, 4));
    writeAgain(first, 4);
    launch(first, 4, () => expect(fault(first + 100)).toEqual([`to 1 ${first + 96}+16`]));
    writeAgain(first, 4);
    expect(fault(first)).toEqual([`to 1 ${first}+16`]);
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
    for (let page = first; page < first + 2 * BLOCK; page += 16) manager.fault(device, page, true, 2);
    expect(log.filter((line) => line.startsWith('to 0'))).toEqual([]);
  });
});
