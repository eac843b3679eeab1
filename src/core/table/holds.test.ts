import fc from 'fast-check';
import { expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import { Access, HOST_NODE, PAGES_PER_BLOCK } from '../basics/types.js';
import { allocateIn, commandsThat, deviceOf, hostOf, managerOf } from '../test-parts.js';

const BLOCKS = 2;
const GRANULES = 8;
const GRANULARITY = 65_536;

/** Granules that a copy or a launch writes and reads one page of, which is its own. */
const use = fc.record({
  launches: fc.boolean(),
  written: fc.nat(BLOCKS * GRANULES - 1),
  read: fc.nat(BLOCKS * GRANULES - 1),
});
type Use = typeof use extends fc.Arbitrary<infer T> ? T : never;

/**
 * Begins all of them, one after the other, then ends each when it holds all. How many have ended.
 */
function endedOf(uses: readonly Use[]): number {
  const told: number[] = [];
  const then = new Map<number, () => void>();
  const commands = commandsThat({ requestDone: (request) => told.push(request) });
  const policies = namedPolicies({ prefetch: 'none', readAhead: 'none' });
  const manager = managerOf(hostOf(8), commands, policies);
  const first = allocateIn(manager, BLOCKS * PAGES_PER_BLOCK);
  let ended = 0;
  /** In each granule every use has two pages of its own: what they share is granules. */
  const pageOf = (granule: number, own: number): number =>
    first + Math.floor(granule / GRANULES) * PAGES_PER_BLOCK + (granule % GRANULES) * 16 + own;
  const launch = (id: number, written: number, read: number): void => {
    const description = deviceOf(3, { granularityBytes: GRANULARITY, faults: false });
    const { processor } = manager.addDevice(description);
    then.set(id, () => {
      manager.launchEnd(id);
      ended++;
    });
    manager.launchBegin(id, processor, [
      { first: written, count: 1, use: 'inout' },
      { first: read, count: 1, use: 'in' },
    ]);
  };
  /** As `pager/transfers/copies.ts`: upwards by blocks, those of one block at once. */
  const copy = (id: number, written: number, read: number): void => {
    const wants = [
      { page: written, access: Access.Write },
      { page: read, access: Access.Read },
    ].sort((a, b) => a.page - b.page);
    const hold = (at: number, done: () => void): void => {
      const { page, access } = wants[at];
      then.set(id + at, done);
      manager.bring(id + at, HOST_NODE, page, 1, access, { hold: true });
    };
    const end = (): void => {
      for (const { page, access } of wants) manager.release(HOST_NODE, page, 1, access);
      ended++;
    };
    const [low, high] = wants.map(({ page }) => Math.floor(page / PAGES_PER_BLOCK));
    let outstanding = 2;
    const one = (): void => {
      if (--outstanding === 0) end();
    };
    if (low === high) for (const at of [0, 1]) hold(at, one);
    else hold(0, () => hold(1, end));
  };
  for (const [at, { launches, written, read }] of uses.entries())
    (launches ? launch : copy)(2 * at + 1, pageOf(written, 2 * at), pageOf(read, 2 * at + 1));
  for (let id = told.shift(); id !== undefined; id = told.shift()) then.get(id)?.();
  return ended;
}

it('copies and launches that share granules, and no page, do not wait for each other', () => {
  fc.assert(
    fc.property(fc.array(use, { minLength: 2, maxLength: 8 }), (uses) => {
      expect(endedOf(uses)).toBe(uses.length);
    }),
    { numRuns: 100 },
  );
});
