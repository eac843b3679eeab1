import { expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import { PAGES_PER_BLOCK as BLOCK } from '../basics/types.js';
import { commandsThat, deviceOf, hostOf, managerOf } from '../test-parts.js';

const about = { name: 'x', writable: true, provided: false };

it('advice of an array stays as it is when a device goes that was advised for the array which had the addresses before', () => {
  const manager = managerOf(hostOf(8, { remoteAccess: true }), commandsThat(), namedPolicies(), 2);
  const { processor } = manager.addDevice(deviceOf(8, { remoteAccess: true }));
  const before = manager.allocate(2 * BLOCK, about);
  if (before === null) throw new Error('there are no addresses');
  // Reached in place, its blocks stay known when it has gone.
  manager.advise(before, 0, 2 * BLOCK, { accessedBy: 1 << processor });
  manager.arrange(1, processor, [{ first: before.first, count: 2 * BLOCK }]);
  manager.free(2, before.first, 2 * BLOCK);
  expect(manager.recycle(before)).toBe(true);
  const after = manager.allocate(BLOCK, about);
  if (after === null) throw new Error('there are no addresses');
  manager.advise(after, 0, BLOCK, { pattern: 'random' });
  manager.detach(processor);
  expect(manager.state.va.blocks.get(after.first / BLOCK)?.advice.pattern).toBe('random');
});
