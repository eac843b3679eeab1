import { describe, expect, it } from 'vitest';
import { namedPolicies } from '../policy/choices.js';
import { OpenManager } from './open-manager.js';
import {
  Access,
  type Commands,
  type DeviceDescription,
  HOST,
  NO_NODE,
  PAGES_PER_BLOCK,
  SOURCE_ZERO,
  Status,
} from './types.js';

const ranges = { name: 'a', writable: true, provided: false };
const node: DeviceDescription = {
  name: 'node',
  budgetPages: 8 * PAGES_PER_BLOCK,
  frames: 'identity',
  faults: true,
  addressable: true,
  units: 1,
  memorySurvives: true,
};

/** A manager with a host and one device, and every transfer that it asks for. Transfers are answered by `status`. */
function manage(status: (count: number) => Status) {
  const transfers: { source: number; node: number; count: number; backed: boolean }[] = [];
  const pending: [number, Status][] = [];
  const done: [number, number, string | null][] = [];
  const commands: Commands = {
    map: () => undefined,
    revoke: () => Status.Done,
    transfer: ({ token, source, node, count, backed, urgent }) => {
      transfers.push({ source, node, count, backed });
      if (urgent) return status(count);
      pending.push([token, status(count)]);
      return Status.Pending;
    },
    remap: () => Status.Done,
    cover: () => Status.Done,
    release: () => Status.Done,
    wake: () => undefined,
    deny: () => expect.unreachable('nothing is denied here'),
    requestDone: (request, pages, failure) => done.push([request, pages, failure]),
    drained: () => undefined,
    emptied: () => undefined,
    breakCopyOnWrite: () => expect.unreachable('nothing is cloned here'),
    invalidate: () => expect.unreachable('nothing is watched here'),
    invalidated: () => expect.unreachable('nothing is watched here'),
    want: () => expect.unreachable('nothing is shared here'),
  };
  const manager = new OpenManager(commands, namedPolicies(), 64);
  expect(manager.addDevice({ ...node, name: 'host' }, NO_NODE).processor).toBe(HOST);
  const device = manager.addDevice(node).processor;
  const run = (): void => {
    for (let next = pending.shift(); next !== undefined; next = pending.shift()) manager.transferred(...next);
  };
  return { manager, device, transfers, done, run };
}

describe('a node without large pieces', () => {
  it('gets medium ones where these are to be had, however many large ones were refused at once', () => {
    const { manager, device, transfers, done, run } = manage((count) => (count > 16 ? Status.NoMemory : Status.Done));
    const range = manager.allocate(PAGES_PER_BLOCK, ranges);
    manager.acquire(1, device, range?.first ?? -1, PAGES_PER_BLOCK, Access.Read);
    run();
    expect(done).toEqual([[1, PAGES_PER_BLOCK, null]]);
    expect(transfers.map(({ count }) => count)).toEqual([...new Array(8).fill(64), ...new Array(32).fill(16)]);
    expect(manager.figures(device).counters.refusals).toBe(8);
  });

  it('gets single pages where nothing else is to be had', () => {
    const { manager, device, transfers, done, run } = manage((count) => (count > 1 ? Status.NoMemory : Status.Done));
    const range = manager.allocate(PAGES_PER_BLOCK, ranges);
    manager.acquire(1, device, range?.first ?? -1, PAGES_PER_BLOCK, Access.Read);
    run();
    expect(done).toEqual([[1, PAGES_PER_BLOCK, null]]);
    expect(transfers.slice(-PAGES_PER_BLOCK).every(({ count }) => count === 1)).toBe(true);
    expect(manager.figures(device).counters.refusals).toBe(8 + 32);
  });

  it('is told so when not even a page is to be had', () => {
    const { manager, device, done, run } = manage(() => Status.NoMemory);
    const range = manager.allocate(PAGES_PER_BLOCK, ranges);
    manager.acquire(1, device, range?.first ?? -1, PAGES_PER_BLOCK, Access.Read);
    run();
    expect(done).toEqual([[1, 0, 'OUT_OF_MEMORY']]);
    expect(manager.figures(device).backedPages).toBe(0);
  });
});

describe('pages that nobody has written', () => {
  it('are zeros made at their new place, not copies of zeros', () => {
    const { manager, device, transfers, run } = manage(() => Status.Done);
    const first = manager.allocate(PAGES_PER_BLOCK, ranges)?.first ?? -1;
    manager.acquire(1, HOST, first, PAGES_PER_BLOCK, Access.Read);
    run();
    manager.acquire(2, HOST, first, 64, Access.Write);
    run();
    transfers.length = 0;
    manager.acquire(3, device, first, PAGES_PER_BLOCK, Access.Read);
    run();
    expect(transfers.filter(({ source }) => source === HOST).map(({ count }) => count)).toEqual([64]);
    expect(transfers.filter(({ source }) => source === SOURCE_ZERO)).toHaveLength(7);
    const { pagesIn, pagesZeroed } = manager.figures(device).counters;
    expect([pagesIn, pagesZeroed]).toEqual([64, PAGES_PER_BLOCK - 64]);
  });
});
