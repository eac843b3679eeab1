import { beforeEach, describe, expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import {
  Access,
  PAGES_PER_BLOCK as BLOCK,
  type DeviceDescription,
  HOST,
  Status,
} from '../basics/types.js';
import type { OpenManager } from '../test-manager.js';
import { allocateIn, commandsThat, deviceOf, hostOf, managerOf } from '../test-parts.js';

let manager: OpenManager;
let whole: number[];
let unbacked: string[];
let released: string[];
let failures: (string | null)[];
let device: { processor: number; node: number };

beforeEach(() => {
  whole = [];
  unbacked = [];
  released = [];
  failures = [];
  const commands = commandsThat({
    transfer: (order) => {
      if (order.whole) whole.push(order.page);
      if (!order.backed) unbacked.push(`${order.page}+${order.count}`);
      return Status.Done;
    },
    release: (_token, node, page, count) => {
      released.push(`${node} ${page}+${count}`);
      return Status.Done;
    },
    requestDone: (_request, _pages, failure) => failures.push(failure),
  });
  manager = managerOf(hostOf(8), commands, namedPolicies({ prefetch: 'none', readAhead: 'none' }));
  device = manager.addDevice(deviceOf(2));
});

function allocate(pages: number): number {
  return allocateIn(manager, pages);
}

function bring(first: number, pages: number, hold = false): void {
  manager.acquire(1, device.processor, first, pages, Access.Write, { hold });
}

function add(about: Partial<DeviceDescription>): number {
  return manager.addDevice(deviceOf(8, { name: 'other', ...about })).processor;
}

const backed = (): number | undefined => manager.node(device.node)?.backedPages;

describe("a range's last block", () => {
  it('gets all of its memory at once where most of it comes', () => {
    const first = allocate(300);
    bring(first, 300);
    expect([whole, backed()]).toEqual([[first], BLOCK]);
    manager.checkInvariants();
  });

  it.each([
    { pages: 200, brought: 200, when: 'less than half of it is in the range' },
    { pages: 300, brought: 299, when: 'not all of it comes' },
  ])('gets what comes where $when', ({ pages, brought }) => {
    bring(allocate(pages), brought);
    expect([whole, backed()]).toEqual([[], brought]);
  });

  it('gets all of it where the node has just room for that', () => {
    bring(allocate(BLOCK), BLOCK);
    bring(allocate(300), 300);
    expect(backed()).toBe(2 * BLOCK);
  });

  it('counts it for the most that the node had', () => {
    bring(allocate(300), 300);
    expect(manager.figures(device.processor).peakPages).toBe(BLOCK);
  });

  it.each([
    { kind: 'of the host', pages: 300, of: () => HOST },
    { kind: 'that comes in frames', pages: 300, of: () => add({ frames: 'pooled' }) },
    { kind: 'that the manager does not reach', pages: 300, of: () => add({ addressable: false }) },
  ])('gets what comes where the memory is one $kind', ({ pages, of }) => {
    const processor = of();
    manager.acquire(1, processor, allocate(pages), pages, Access.Write);
    expect(manager.figures(processor).backedPages).toBe(pages);
  });

  it('has no memory yet for the pages that its range grows by', () => {
    const range = manager.allocate(300, { name: 'x', writable: true, provided: false }, 400);
    if (range === null) throw new Error('the space has room for it');
    bring(range.first, 300);
    unbacked = [];
    manager.grow(range, 300, 310);
    bring(range.first, 310);
    expect(unbacked).toEqual([`${range.first + 300}+10`]);
  });

  it('gets all of its memory at once where its range has grown as far as it may', () => {
    const range = manager.allocate(300, { name: 'x', writable: true, provided: false }, 400);
    if (range === null) throw new Error('the space has room for it');
    manager.grow(range, 300, 400);
    bring(range.first, 400);
    expect(backed()).toBe(BLOCK);
  });

  it('leaves what the node had at most as it is where that was more', () => {
    const first = allocate(2 * BLOCK);
    bring(first, 2 * BLOCK);
    manager.free(2, first, 2 * BLOCK);
    bring(allocate(300), 300);
    expect(manager.figures(device.processor).peakPages).toBe(2 * BLOCK);
  });

  it('gets what comes where something stands in for a page behind its end', () => {
    const first = allocate(300);
    manager.fault(device.processor, first + 400, false, 1);
    bring(first, 300);
    expect(backed()).toBe(301);
  });

  it('gets what comes where some of it was there before', () => {
    const first = allocate(300);
    bring(first, 10);
    bring(first, 300);
    expect(backed()).toBe(300);
  });

  it('gets what comes where the driver has said that it has no room for the rest', () => {
    manager.nodeFull(device.node, 400);
    bring(allocate(300), 300);
    expect(backed()).toBe(300);
  });

  it('gets what comes where the node is to shrink', () => {
    const first = allocate(BLOCK);
    bring(first, BLOCK, true);
    manager.setBudget(device.node, 400);
    manager.release(device.processor, first, BLOCK, Access.Write);
    bring(allocate(300), 300);
    expect(backed()).toBe(300);
  });

  it('keeps of it what stands in for a page that was denied', () => {
    const first = allocate(300);
    bring(first, 300);
    manager.fault(device.processor, first + 400, false, 1);
    manager.free(2, first, 300);
    expect(backed()).toBe(1);
    manager.checkInvariants();
  });

  it('gets what comes where the node has no room for the rest', () => {
    bring(allocate(BLOCK + 250), BLOCK + 250);
    bring(allocate(0.5 * BLOCK), 0.5 * BLOCK);
    expect(backed()).toBe(2 * BLOCK - 6);
  });

  it('gives all of it back with its last page', () => {
    const first = allocate(300);
    bring(first, 300);
    manager.free(2, first, 299);
    expect(backed()).toBe(BLOCK - 299);
    manager.free(3, first + 299, 1);
    expect([backed(), released.at(-1)]).toEqual([
      0,
      `${device.node} ${first + 299}+${BLOCK - 299}`,
    ]);
  });

  it('gives the rest back before pages are refused for want of room', () => {
    bring(allocate(300), 300, true);
    bring(allocate(2 * BLOCK - 300), 2 * BLOCK - 300, true);
    expect([failures, backed()]).toEqual([[null, null], 2 * BLOCK]);
    manager.checkInvariants();
  });
});
