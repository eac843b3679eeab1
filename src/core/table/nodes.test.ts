import { beforeEach, describe, expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import {
  Access,
  PAGES_PER_BLOCK as BLOCK,
  type Commands,
  HOST,
  HOST_NODE,
  type NodeId,
  Status,
} from '../basics/types.js';
import { ROOM_TRIES } from '../service/denials.js';
import type { OpenManager } from '../test-manager.js';
import { allocateIn, commandsThat, deviceOf, hostOf, managerOf, overheard } from '../test-parts.js';
import type { Range, RangeOptions } from './range.js';

const host = hostOf(3);
const store = {
  name: 'store',
  budgetPages: 4 * BLOCK,
  frames: 'pooled',
  addressable: false,
  memorySurvives: true,
} as const;

let log: string[];
let releases: { token: number; frame: number; count: number }[];
let manager: OpenManager;
let releaseStatus: Status;
let endStatus: Status;
/** How transfers from stores end. */
let storeStatus: Status;
let commands: Commands;

function start(): void {
  log = [];
  releases = [];
  releaseStatus = Status.Done;
  endStatus = Status.Done;
  storeStatus = Status.Done;
  commands = commandsThat({
    map: (processor, page, count, access) =>
      log.push(`map ${processor} ${page}+${count} ${access}`),
    transfer: ({ source, node, page, count }) => {
      log.push(`${source}>${node} ${page}+${count}`);
      return source > HOST_NODE ? storeStatus : Status.Done;
    },
    release: (token, node, page, count, frame) => {
      log.push(`release ${node} ${page}+${count}`);
      releases.push({ token, frame, count });
      return manager.node(node)?.description.frames === 'pooled' ? releaseStatus : Status.Done;
    },
    deny: (_id, page, _write, _thread, reason) => log.push(`denied ${page} ${reason}`),
    requestDone: (request, pages, failure) => log.push(`done ${request} ${pages} ${failure}`),
    drained: (processor) => {
      log.push(`drained ${processor}`);
      return endStatus;
    },
    emptied: (node) => log.push(`emptied ${node}`),
    breakCopyOnWrite: (page, count) => log.push(`break ${page}+${count}`),
    want: (page, write) => log.push(`want ${page} ${write ? 'write' : 'read'}`),
  });
  manager = managerOf(host, commands, namedPolicies({ prefetch: 'none', readAhead: 'none' }));
}

function allocate(pages: number, about: Partial<RangeOptions> = {}): number {
  return allocateIn(manager, pages, about);
}

/** Writes whole blocks from the host, in order. */
function write(first: number, blocks: number): void {
  for (let block = 0; block < blocks; block++) {
    manager.fault(HOST, first + block * BLOCK, true, 1);
    manager.acquire(100 + block, HOST, first + block * BLOCK, BLOCK, Access.Write);
  }
}

beforeEach(start);

describe('pages that only an engine reaches', () => {
  it('are read ahead of a walk into memory that the host has kept, as those of a store', () => {
    const policies = namedPolicies({ readAhead: { name: 'next', share: 1, stored: 2 } });
    manager = managerOf(hostOf(8), commands, policies);
    const { processor, node } = manager.addDevice(
      deviceOf(8, { name: 'gpu', faults: false, addressable: false }),
    );
    const first = allocate(5 * BLOCK);
    write(first, 5);
    const rewrite = (): void => {
      manager.launchBegin(1, processor, [{ first, count: 5 * BLOCK, use: 'inout' }]);
      manager.launchEnd(1);
      expect(manager.node(HOST_NODE)?.backedPages).toBe(5 * BLOCK);
      log = [];
    };
    const came = (block: number): boolean =>
      log.some((line) => line.startsWith(`${node}>${HOST_NODE} ${first + block * BLOCK}+`));
    const walk = (block: number): void => {
      for (let page = 0; page < BLOCK; page += 16)
        manager.fault(HOST, first + block * BLOCK + page, false, 1);
    };
    rewrite();
    walk(0);
    expect([1, 2].map(came)).toEqual([true, false]);
    manager.fault(HOST, first + BLOCK, false, 1);
    expect([2, 3, 4].map(came)).toEqual([true, true, false]);
    // What came ahead and went again before a thread had entered it comes again.
    rewrite();
    walk(0);
    manager.fault(HOST, first + BLOCK, false, 1);
    expect([2, 3, 4].map(came)).toEqual([true, true, false]);
    manager.checkInvariants();
  });
});

describe('a walk over what only an engine reaches', () => {
  let first: number;
  let gpu: { processor: number; node: number };

  const rewrite = (): void => {
    manager.launchBegin(1, gpu.processor, [{ first, count: 7 * BLOCK, use: 'inout' }]);
    manager.launchEnd(1);
    log = [];
  };
  /** The blocks of which something has come since. */
  const came = (): number[] =>
    [0, 1, 2, 3, 4, 5, 6].filter((block) =>
      log.some((line) => line.startsWith(`${gpu.node}>${HOST_NODE} ${first + block * BLOCK}+`)),
    );
  const enter = (block: number): void => manager.fault(HOST, first + block * BLOCK, false, 1);

  beforeEach(() => {
    const policies = namedPolicies({ prefetch: 'pattern', readAhead: { name: 'next', share: 1 } });
    manager = managerOf(hostOf(8), commands, policies);
    gpu = manager.addDevice(
      deviceOf(8, { name: 'gpu', faults: false, addressable: false, longCopies: true }),
    );
    first = allocate(7 * BLOCK);
    write(first, 7);
  });

  it('has the next block come along when it begins', () => {
    rewrite();
    enter(0);
    expect(came()).toEqual([0, 1]);
    manager.checkInvariants();
  });

  it('has none come along in a guarded range, of which a thread gets what it faults for', () => {
    manager.guard(9, manager.pages.rangeOf(first) as Range, true);
    rewrite();
    enter(0);
    expect([came(), log.filter((line) => line.startsWith('map'))]).toEqual([[0], []]);
    expect(manager.pages.isMapped(HOST, first, false)).toBe(true);
    expect(manager.pages.isMapped(HOST, first + 1, false)).toBe(false);
    manager.checkInvariants();
  });

  it('has as many blocks come along as the last one from there came into', () => {
    for (const _time of [1, 2]) {
      rewrite();
      enter(0);
      const atBegin = came();
      for (let block = 1; block < 4; block++) enter(block);
      expect(atBegin).toEqual(_time === 1 ? [0, 1] : [0, 1, 2, 3]);
    }
    manager.checkInvariants();
  });

  it('has as many come along as the longest way from there came into', () => {
    rewrite();
    for (let block = 0; block < 4; block++) enter(block);
    const range = manager.state.va.rangeOfPage(first) as Range;
    manager.launchBegin(1, gpu.processor, [{ first: first + BLOCK, count: BLOCK, use: 'inout' }]);
    manager.launchEnd(1);
    manager.advise(range, 0, range.pages, { pattern: 'sequential' });
    enter(1);
    manager.advise(range, 0, range.pages, { pattern: 'normal' });
    rewrite();
    enter(0);
    expect(came()).toEqual([0, 1, 2, 3]);
    manager.checkInvariants();
  });

  it('has half as many come along where the last one has not come into the last of them', () => {
    rewrite();
    for (let block = 0; block < 5; block++) enter(block);
    const counts: number[] = [];
    for (let time = 0; time < 4; time++) {
      rewrite();
      enter(0);
      counts.push(came().length - 1);
    }
    expect(counts).toEqual([4, 2, 1, 0]);
    manager.checkInvariants();
  });

  it('faults at the beginning of none but the last of those that came along', () => {
    rewrite();
    for (let block = 0; block < 4; block++) enter(block);
    rewrite();
    enter(0);
    const entries = [1, 2, 3].map((block) =>
      log.some((line) => line.startsWith(`map ${HOST} ${first + block * BLOCK}+`)),
    );
    expect(entries).toEqual([true, true, false]);
    manager.checkInvariants();
  });

  it('has all of a block copied and mapped as one, where the host has memory for it', () => {
    rewrite();
    enter(0);
    expect(log.filter((line) => line.startsWith(`${gpu.node}>${HOST_NODE} ${first}+`))).toEqual([
      `${gpu.node}>${HOST_NODE} ${first}+${BLOCK}`,
    ]);
    manager.checkInvariants();
  });
});

describe('what a policy is told of where a page comes from', () => {
  it('is whether it comes from host memory to another one', () => {
    const asked: [page: number, source: string][] = [];
    const policies = namedPolicies({ prefetch: 'none', readAhead: 'none' });
    const prefetch = overheard(policies.prefetch, ({ page, source }) => asked.push([page, source]));
    manager = managerOf(hostOf(8), commands, { ...policies, prefetch });
    const { processor } = manager.addDevice(deviceOf(8));
    const first = allocate(BLOCK);
    manager.fault(HOST, first + 5, true, 1);
    manager.fault(HOST, first + 6, true, 1);
    manager.fault(processor, first + 5, false, 2);
    manager.fault(processor, first + 6, false, 2);
    manager.fault(processor, first + 100, false, 2);
    expect(asked).toEqual([
      [5, 'none'],
      [6, 'none'],
      [5, 'host'],
      [6, 'host'],
      [100, 'none'],
    ]);
    manager.checkInvariants();
  });
});

it('a policy is told where the node has no room for another block', () => {
  const asked: [page: number, full: boolean][] = [];
  const policies = namedPolicies({ prefetch: 'none' });
  const prefetch = overheard(policies.prefetch, ({ page, full }) => asked.push([page, full]));
  manager = managerOf(host, commands, { ...policies, prefetch });
  const first = allocate(3 * BLOCK);
  manager.fault(HOST, first, true, 1);
  manager.acquire(1, HOST, first + BLOCK, 2 * BLOCK, Access.Write);
  manager.fault(HOST, first + 200, true, 1);
  expect(asked).toEqual([
    [0, false],
    [200, true],
  ]);
});

describe('pages that only an engine reaches, and what comes along with them', () => {
  let asked: [page: number, source: string, continues: boolean][];
  let processor: number;
  let first: number;

  /** On a device, which has written all of two blocks. */
  function startWith(addressable: boolean): void {
    asked = [];
    const policies = namedPolicies({ prefetch: 'none', readAhead: 'none' });
    const prefetch = overheard(policies.prefetch, ({ page, source, continues }) =>
      asked.push([page, source, continues]),
    );
    manager = managerOf(hostOf(8), commands, { ...policies, prefetch });
    processor = manager.addDevice(
      deviceOf(8, { name: 'gpu', faults: false, addressable }),
    ).processor;
    first = allocate(2 * BLOCK);
    manager.launchBegin(1, processor, [{ first, count: 2 * BLOCK, use: 'out' }]);
    manager.launchEnd(1);
  }

  function ask(page: number): unknown[] | undefined {
    asked = [];
    manager.fault(HOST, first + page, false, 1);
    return asked[0]?.slice(1);
  }

  it('are said to be far, and where they begin', () => {
    startWith(false);
    expect(ask(0)).toEqual(['far', false]);
    expect(ask(200)).toEqual(['far', true]);
    // The device still has what came to the host, and has the block before.
    expect(ask(208)).toEqual(['far', true]);
    expect(ask(BLOCK)).toEqual(['far', true]);
    // What the host has written the device has no more.
    manager.fault(HOST, first + 79, true, 1);
    expect(ask(100)).toEqual(['far', true]);
    expect(ask(80)).toEqual(['far', false]);
    manager.checkInvariants();
  });

  it('begin with their array, whatever lies before it', () => {
    startWith(false);
    const behind = allocate(BLOCK);
    manager.launchBegin(2, processor, [{ first: behind, count: BLOCK, use: 'out' }]);
    manager.launchEnd(2);
    expect([behind - first, ask(behind - first)]).toEqual([2 * BLOCK, ['far', false]]);
  });

  it('are near where they lie in a store, which no launch fills', () => {
    startWith(true);
    manager.setHome(HOST_NODE, manager.addNode(store));
    first = allocate(2 * BLOCK);
    write(first, 2);
    manager.setBudget(HOST_NODE, BLOCK);
    expect(ask(0)?.[0]).toBe('near');
  });

  it('are near where the manager reaches them, and as zeros', () => {
    startWith(true);
    expect(ask(0)?.[0]).toBe('near');
    startWith(false);
    const zeros = allocate(BLOCK);
    asked = [];
    manager.fault(HOST, zeros, false, 1);
    expect(asked[0]).toEqual([0, 'none', false]);
  });
});

describe('a store behind the host', () => {
  let behind: NodeId;

  beforeEach(() => {
    behind = manager.addNode(store);
    manager.setHome(HOST_NODE, behind);
  });

  it('counts for what can be written', () => {
    expect(manager.capacityPages()).toBe(7 * BLOCK);
  });

  it('gets what the host has no room for, and gives it back', () => {
    const first = allocate(6 * BLOCK);
    write(first, 6);
    expect(log.filter((line) => line.startsWith(`${HOST_NODE}>${behind} `))).not.toEqual([]);
    expect(manager.node(HOST_NODE)?.backedPages).toBeLessThanOrEqual(3 * BLOCK);
    log = [];
    manager.fault(HOST, first, false, 1);
    expect(log).toContain(`${behind}>${HOST_NODE} ${first}+1`);
    manager.checkInvariants();
  });

  /** Has a host of six blocks send what goes next, one block, before its memory is needed. */
  function sendAhead(): void {
    const policies = namedPolicies({ prefetch: 'none', readAhead: 'none', eviction: 'lru' });
    const eviction = () => ({ ...policies.eviction(), keepFree: () => 1 });
    manager = managerOf(hostOf(6), commands, { ...policies, eviction });
    behind = manager.addNode({ ...store, budgetPages: 16 * BLOCK });
    manager.setHome(HOST_NODE, behind);
  }

  /** The blocks of which pages were sent there since, in order. */
  const sent = (first: number): number[] => {
    const lines = log.filter((line) => line.startsWith(`${HOST_NODE}>${behind} `));
    return [
      ...new Set(
        lines.map((line) => Math.floor((Number(/ (\d+)/.exec(line)?.[1]) - first) / BLOCK)),
      ),
    ];
  };

  it('gets what goes next before its memory is needed, and nothing while everything fits', () => {
    sendAhead();
    const first = allocate(9 * BLOCK);
    write(first, 6);
    expect(log.filter((line) => line.startsWith(`${HOST_NODE}>${behind} `))).toEqual([]);
    write(first + 6 * BLOCK, 1);
    expect(manager.node(HOST_NODE)?.backedPages).toBe(5 * BLOCK);
    write(first + 7 * BLOCK, 1);
    expect(manager.node(HOST_NODE)?.backedPages).toBe(5 * BLOCK);
    manager.checkInvariants();
  });

  it('is asked for several blocks ahead of a walk, each as a whole', () => {
    const policies = namedPolicies({ readAhead: { name: 'next', share: 1, stored: 2 } });
    manager = managerOf(hostOf(6), commands, policies);
    behind = manager.addNode({ ...store, budgetPages: 16 * BLOCK });
    manager.setHome(HOST_NODE, behind);
    const first = allocate(12 * BLOCK);
    write(first, 12);
    const range = manager.pages.rangeOf(first);
    if (range !== undefined) manager.advise(range, 0, 12 * BLOCK, { pattern: 'sequential' });
    log = [];
    manager.fault(HOST, first, false, 1);
    const brought = log.filter((line) => line.startsWith(`${behind}>${HOST_NODE} `));
    expect(brought.some((line) => line.includes(` ${first + 2 * BLOCK}+64`))).toBe(true);
    expect(brought.some((line) => line.includes(` ${first + 3 * BLOCK}+`))).toBe(false);
    // The first group of a block is there, and unmapped: entering it faults, and has the next one
    // brought.
    expect(log).not.toContain(`map ${HOST} ${first + BLOCK}+16 1`);
    log = [];
    manager.fault(HOST, first + BLOCK, false, 1);
    expect(
      log.filter((line) => line.startsWith(`${behind}>${HOST_NODE} ${first + 3 * BLOCK}+`)),
    ).not.toEqual([]);
    manager.checkInvariants();
  });

  it('takes what the host has to give up when it shrinks, and the host grows at once', () => {
    const first = allocate(3 * BLOCK);
    write(first, 3);
    log = [];
    expect(manager.setBudget(HOST_NODE, 2 * BLOCK)).toBe(0);
    expect(log.filter((line) => line.startsWith(`${HOST_NODE}>${behind} `)).length).toBe(8);
    expect(manager.figures(HOST).budgetPages).toBe(2 * BLOCK);
    expect(manager.setBudget(HOST_NODE, 3 * BLOCK)).toBe(0);
    expect(manager.capacityPages()).toBe(7 * BLOCK);
    manager.checkInvariants();
  });

  it('that takes nothing has a host which is to shrink keep what it has, and deny nobody', () => {
    const first = allocate(3 * BLOCK);
    write(first, 2);
    manager.nodeFull(behind, 0);
    log = [];
    expect(manager.setBudget(HOST_NODE, BLOCK)).toBe(BLOCK);
    write(first + 2 * BLOCK, 1);
    expect(log.filter((line) => line.startsWith('denied'))).toEqual([]);
    manager.nodeFull(behind, null);
    expect(manager.setBudget(HOST_NODE, 2 * BLOCK)).toBe(0);
    manager.checkInvariants();
  });

  it('that is removed sends its pages to the host as far as there is room, and then is empty', () => {
    const first = allocate(6 * BLOCK);
    write(first, 6);
    manager.free(1, first, 3 * BLOCK);
    manager.removeNode(behind);
    expect(log.at(-1)).toBe(`emptied ${behind}`);
    expect(manager.capacityPages()).toBe(3 * BLOCK);
    manager.checkInvariants();
  });

  it('that dies takes along what only it had', () => {
    manager.removeNode(behind);
    behind = manager.addNode({ ...store, memorySurvives: false });
    manager.setHome(HOST_NODE, behind);
    const first = allocate(6 * BLOCK);
    write(first, 6);
    manager.nodeLost(behind);
    log = [];
    manager.fault(HOST, first, false, 1);
    expect(log).toEqual([`denied ${first} LOST`]);
    manager.checkInvariants();
  });

  it('that takes nothing more has written pages stay, and who needs room is told so until it does again', () => {
    const first = allocate(6 * BLOCK);
    write(first, 3);
    manager.nodeFull(behind, 0);
    log = [];
    manager.fault(HOST, first + 3 * BLOCK, true, 1);
    for (let second = 1; second < ROOM_TRIES; second++) manager.stillNoRoom();
    expect([...log, manager.waitsForRoom]).toEqual([true]);
    manager.stillNoRoom();
    expect([...log, manager.waitsForRoom]).toEqual([
      `denied ${first + 3 * BLOCK} OUT_OF_STORAGE`,
      false,
    ]);
    manager.nodeFull(behind, null);
    log = [];
    manager.fault(HOST, first + 3 * BLOCK, true, 1);
    expect(log.at(-1)).not.toMatch(/denied/);
    expect(log.some((line) => line.startsWith(`${HOST_NODE}>${behind} `))).toBe(true);
    manager.checkInvariants();
  });

  describe('gets what the host has no room for, though a device reads it', () => {
    const read = (memorySurvives: boolean): { first: number; sent: boolean } => {
      const gpu = { name: 'gpu', faults: false, addressable: false, memorySurvives };
      const { processor } = manager.addDevice(deviceOf(2, gpu));
      const first = allocate(4 * BLOCK);
      write(first, 1);
      manager.launchBegin(1, processor, [{ first, count: BLOCK, use: 'in' }]);
      manager.launchEnd(1);
      log = [];
      write(first + BLOCK, 3);
      const sent = log.some((line) => line.startsWith(`${HOST_NODE}>${behind} ${first}+`));
      manager.processorLost(processor);
      manager.checkInvariants();
      return { first, sent };
    };

    it('whose death would take its copy along', () => {
      const { first, sent } = read(false);
      expect([sent, manager.pages.lossOf(first)]).toEqual([true, null]);
    });

    it('but not twice where that copy lasts', () => {
      const { first, sent } = read(true);
      expect([sent, manager.pages.lossOf(first)]).toEqual([false, null]);
    });
  });

  it('that is full has what lies there read beyond the budget of the host, and none of it written', () => {
    const first = allocate(6 * BLOCK);
    write(first, 6);
    manager.nodeFull(behind, manager.node(behind)?.backedPages ?? 0);
    log = [];
    for (let page = 0; page < BLOCK; page++) manager.fault(HOST, first + page, false, 1);
    expect(log.some((line) => line.startsWith('denied'))).toBe(false);
    const { backedPages } = manager.figures(HOST);
    expect([backedPages > 3 * BLOCK, backedPages <= 3 * BLOCK + (3 * BLOCK) / 8]).toEqual([
      true,
      true,
    ]);
    manager.fault(HOST, first + BLOCK, true, 1);
    // At the first time those that read get the room that this thread has given up.
    for (let time = 0; time <= ROOM_TRIES; time++) manager.stillNoRoom();
    expect(log.at(-1)).toBe(`denied ${first + BLOCK} OUT_OF_STORAGE`);
    manager.nodeFull(behind, null);
    expect(manager.figures(HOST).backedPages).toBeLessThanOrEqual(3 * BLOCK);
    manager.checkInvariants();
  });

  it('that is full has nothing that came to be read beyond the budget of the host become the own of its block', () => {
    write(allocate(6 * BLOCK), 6);
    manager.nodeFull(behind, manager.node(behind)?.backedPages ?? 0);
    const first = allocate(64, { provided: true });
    manager.acquire(7, HOST, first, 64, Access.Read);
    expect(manager.figures(HOST).backedPages).toBe(3 * BLOCK + 64);
    log = [];
    manager.materialize(8, first, 64, false);
    expect([...log, manager.pages.isInherited(first)]).toEqual(['done 8 0 OUT_OF_STORAGE', true]);
    manager.nodeFull(behind, null);
    manager.materialize(9, first, 64, false);
    expect([log.at(-1), manager.pages.isInherited(first)]).toEqual(['done 9 64 null', false]);
    expect(manager.figures(HOST).backedPages).toBeLessThanOrEqual(3 * BLOCK);
    manager.checkInvariants();
  });

  it('that is full has what came to be read beyond the budget neither lost nor become the own of its block at the last chance', () => {
    write(allocate(6 * BLOCK), 6);
    manager.nodeFull(behind, manager.node(behind)?.backedPages ?? 0);
    const first = allocate(1, { provided: true });
    manager.fault(HOST, first, false, 1);
    manager.materialize(8, first, 1, true);
    expect([log.at(-1), manager.pages.isInherited(first)]).toEqual([
      'done 8 0 OUT_OF_STORAGE',
      true,
    ]);
    expect(manager.pages.lossOf(first)).toBe(null);
    manager.checkInvariants();
  });

  describe('that is full has no frame beyond the budget of the host filled with the only copy of a page', () => {
    let first: number;
    let gpu: { processor: number; node: number };
    const fromGpu = (): string[] =>
      log.filter((line) => line.startsWith(`${gpu.node}>${HOST_NODE} `));

    beforeEach(() => {
      gpu = manager.addDevice(deviceOf(1, { name: 'gpu', faults: false, addressable: false }));
      write(allocate(6 * BLOCK), 6);
      manager.nodeFull(behind, manager.node(behind)?.backedPages ?? 0);
      first = allocate(64, { provided: true });
      manager.acquire(7, HOST, first, 64, Access.Read);
      // The host's frames of what the device has written are beyond its budget.
      manager.launchBegin(1, gpu.processor, [{ first, count: 32, use: 'inout' }]);
      manager.launchEnd(1);
      expect(manager.figures(HOST).backedPages).toBe(3 * BLOCK + 64);
      log = [];
    });

    it('by a device that is to give its memory up', () => {
      manager.detach(gpu.processor);
      expect(fromGpu()).toEqual([]);
      manager.nodeFull(behind, null);
      expect(fromGpu()).toEqual([`${gpu.node}>${HOST_NODE} ${first}+32`]);
      manager.checkInvariants();
    });

    it('by a thread that reads', () => {
      manager.fault(HOST, first, false, 1);
      expect([fromGpu(), manager.waitsForRoom]).toEqual([[], true]);
      manager.nodeFull(behind, null);
      expect(fromGpu()).toEqual([`${gpu.node}>${HOST_NODE} ${first}+1`]);
      manager.checkInvariants();
    });
  });

  it('that is full has what clones could not be given stay, and all else of an array that is freed go', () => {
    const first = allocate(BLOCK);
    write(first, 1);
    manager.copyOnWrite(1, first, BLOCK / 2);
    manager.nodeFull(behind, 0);
    log = [];
    manager.free(8, first, BLOCK);
    expect(log).toEqual([`break ${first}+${BLOCK / 2}`]);
    manager.copyOnWriteBroken(first, 8, null);
    manager.copyOnWriteBroken(first + 8, BLOCK / 2 - 8, 'OUT_OF_STORAGE');
    // There may be room by now.
    expect(log.at(-1)).toBe(`break ${first + 8}+${BLOCK / 2 - 8}`);
    manager.copyOnWriteBroken(first + 8, BLOCK / 2 - 8, 'OUT_OF_STORAGE');
    expect(log.at(-1)).toBe('done 8 0 OUT_OF_STORAGE');
    expect([
      manager.pages.firstKept(first, first + BLOCK),
      manager.pages.firstFreed(first + 8, first + BLOCK),
    ]).toEqual([first + 8, first + BLOCK / 2]);
    manager.free(9, first, BLOCK);
    manager.copyOnWriteBroken(first + 8, BLOCK / 2 - 8, null);
    expect([log.at(-1), manager.pages.firstKept(first, first + BLOCK)]).toEqual([
      `done 9 ${BLOCK} null`,
      -1,
    ]);
    manager.checkInvariants();
  });

  it('that is full has who writes what was cloned wait for it, and refuses him after a while', () => {
    const first = allocate(3 * BLOCK);
    write(first, 3);
    manager.copyOnWrite(1, first, BLOCK);
    manager.nodeFull(behind, 0);
    log = [];
    manager.fault(HOST, first, true, 1);
    for (let time = 0; time < ROOM_TRIES; time++) {
      expect(log).toEqual([`break ${first}+16`]);
      manager.copyOnWriteBroken(first, 16, 'OUT_OF_STORAGE');
      expect(manager.waitsForRoom).toBe(true);
      log = [];
      manager.stillNoRoom();
    }
    manager.copyOnWriteBroken(first, 16, 'OUT_OF_STORAGE');
    expect([...log, manager.waitsForRoom]).toEqual([
      `break ${first}+16`,
      `denied ${first} OUT_OF_STORAGE`,
      false,
    ]);
    manager.checkInvariants();
  });

  it('that has room by now has what was cloned copied again for who writes it', () => {
    const first = allocate(3 * BLOCK);
    write(first, 3);
    manager.copyOnWrite(1, first, BLOCK);
    manager.nodeFull(behind, 0);
    manager.fault(HOST, first, true, 1);
    manager.nodeFull(behind, null);
    log = [];
    manager.copyOnWriteBroken(first, 16, 'OUT_OF_STORAGE');
    expect(log).toEqual([`break ${first}+16`]);
    manager.copyOnWriteBroken(first, 16, null);
    expect(log.at(-1)).toBe(`map ${HOST} ${first}+1 2`);
    manager.checkInvariants();
  });

  it('that is full has threads which write what was cloned not bring their pages for each other for ever', () => {
    write(allocate(3 * BLOCK), 3);
    manager.nodeFull(behind, 0);
    const file = allocate(3 * BLOCK, { provided: true });
    const clone = allocate(3 * BLOCK, { provided: true, derived: true });
    manager.copyOnWrite(1, file, 3 * BLOCK);
    const steps: (() => void)[] = [];
    let copies = 0;
    commands.transfer = () => {
      if (++copies > 20) throw new Error('pages are brought again and again');
      return Status.Done;
    };
    // A copy for a clone finds no room, and says so before the next one begins.
    commands.breakCopyOnWrite = (page, count) =>
      steps.push(() => {
        manager.materialize(page, clone + page - file, count, false);
        manager.copyOnWriteBroken(page, count, 'OUT_OF_STORAGE');
      });
    const settle = (): void => {
      for (let step = steps.shift(); step !== undefined; step = steps.shift()) step();
    };
    for (let block = 0; block < 3; block++) {
      manager.fault(HOST, file + block * BLOCK, true, block);
      settle();
    }
    expect(copies).toBe(3);
    manager.stillNoRoom();
    settle();
    manager.checkInvariants();
  });

  it('that is full has who touches what is there not wait behind who waits for room in the same block', () => {
    const first = allocate(4 * BLOCK);
    write(first, 2);
    manager.bring(7, HOST_NODE, first + 2 * BLOCK, BLOCK - 1, Access.Read);
    manager.fault(HOST, first + 3 * BLOCK, true, 1);
    manager.nodeFull(behind, 0);
    manager.fault(HOST, first + 3 * BLOCK - 1, true, 2);
    expect(manager.waitsForRoom).toBe(true);
    log = [];
    manager.fault(HOST, first + 2 * BLOCK, false, 3);
    expect(log).toEqual([`map ${HOST} ${first + 2 * BLOCK}+1 1`]);
    manager.checkInvariants();
  });

  it('that is full has who gets a right of other machines not wait behind who waits for room in the same block', () => {
    write(allocate(3 * BLOCK), 3);
    const shared = allocate(BLOCK, { provided: true, shared: true });
    manager.protect(1, shared, BLOCK, Access.None);
    manager.nodeFull(behind, 0);
    for (const page of [0, 1]) manager.fault(HOST, shared + page, page === 0, page);
    manager.refuse(shared, 1, 'OUT_OF_STORAGE');
    log = [];
    manager.protect(2, shared + 1, 1, Access.Read);
    expect(log).toContain(`-2>${HOST_NODE} ${shared + 1}+1`);
    manager.checkInvariants();
  });

  it('that is full has who waits to write what was cloned go on as soon as others have had it copied', () => {
    const gpu = manager.addDevice(deviceOf(3, { name: 'gpu' }));
    const first = allocate(3 * BLOCK);
    write(first, 3);
    manager.copyOnWrite(1, first, BLOCK);
    manager.nodeFull(behind, 0);
    manager.fault(HOST, first, true, 1);
    manager.copyOnWriteBroken(first, 16, 'OUT_OF_STORAGE');
    expect(manager.waitsForRoom).toBe(true);
    manager.fault(gpu.processor, first + 1, true, 1);
    log = [];
    manager.copyOnWriteBroken(first, 16, null);
    expect(log).toContain(`map ${HOST} ${first}+1 2`);
    manager.checkInvariants();
  });

  it('that is full has who reads a clone wait for room of its source, and not try again for what he gave back himself', () => {
    write(allocate(2 * BLOCK), 2);
    const clone = allocate(1, { provided: true, derived: true });
    manager.nodeFull(behind, 0);
    const fills: number[] = [];
    commands.transfer = ({ token }) => {
      fills.push(token);
      return Status.Pending;
    };
    manager.fault(HOST, clone, false, 1);
    manager.transferred(fills[0], Status.SourceStarved);
    expect([fills.length, manager.waitsForRoom]).toEqual([1, true]);
    manager.stillNoRoom();
    manager.transferred(fills[1], Status.SourceStarved);
    expect([fills.length, manager.waitsForRoom]).toEqual([2, true]);
    manager.checkInvariants();
  });

  it('that is full has who waits for room try again for what others give back', () => {
    const first = allocate(4 * BLOCK);
    write(first, 3);
    manager.nodeFull(behind, 0);
    log = [];
    manager.fault(HOST, first + 3 * BLOCK, true, 1);
    expect([...log, manager.waitsForRoom]).toEqual([true]);
    manager.free(1, first, 1);
    expect([log.at(-1), manager.waitsForRoom]).toEqual([
      expect.stringMatching(`>${HOST_NODE} ${first + 3 * BLOCK}[+]1$`),
      false,
    ]);
    manager.checkInvariants();
  });

  it('that is full has who wants a right of other machines wait for it, and refuses him after a while', () => {
    const first = allocate(6 * BLOCK);
    write(first, 3);
    const shared = allocate(BLOCK, { provided: true, shared: true });
    manager.nodeFull(behind, 0);
    log = [];
    manager.fault(HOST, shared, true, 1);
    for (let time = 0; time < ROOM_TRIES; time++) {
      expect(log).toEqual([`want ${shared} write`]);
      log = [];
      manager.refuse(shared, BLOCK, 'OUT_OF_STORAGE');
      expect([...log, manager.waitsForRoom]).toEqual([true]);
      manager.stillNoRoom();
    }
    manager.refuse(shared, BLOCK, 'OUT_OF_STORAGE');
    expect([...log, manager.waitsForRoom]).toEqual([
      `want ${shared} write`,
      `denied ${shared} OUT_OF_STORAGE`,
      false,
    ]);
    manager.checkInvariants();
  });

  it('that has room by now has the right asked for again at once', () => {
    const shared = allocate(BLOCK, { provided: true, shared: true });
    manager.fault(HOST, shared, false, 1);
    log = [];
    manager.refuse(shared, BLOCK, 'OUT_OF_STORAGE');
    expect([...log, manager.waitsForRoom]).toEqual([`want ${shared} read`, false]);
    manager.checkInvariants();
  });

  it('whose holder waits for room has it denied rather than wait for itself', () => {
    const first = allocate(6 * BLOCK);
    write(first, 3);
    manager.acquire(7, HOST, first + 2 * BLOCK, 1, Access.Read, { hold: true });
    manager.nodeFull(behind, 0);
    log = [];
    manager.acquire(8, HOST, first + 3 * BLOCK, 1, Access.Write, { hold: true });
    expect(log).toEqual(['done 8 0 OUT_OF_STORAGE']);
  });

  it('that gives back another page than was sent there loses it by name, and only what has no other copy', () => {
    const first = allocate(6 * BLOCK);
    write(first, 6);
    manager.fault(HOST, first + 1, false, 1);
    manager.spoiled(behind, first, 2);
    expect(manager.pages.lossOf(first)).toBe('CORRUPTED');
    expect(manager.pages.lossOf(first + 1)).toBe(null);
    log = [];
    manager.fault(HOST, first, false, 2);
    expect(log).toEqual([`denied ${first} CORRUPTED`]);
    manager.checkInvariants();
  });

  it('that has forgotten a part of what it had loses that by name, and only what has no other copy', () => {
    const first = allocate(6 * BLOCK);
    write(first, 6);
    manager.fault(HOST, first + 1, false, 1);
    // Which 2 MiB of its memory a block lies in: those of the others are kept.
    const part = Math.floor(
      (manager.state.va.blocks.get(first / BLOCK)?.residences[behind]?.frames?.[0] ?? -1) / BLOCK,
    );
    manager.forgot(behind, [part], 64);
    expect(manager.pages.lossOf(first)).toBe('FORGOTTEN');
    expect(manager.pages.lossOf(first + 1)).toBe(null);
    expect(manager.pages.firstLost(first + BLOCK, first + 6 * BLOCK)).toBe(-1);
    log = [];
    manager.fault(HOST, first, false, 2);
    expect(log).toEqual([`denied ${first} FORGOTTEN`]);
    manager.checkInvariants();
  });

  it('that does not answer has nothing lost: who needs a page is told so at once, and gets it when it answers again', () => {
    const first = allocate(6 * BLOCK);
    write(first, 6);
    storeStatus = Status.Unreachable;
    log = [];
    manager.fault(HOST, first, false, 1);
    expect(log).toContain(`denied ${first} NODE_LOST`);
    expect(log.filter((line) => line.startsWith(`${behind}>`)).length).toBeLessThanOrEqual(2);
    expect(manager.pages.lossOf(first)).toBe(null);
    storeStatus = Status.Done;
    log = [];
    manager.fault(HOST, first, false, 1);
    expect(log).toContain(`${behind}>${HOST_NODE} ${first}+1`);
    manager.checkInvariants();
  });

  it('gets nothing ahead that it has already: that goes at once when it must', () => {
    sendAhead();
    const first = allocate(12 * BLOCK);
    write(first, 12);
    for (let block = 0; block < 7; block++)
      manager.acquire(block, HOST, first + block * BLOCK, BLOCK, Access.Read);
    expect(manager.node(HOST_NODE)?.backedPages).toBe(6 * BLOCK);
    manager.checkInvariants();
  });

  it('gets nothing ahead any more when half of the host has been free', () => {
    sendAhead();
    const first = allocate(12 * BLOCK);
    write(first, 7);
    expect(manager.node(HOST_NODE)?.backedPages).toBe(5 * BLOCK);
    manager.free(1, first + 2 * BLOCK, 3 * BLOCK);
    log = [];
    write(first + 7 * BLOCK, 4);
    expect([sent(first), manager.node(HOST_NODE)?.backedPages]).toEqual([[], 6 * BLOCK]);
    manager.checkInvariants();
  });

  it('gets what is preferred there first, and last what is preferred on the host', () => {
    manager = managerOf(
      host,
      commands,
      namedPolicies({ prefetch: 'none', readAhead: 'none', eviction: 'lru' }),
    );
    behind = manager.addNode({ ...store, budgetPages: 16 * BLOCK });
    manager.setHome(HOST_NODE, behind);
    const first = allocate(6 * BLOCK);
    const range = manager.state.va.rangeOfPage(first) as Range;
    manager.advise(range, 0, BLOCK, { preferred: HOST_NODE });
    manager.advise(range, 2 * BLOCK, 3 * BLOCK, { preferred: behind });
    write(first, 6);
    expect(sent(first)).toEqual([2, 1, 3]);
    manager.checkInvariants();
  });

  it('gets what is preferred on the host where there is nothing else', () => {
    const first = allocate(4 * BLOCK);
    const range = manager.state.va.rangeOfPage(first) as Range;
    manager.advise(range, 0, range.pages, { preferred: HOST_NODE });
    write(first, 4);
    expect(sent(first)).toHaveLength(1);
    manager.checkInvariants();
  });

  it('gets nothing that a policy names and that may not go', () => {
    const policies = namedPolicies({ prefetch: 'none', readAhead: 'none' });
    const eviction = () => ({ ...policies.eviction(), evict: () => 0 });
    manager = managerOf(host, commands, { ...policies, eviction });
    behind = manager.addNode(store);
    manager.setHome(HOST_NODE, behind);
    const first = allocate(4 * BLOCK);
    manager.acquire(1, HOST, first, 3 * BLOCK, Access.Write, { hold: true });
    log = [];
    manager.acquire(2, HOST, first + 3 * BLOCK, 1, Access.Write, { hold: true });
    expect(sent(first)).toEqual([]);
    manager.release(HOST_NODE, first, 3 * BLOCK, Access.Write);
    expect(sent(first)).toEqual([0]);
  });

  it('that has another one behind it sends on what it has no room for', () => {
    manager.removeNode(behind);
    behind = manager.addNode({ ...store, budgetPages: BLOCK });
    manager.setHome(HOST_NODE, behind);
    const far = manager.addNode(store);
    manager.setHome(behind, far);
    expect(manager.capacityPages()).toBe(8 * BLOCK);
    const first = allocate(7 * BLOCK);
    write(first, 7);
    expect(log.some((line) => line.startsWith(`${behind}>${far} `))).toBe(true);
    expect(manager.node(behind)?.backedPages).toBeLessThanOrEqual(BLOCK);
    log = [];
    manager.fault(HOST, first, false, 1);
    expect(log).toContain(`${far}>${HOST_NODE} ${first}+1`);
    manager.checkInvariants();
  });

  it('is no home for one that is at home there already', () => {
    expect(() => manager.setHome(behind, HOST_NODE)).toThrow(/whose own pages go there/);
  });
});

describe('frames that were released and are still read', () => {
  it('count until the driver says that nothing reads them, and nobody gets them before', () => {
    const pooled = deviceOf(1, {
      name: 'pooled',
      frames: 'pooled',
      faults: false,
      addressable: false,
      units: 0,
    });
    const { processor, node } = manager.addDevice(pooled);
    const first = allocate(2 * BLOCK);
    manager.acquire(1, processor, first, BLOCK, Access.Write);
    releaseStatus = Status.Pending;
    releases = [];
    manager.free(2, first, BLOCK);
    manager.acquire(3, processor, first + BLOCK, 8, Access.Write);
    expect(manager.node(node)?.backedPages).toBe(BLOCK);
    expect(log).not.toContain('done 3 8 null');
    for (const { token } of releases) manager.released(token);
    expect(log).toContain('done 3 8 null');
    expect(manager.node(node)?.backedPages).toBe(8);
    manager.checkInvariants();
  });
});

describe('a processor without memory of its own', () => {
  it('reaches the host memory in place, and counts among those whose threads need a block there', () => {
    expect(() => manager.addProcessor({ name: 'many', faults: true, units: 2 })).toThrow(
      /host memory of 6 MiB .* at least 8 MiB .*raise hostMemory, or end a process/,
    );
    const neighbour = manager.addProcessor({ name: 'neighbour', faults: true, units: 1 });
    const first = allocate(BLOCK);
    manager.fault(HOST, first, true, 1);
    log = [];
    manager.fault(neighbour, first, true, 2);
    expect(log).toEqual([`map ${neighbour} ${first}+1 ${Access.Write}`]);
    manager.detach(neighbour);
    expect(log.at(-1)).toBe(`drained ${neighbour}`);
    manager.checkInvariants();
  });

  it('is denied a page, and has it once it may', () => {
    const neighbour = manager.addProcessor({ name: 'neighbour', faults: true, units: 1 });
    const first = allocate(BLOCK);
    manager.protect(1, first, BLOCK, Access.None);
    log = [];
    manager.fault(neighbour, first, false, 2);
    expect(log).toEqual([`denied ${first} NO_ACCESS`]);
    manager.protect(2, first, BLOCK, Access.Write);
    manager.fault(HOST, first, true, 1);
    log = [];
    manager.fault(neighbour, first, true, 2);
    expect(log).toEqual([`map ${neighbour} ${first}+1 ${Access.Write}`]);
    manager.checkInvariants();
  });

  it('waits for rights of other machines, and is refused as the host is', () => {
    const neighbour = manager.addProcessor({ name: 'neighbour', faults: true, units: 1 });
    const shared = allocate(BLOCK, { provided: true, shared: true });
    manager.protect(1, shared, BLOCK, Access.None);
    log = [];
    for (const page of [shared, shared + 1]) manager.fault(neighbour, page, true, 1);
    expect(log.filter((line) => line.startsWith('denied'))).toEqual([]);
    manager.refuse(shared, 1, 'NODE_LOST');
    expect(log.at(-1)).toBe(`denied ${shared} NODE_LOST`);
    log = [];
    manager.protect(2, shared + 1, 1, Access.Write);
    expect(log).toContain(`map ${neighbour} ${shared + 1}+1 ${Access.Write}`);
    manager.checkInvariants();
  });
});

it('gives the numbers of a device again once all have heard that it has gone', () => {
  endStatus = Status.Pending;
  const first = manager.addDevice(deviceOf(2));
  manager.detach(first.processor);
  expect(log.at(-1)).toBe(`drained ${first.processor}`);
  const second = manager.addDevice(deviceOf(2));
  expect(second.processor).not.toBe(first.processor);
  expect(second.node).not.toBe(first.node);
  manager.endHeard(first.processor);
  expect(manager.addDevice(deviceOf(2))).toEqual(first);
  manager.checkInvariants();
});

it('refuses more than 32 memories by a clear error', () => {
  for (let id = 1; id < 32; id++) expect(manager.addNode(store)).toBe(id);
  expect(() => manager.addNode(store)).toThrow(/there are 32 memories already/);
});

it('takes back what stands in for denied pages where there is room for no more of that', () => {
  const { processor } = manager.addDevice(deviceOf(2));
  const first = allocate(3 * BLOCK);
  manager.protect(1, first, 3 * BLOCK, Access.None);
  log = [];
  for (let page = first; page < first + 3 * BLOCK; page++) manager.fault(processor, page, false, 2);
  const denied = log.filter((line) => line.startsWith('denied'));
  expect(new Set(denied.map((line) => line.split(' ')[2]))).toEqual(new Set(['NO_ACCESS']));
  expect(manager.figures(processor).backedPages).toBe(2 * BLOCK);
  manager.checkInvariants();
});
