import { beforeEach, describe, expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import {
  Access,
  PAGES_PER_BLOCK as BLOCK,
  type EvictionPolicy,
  HOST,
  HOST_NODE,
  PROVIDER,
  SOURCE_ZERO,
  Status,
} from '../basics/types.js';
import type { OpenManager } from '../test-manager.js';
import { allocateIn, commandsThat, deviceOf, hostOf, managerOf } from '../test-parts.js';

/** A memory that takes what another one has no room for. */
const store = hostOf(8, { name: 'behind', frames: 'pooled', addressable: false });

let manager: OpenManager;
/** Copies and what is given back, by nodes: `1>0 512+512`, `1 gives 512+512`. */
let log: string[];
let failures: (string | null)[];
let device: { processor: number; node: number };
/** How transfers end. */
let status: (source: number) => Status;
let pending: number[];
let requests: number;

const commands = commandsThat({
  deny: (_processor, page, _write, _thread, reason) => log.push(`denied ${page} ${reason}`),
  transfer: ({ token, source, node, page, count }) => {
    log.push(`${source}>${node} ${page}+${count}`);
    const answer = status(source);
    if (answer === Status.Pending) pending.push(token);
    return answer;
  },
  release: (_token, node, page, count) => {
    log.push(`${node} gives ${page}+${count}`);
    return Status.Done;
  },
  requestDone: (_request, _pages, failure) => failures.push(failure),
});

/**
 * A host, and a device of two blocks whose pages go home to it. What has been used least goes
 * first, or `choose` says what.
 */
function start(hostBlocks = 8, choose?: EvictionPolicy['evict'], threads = 1): void {
  log = [];
  failures = [];
  pending = [];
  requests = 0;
  status = () => Status.Done;
  const policies = namedPolicies({ prefetch: 'none', readAhead: 'none', eviction: 'lru' });
  const lru = policies.eviction;
  const eviction = () => ({
    ...lru(),
    keepFree: () => 0,
    ...(choose === undefined ? {} : { evict: choose }),
  });
  manager = managerOf(hostOf(hostBlocks, { units: threads }), commands, { ...policies, eviction });
  device = manager.addDevice(deviceOf(2));
}

/** A host, for so many threads that fault, before a node that takes what it has no room for. */
function startBefore(hostBlocks: number, threads = 1): number {
  start(hostBlocks, undefined, threads);
  const behind = manager.addNode(store);
  manager.setHome(HOST_NODE, behind);
  return behind;
}

beforeEach(() => start());

function allocate(pages: number, about: { provided?: boolean; takesBack?: boolean } = {}): number {
  return allocateIn(manager, pages, about);
}

/** The device gets pages. */
function bring(first: number, pages: number, access: Access = Access.Write, hold = false): void {
  manager.acquire(++requests, device.processor, first, pages, access, { hold });
}

/** So does the host. */
function bringHome(
  first: number,
  pages: number,
  access: Access = Access.Write,
  hold = false,
): void {
  manager.bring(++requests, HOST_NODE, first, pages, access, { hold });
}

/** What was said since. */
function take(): string[] {
  manager.checkInvariants();
  return log.splice(0);
}

/** How requests have ended since. */
function ended(): (string | null)[] {
  return failures.splice(0);
}

const backed = (): number | undefined => manager.node(device.node)?.backedPages;

describe('room on a node that is full', () => {
  it('is made of what has a copy elsewhere where what should go next has no room at home', () => {
    start(2);
    const first = allocate(4 * BLOCK);
    bring(first, BLOCK);
    bringHome(first + BLOCK, BLOCK, Access.Read, true);
    bring(first + BLOCK, BLOCK, Access.Read);
    bringHome(first + 3 * BLOCK, BLOCK, Access.Write, true);
    take();
    bring(first + 2 * BLOCK, 1, Access.Read);
    expect(take()).toEqual([
      `${device.node} gives ${first + BLOCK}+${BLOCK}`,
      `-1>${device.node} ${first + 2 * BLOCK}+1`,
    ]);
    expect(ended().at(-1)).toBe(null);
  });

  it('is waited for where neither what should go next nor a copy can go', () => {
    start(2);
    const first = allocate(5 * BLOCK);
    bring(first, 2 * BLOCK);
    bringHome(first + 3 * BLOCK, 2 * BLOCK, Access.Write, true);
    take();
    ended();
    bring(first + 2 * BLOCK, 1, Access.Read);
    expect([take(), ended()]).toEqual([[], []]);
  });

  it('is not made of the block that it is for', () => {
    start(8, (may) => [0, 1, 2].find(may) ?? -1);
    const first = allocate(2 * BLOCK);
    bringHome(first, BLOCK);
    bring(first, BLOCK - 1, Access.Read);
    bring(first + BLOCK, BLOCK);
    bring(allocate(1), 1);
    take();
    bring(first + BLOCK - 1, 1, Access.Read);
    expect(take()[0]).toBe(`${device.node}>${HOST_NODE} ${first + BLOCK}+64`);
  });

  it('is had by a node that is to shrink, and cannot just now, as far as its budget goes', () => {
    start(4);
    const first = allocate(4 * BLOCK);
    bringHome(first, 3 * BLOCK, Access.Write, true);
    expect(manager.setBudget(HOST_NODE, 2 * BLOCK)).toBe(BLOCK);
    ended();
    bringHome(first + 3 * BLOCK, BLOCK);
    expect(ended()).toEqual([null]);
  });

  it('is waited for on a node that is to shrink as long as something leaves it, though its budget would do', () => {
    const first = allocate(2 * BLOCK);
    bring(first, BLOCK);
    status = (source) => (source === device.node ? Status.Pending : Status.Done);
    manager.setBudget(device.node, BLOCK / 2);
    bring(first + BLOCK, 1, Access.Read);
    expect(
      take().some(
        (line) => line.startsWith(`${SOURCE_ZERO}>`) && line.includes(` ${first + BLOCK}+`),
      ),
    ).toBe(false);
    for (let token = pending.shift(); token !== undefined; token = pending.shift())
      manager.transferred(token, Status.Done);
    expect(take().at(-1)).toBe(`${SOURCE_ZERO}>${device.node} ${first + BLOCK}+1`);
  });

  it('that is leaving already is waited for, and nothing else goes', () => {
    const first = allocate(4 * BLOCK);
    bring(first, 2 * BLOCK);
    take();
    status = (source) => (source === device.node ? Status.Pending : Status.Done);
    for (const block of [2, 3]) bring(first + block * BLOCK, 1, Access.Read);
    expect(take().filter((line) => line.startsWith(`${device.node}>0 ${first + BLOCK}`))).toEqual(
      [],
    );
  });
});

describe('room where a driver takes less than the budget', () => {
  it('is made by a device of copies, since it keeps none for others', () => {
    start(2);
    const first = allocate(4 * BLOCK);
    bring(first, BLOCK - 1);
    bringHome(first + BLOCK, BLOCK, Access.Read, true);
    bring(first + BLOCK, BLOCK, Access.Read);
    bringHome(first + 3 * BLOCK, BLOCK, Access.Write, true);
    manager.nodeFull(device.node, 2 * BLOCK - 1);
    take();
    bring(first + 2 * BLOCK, 1, Access.Read);
    expect(take()[0]).toBe(`${device.node} gives ${first + BLOCK}+${BLOCK}`);
    expect(ended().at(-1)).toBe(null);
  });

  it('is not made by a store of the copies by which the host can give up its own', () => {
    start(2);
    const behind = manager.addNode({ ...store, budgetPages: 4 * BLOCK });
    manager.setHome(HOST_NODE, behind);
    const first = allocate(4 * BLOCK);
    for (const block of [0, 1, 2]) bringHome(first + block * BLOCK, BLOCK);
    bringHome(first, BLOCK, Access.Read);
    manager.nodeFull(behind, 2 * BLOCK);
    take();
    bringHome(first + 3 * BLOCK, BLOCK);
    expect(take().filter((line) => line.includes('gives'))).toEqual([
      `${HOST_NODE} gives ${first}+${BLOCK}`,
    ]);
    expect(ended().at(-1)).toBe(null);
  });
});

describe('pages that go home', () => {
  it('need no room there where it has memory with their old content', () => {
    start(2);
    const first = allocate(4 * BLOCK);
    bringHome(first, BLOCK);
    bring(first, BLOCK);
    bringHome(first + BLOCK, BLOCK, Access.Write, true);
    bring(first + 2 * BLOCK, BLOCK);
    take();
    bring(first + 3 * BLOCK, 1, Access.Read);
    expect(take()[0]).toBe(`${device.node}>${HOST_NODE} ${first}+64`);
    expect(ended().at(-1)).toBe(null);
  });
});

describe('what stands in for pages that were denied', () => {
  let denied: number;
  let first: number;

  /**
   * All of the device is held but for some pages, which stand in for ones behind the ends of as
   * many ranges.
   */
  function standIn(count: number): void {
    first = allocate(2 * BLOCK);
    bring(first, 2 * BLOCK - count, Access.Write, true);
    denied = allocate(1) + 100;
    for (let nth = 0; nth < count; nth++) {
      manager.fault(device.processor, denied + nth * BLOCK, false, 1);
      allocate(1);
    }
    expect(backed()).toBe(2 * BLOCK);
    take();
    ended();
  }

  it('goes where nothing else can', () => {
    standIn(2);
    bring(allocate(1), 1);
    expect([take()[0], ended()]).toEqual([`${device.node} gives ${denied}+1`, [null]]);
  });

  it('goes block by block, as far as there is need', () => {
    standIn(3);
    bring(allocate(2), 2);
    const given = [0, 1].map((nth) => `${device.node} gives ${denied + nth * BLOCK}+1`);
    expect([take().slice(0, 2), ended()]).toEqual([given, [null]]);
    expect(backed()).toBe(2 * BLOCK);
  });

  it('stays for the thread that has just been given it', () => {
    standIn(1);
    bring(allocate(1), 1);
    expect([take(), ended()]).toEqual([[], []]);
  });

  it('stays while pages of its block are on their way', () => {
    first = allocate(2 * BLOCK);
    bring(first, 2 * BLOCK - 3, Access.Write, true);
    const busy = allocate(1);
    bringHome(busy, 1);
    for (const page of [busy + 100, allocate(1) + 100])
      manager.fault(device.processor, page, false, 1);
    status = () => Status.Pending;
    bring(busy, 1, Access.Read);
    expect(backed()).toBe(2 * BLOCK);
    take();
    bring(allocate(1), 1);
    expect(take()).toEqual([]);
  });

  it('keeps its block from going', () => {
    const other = allocate(2 * BLOCK);
    const block = allocate(100);
    bring(block, 100);
    manager.fault(device.processor, block + 100, false, 1);
    bring(other, BLOCK);
    manager.fault(device.processor, block, true, 1);
    take();
    bring(other + BLOCK, BLOCK);
    expect(take().some((line) => line.startsWith(`${device.node}>0 ${block}+`))).toBe(false);
  });
});

describe('what was taken behind the ends of ranges', () => {
  it('goes block by block, as far as there is need', () => {
    const [one, other] = [allocate(300), allocate(300)];
    for (const each of [one, other]) bring(each, 300, Access.Write, true);
    expect(backed()).toBe(2 * BLOCK);
    take();
    ended();
    bring(allocate(250), 250);
    const rest = BLOCK - 300;
    const given = [one, other].map((each) => `${device.node} gives ${each + 300}+${rest}`);
    expect([take().slice(0, 2), ended()]).toEqual([given, [null]]);
  });

  it('stays where the pages are on their way', () => {
    status = (source) => (source === HOST_NODE ? Status.Pending : Status.Done);
    const one = allocate(300);
    bringHome(one, 300);
    bring(one, 300, Access.Read);
    bring(allocate(2 * BLOCK - 300), 2 * BLOCK - 300, Access.Write, true);
    expect(take().filter((line) => line.startsWith(`${device.node} gives ${one + 300}`))).toEqual(
      [],
    );
  });
});

describe('changed pages whose provider takes them back', () => {
  let first: number;

  beforeEach(() => {
    start(2);
    first = allocate(3 * BLOCK, { provided: true, takesBack: true });
    bringHome(first, 2 * BLOCK);
    take();
    ended();
  });

  /** What went back to where it came from. */
  const back = (): string[] =>
    take().filter((line) => line.startsWith(`${HOST_NODE}>${PROVIDER} `));

  it('go there from a host without a home', () => {
    bringHome(first + 2 * BLOCK, 1);
    expect([back()[0], ended()]).toEqual([`${HOST_NODE}>${PROVIDER} ${first}+${BLOCK}`, [null]]);
  });

  it('go there from a host whose home has no room', () => {
    const behind = manager.addNode(store);
    manager.setHome(HOST_NODE, behind);
    manager.nodeFull(behind, 0);
    bringHome(first + 2 * BLOCK, 1);
    expect([back()[0], ended()]).toEqual([`${HOST_NODE}>${PROVIDER} ${first}+${BLOCK}`, [null]]);
  });

  it('stay while it refuses them', () => {
    manager.providerRefuses(first, true);
    bringHome(first + 2 * BLOCK, 1);
    expect([back(), ended()]).toEqual([[], ['OUT_OF_STORAGE']]);
  });

  it('go to the host first from a device', () => {
    start();
    first = allocate(3 * BLOCK, { provided: true, takesBack: true });
    bring(first, 2 * BLOCK);
    take();
    bring(first + 2 * BLOCK, 1);
    expect(take()).toContain(`${device.node}>${HOST_NODE} ${first}+64`);
  });
});

describe('memory with old content', () => {
  it('goes before anything that is current', () => {
    const first = allocate(3 * BLOCK);
    bring(first, 2 * BLOCK);
    bringHome(first + BLOCK, BLOCK);
    take();
    bring(first + 2 * BLOCK, 1);
    expect(take()[0]).toBe(`${device.node} gives ${first + BLOCK}+${BLOCK}`);
  });

  it('stays on the host where a page of its block is pinned', () => {
    start(2);
    const first = allocate(4 * BLOCK);
    bringHome(first, 2 * BLOCK);
    bring(first + 1, BLOCK - 1);
    manager.pin(first, 1, true);
    take();
    bringHome(first + 2 * BLOCK, 1);
    expect(take().some((line) => line.startsWith(`${HOST_NODE} gives ${first}`))).toBe(false);
  });

  it('goes without what stands in for denied pages of its block', () => {
    const first = allocate(BLOCK - 1);
    bring(first, BLOCK - 1);
    manager.fault(device.processor, first + BLOCK - 1, false, 1);
    bringHome(first, BLOCK - 1);
    take();
    bring(allocate(2 * BLOCK - 1), 2 * BLOCK - 1, Access.Write, true);
    expect(take().filter((line) => line.includes('gives'))).toEqual([
      `${device.node} gives ${first}+${BLOCK - 1}`,
    ]);
    expect(backed()).toBe(2 * BLOCK);
  });
});

describe('a block', () => {
  it('goes nowhere while it is held', () => {
    const first = allocate(3 * BLOCK);
    bring(first, BLOCK, Access.Read, true);
    bring(first + BLOCK, BLOCK);
    take();
    bring(first + 2 * BLOCK, 1);
    expect(take()[0]).toBe(`${device.node}>${HOST_NODE} ${first + BLOCK}+64`);
  });

  it('goes but for the pages that are pinned', () => {
    startBefore(2);
    const first = allocate(3 * BLOCK);
    bringHome(first, 2 * BLOCK);
    manager.pin(first + 7, 1, true);
    manager.pin(first + BLOCK, BLOCK, true);
    take();
    bringHome(first + 2 * BLOCK, BLOCK - 1);
    const sent = take().flatMap(
      (line) => /^0>\d+ (\d+)\+(\d+)$/.exec(line)?.slice(1).map(Number) ?? [],
    );
    expect(sent.slice(0, 4)).toEqual([first, 7, first + 8, 8]);
    expect(ended().every((failure) => failure === null)).toBe(true);
  });

  it('all of which is pinned stays on the host', () => {
    startBefore(2);
    const first = allocate(3 * BLOCK);
    bringHome(first, 2 * BLOCK);
    manager.pin(first, 2 * BLOCK, true);
    take();
    bringHome(first + 2 * BLOCK, 1);
    expect(take()).toEqual([]);
    expect(ended().at(-1)).toBe('OUT_OF_MEMORY');
  });

  it('on which a thread faulted last goes where nothing else can', () => {
    const behind = startBefore(3, 2);
    const first = allocate(4 * BLOCK);
    bringHome(first, 3 * BLOCK);
    manager.pin(first, 2 * BLOCK, true);
    manager.fault(HOST, first + 2 * BLOCK, true, 1);
    take();
    manager.fault(HOST, first + 3 * BLOCK, true, 2);
    expect(take()[0]).toBe(`${HOST_NODE}>${behind} ${first + 2 * BLOCK}+64`);
  });

  it('on which a thread faulted last goes for a copy that holds what it copies', () => {
    const behind = startBefore(2, 1);
    const first = allocate(3 * BLOCK);
    bringHome(first, 1, Access.Read, true);
    manager.fault(HOST, first + BLOCK, true, 1);
    bringHome(first + BLOCK, BLOCK);
    take();
    bringHome(first + 2 * BLOCK, BLOCK, Access.Write, true);
    expect(take()).toContain(`${HOST_NODE}>${behind} ${first + BLOCK}+64`);
    expect(ended()).toEqual([null, null, null]);
  });
});

describe('a node whose driver refuses memory that its budget allows', () => {
  let first: number;
  /** Blocks of which something was given back; what was refused had no content. */
  const given = (): string[] =>
    log.filter((line) => line.startsWith(`${device.node} gives`) && line.endsWith('+100'));

  beforeEach(() => {
    first = allocate(4 * BLOCK);
    bring(first, 100);
    bring(first + BLOCK, 100);
    // There is memory once something has been given back.
    status = (source) =>
      source === SOURCE_ZERO && given().length === 0 ? Status.NoMemory : Status.Done;
    take();
    ended();
  });

  it('gives back what goes next, and tries again', () => {
    bring(first + 2 * BLOCK, 1);
    expect([given(), ended()]).toEqual([[`${device.node} gives ${first}+100`], [null]]);
  });

  it('gives back old content before anything that is current', () => {
    bringHome(first + BLOCK, 100);
    bring(first + 2 * BLOCK, 1);
    expect(given()).toEqual([`${device.node} gives ${first + BLOCK}+100`]);
  });

  it('gives back nothing of the block that the memory was for', () => {
    bring(first + 200, 1);
    expect(given()).toEqual([`${device.node} gives ${first + BLOCK}+100`]);
  });

  it('may give back that block later', () => {
    bring(first + 2 * BLOCK, 100);
    take();
    ended();
    bring(allocate(2 * BLOCK), 2 * BLOCK, Access.Write, true);
    expect([given().length, ended()]).toEqual([2, [null]]);
  });

  it('tells who asked where nothing can be given back', () => {
    for (const block of [0, 1]) bring(first + block * BLOCK, 100, Access.Write, true);
    ended();
    status = () => Status.NoMemory;
    bring(first + 2 * BLOCK, 1);
    expect([given(), ended()]).toEqual([[], ['OUT_OF_MEMORY']]);
  });
});

it('what a device that leaves has goes to the host where its home has gone', () => {
  const behind = manager.addNode(store);
  manager.setHome(device.node, behind);
  const first = allocate(10);
  bring(first, 10);
  manager.removeNode(behind);
  take();
  manager.detach(device.processor);
  expect(take()).toContain(`${device.node}>${HOST_NODE} ${first}+10`);
});
