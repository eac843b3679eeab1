import { expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import { PAGES_PER_BLOCK as BLOCK, PAGES_PER_GROUP as GROUP } from '../basics/types.js';
import { allocateIn, commandsThat, hasPage, hostOf, managerOf } from '../test-parts.js';

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
