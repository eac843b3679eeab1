import { expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import { add, andNot } from '../basics/mask.js';
import { PAGES_PER_BLOCK as BLOCK } from '../basics/types.js';
import {
  allocateIn,
  commandsThat,
  deviceOf,
  hasPage,
  hostOf,
  managerOf,
  touchIn,
} from '../test-parts.js';

it('keeps the block of a page that comes alone, where all else of it is stale', () => {
  let whole = true;
  const manager = managerOf(hostOf(8), commandsThat(), {
    ...namedPolicies({ eviction: 'lru' }),
    prefetch: () => (touch) => {
      add(touch.result, touch.page);
      for (let page = 0; page < BLOCK && whole; page++) add(touch.result, page);
      andNot(touch.result, touch.occupied);
    },
  });
  const device = manager.addDevice(deviceOf(2)).processor;
  const first = allocateIn(manager, 3 * BLOCK);
  touchIn(manager, device, first + BLOCK);
  whole = false;
  for (const page of [first, first + 1]) manager.fault(device, page, true, 1);
  manager.zero(1, first, 2);
  expect(hasPage(manager, device, first)).toBe(false);
  manager.fault(device, first, true, 1);
  // Stale memory goes first where room is needed; then what has been used least, the other block.
  whole = true;
  touchIn(manager, device, first + 2 * BLOCK);
  manager.checkInvariants();
  expect(hasPage(manager, device, first + BLOCK)).toBe(false);
  expect(hasPage(manager, device, first, 'writable')).toBe(true);
});
