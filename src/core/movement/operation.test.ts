import { describe, expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import { Access, HOST, PAGES_PER_BLOCK, SOURCE_ZERO, Status } from '../basics/types.js';
import { allocateIn, commandsThat, deviceOf, hostOf, managerOf } from '../test-parts.js';

/**
 * A manager with a host and one device, and every transfer that it asks for. Transfers are answered
 * by `status`.
 */
function manage(status: (count: number) => Status) {
  const transfers: { source: number; node: number; count: number; backed: boolean }[] = [];
  const pending: [number, Status][] = [];
  const done: [number, number, string | null][] = [];
  const commands = commandsThat({
    transfer: ({ token, source, node, count, backed, urgent }) => {
      transfers.push({ source, node, count, backed });
      if (urgent) return status(count);
      pending.push([token, status(count)]);
      return Status.Pending;
    },
    deny: () => expect.unreachable('nothing is denied here'),
    requestDone: (request, pages, failure) => done.push([request, pages, failure]),
    breakCopyOnWrite: () => expect.unreachable('nothing is cloned here'),
    invalidate: () => expect.unreachable('nothing is watched here'),
    invalidated: () => expect.unreachable('nothing is watched here'),
    want: () => expect.unreachable('nothing is shared here'),
  });
  const manager = managerOf(hostOf(8), commands, namedPolicies());
  expect(manager.processor(HOST)?.description.name).toBe('host');
  const device = manager.addDevice(deviceOf(8)).processor;
  const run = (): void => {
    for (let next = pending.shift(); next !== undefined; next = pending.shift())
      manager.transferred(...next);
  };
  return { manager, device, transfers, done, run };
}

describe('a node without large pieces', () => {
  it('gets medium ones where these are to be had, however many large ones were refused at once', () => {
    const { manager, device, transfers, done, run } = manage((count) =>
      count > 16 ? Status.NoMemory : Status.Done,
    );
    manager.acquire(1, device, allocateIn(manager, PAGES_PER_BLOCK), PAGES_PER_BLOCK, Access.Read);
    run();
    expect(done).toEqual([[1, PAGES_PER_BLOCK, null]]);
    expect(transfers.map(({ count }) => count)).toEqual([
      ...new Array(8).fill(64),
      ...new Array(32).fill(16),
    ]);
    expect(manager.figures(device).counters.refusals).toBe(8);
  });

  it('gets single pages where nothing else is to be had', () => {
    const { manager, device, transfers, done, run } = manage((count) =>
      count > 1 ? Status.NoMemory : Status.Done,
    );
    manager.acquire(1, device, allocateIn(manager, PAGES_PER_BLOCK), PAGES_PER_BLOCK, Access.Read);
    run();
    expect(done).toEqual([[1, PAGES_PER_BLOCK, null]]);
    expect(transfers.slice(-PAGES_PER_BLOCK).every(({ count }) => count === 1)).toBe(true);
    expect(manager.figures(device).counters.refusals).toBe(8 + 32);
  });

  it('is told so when not even a page is to be had', () => {
    const { manager, device, done, run } = manage(() => Status.NoMemory);
    manager.acquire(1, device, allocateIn(manager, PAGES_PER_BLOCK), PAGES_PER_BLOCK, Access.Read);
    run();
    expect(done).toEqual([[1, 0, 'OUT_OF_MEMORY']]);
    expect(manager.figures(device).backedPages).toBe(0);
  });
});

describe('pages that nobody has written', () => {
  it('are zeros made at their new place, not copies of zeros', () => {
    const { manager, device, transfers, run } = manage(() => Status.Done);
    const first = allocateIn(manager, PAGES_PER_BLOCK);
    manager.acquire(1, HOST, first, PAGES_PER_BLOCK, Access.Read);
    run();
    manager.acquire(2, HOST, first, 64, Access.Write);
    run();
    transfers.length = 0;
    manager.acquire(3, device, first, PAGES_PER_BLOCK, Access.Read);
    run();
    expect(transfers.filter(({ source }) => source === HOST).map(({ count }) => count)).toEqual([
      64,
    ]);
    expect(transfers.filter(({ source }) => source === SOURCE_ZERO)).toHaveLength(7);
    const { pagesIn, pagesZeroed } = manager.figures(device).counters;
    expect([pagesIn, pagesZeroed]).toEqual([64, PAGES_PER_BLOCK - 64]);
  });
});
