import { expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import {
  PAGES_PER_BLOCK as BLOCK,
  PAGES_PER_GROUP as GROUP,
  HOST,
  HOST_NODE,
  NO_NODE,
} from '../basics/types.js';
import {
  allocateIn,
  commandsThat,
  deviceOf,
  hasPage,
  hostOf,
  managerOf,
  touchIn,
} from '../test-parts.js';

/** Reads pages in turn; how many of them fault. */
function faultsOf(pages: readonly number[], advice: 'normal' | 'random'): number {
  const manager = managerOf(hostOf(8, { remoteAccess: true }), commandsThat(), namedPolicies());
  const process = manager.addProcessor({ name: 'process', faults: true, units: 1 });
  const first = allocateIn(manager, 2 * BLOCK);
  const range = manager.state.va.block(first / BLOCK)?.range;
  if (range === undefined) throw new Error('there is no block');
  manager.advise(range, 0, 2 * BLOCK, { pattern: advice });
  let faults = 0;
  for (const page of pages) {
    if (hasPage(manager, process, first + page)) continue;
    manager.fault(process, first + page, false, 1);
    expect(hasPage(manager, process, first + page)).toBe(true);
    faults++;
  }
  return faults;
}

const walk = Array.from({ length: 2 * BLOCK }, (_, page) => page);

it('a processor without memory walks through a block with few faults, and through the next with one', () => {
  expect(faultsOf(walk, 'normal')).toBe(7);
});

it('it takes a page a fault where it was advised that touches are random', () => {
  expect(faultsOf(walk, 'random')).toBe(2 * BLOCK);
});

it('a touch elsewhere brings a group', () => {
  expect(faultsOf([4 * GROUP, 9 * GROUP, 10 * GROUP + 1], 'normal')).toBe(3);
  expect(faultsOf([4 * GROUP, 5 * GROUP, 6 * GROUP, 7 * GROUP], 'normal')).toBe(3);
});

/** Pages that are mapped for a process after it has read some of those that the host has. */
function mappedAfter(pages: readonly number[]): { mapped: number; faults: number } {
  const manager = managerOf(hostOf(8), commandsThat(), namedPolicies());
  const first = allocateIn(manager, 2 * BLOCK);
  for (let page = first; page < first + 2 * BLOCK; page++) manager.fault(HOST, page, true, 1);
  const process = manager.addProcessor({ name: 'process', faults: true, units: 1 });
  let faults = 0;
  for (const page of pages) {
    if (!hasPage(manager, process, first + page)) faults++;
    touchIn(manager, process, first + page);
  }
  const mapped = walk.filter((page) => hasPage(manager, process, first + page)).length;
  manager.checkInvariants();
  return { mapped, faults };
}

const every = (step: number): number[] => walk.filter((page) => page % step === 0);

it('of what the host has, a walk maps blocks, and a stride its pages alone', () => {
  expect(mappedAfter(walk)).toEqual({ mapped: 2 * BLOCK, faults: 5 });
  expect(mappedAfter(every(64))).toEqual({ mapped: 2 * GROUP + 14, faults: 5 });
});

it('of what the host has, a touch maps a group, and several the block', () => {
  expect(mappedAfter([5 * GROUP])).toEqual({ mapped: GROUP, faults: 1 });
  const apart = [0, 3, 7, 12].map((group) => group * GROUP);
  expect(mappedAfter(apart).mapped).toBe(4 * GROUP);
  expect(mappedAfter([...apart, 20 * GROUP]).mapped).toBe(BLOCK);
});

it('blocks come to the host ahead of it, and are mapped by its faults', () => {
  const manager = managerOf(hostOf(16), commandsThat(), namedPolicies());
  const store = deviceOf(64, { name: 'store', addressable: false });
  manager.setHome(HOST_NODE, manager.addNode(store, NO_NODE));
  const first = allocateIn(manager, 32 * BLOCK);
  for (let page = first; page < first + 32 * BLOCK; page++)
    if (!hasPage(manager, HOST, page, 'writable')) manager.fault(HOST, page, true, 1);
  const process = manager.addProcessor({ name: 'process', faults: true, units: 1 });
  const next = first + 2 * BLOCK;
  for (let page = first; page <= first + BLOCK; page++) touchIn(manager, process, page);
  const hosts = manager.state.va.blocks.get(next / BLOCK)?.residences[HOST_NODE];
  expect(hosts?.ahead).toBe(true);
  expect(hasPage(manager, process, next)).toBe(false);
  touchIn(manager, process, next);
  expect(hosts?.ahead).toBe(false);
  expect(hasPage(manager, process, next + BLOCK - 1)).toBe(true);
  manager.checkInvariants();
});
