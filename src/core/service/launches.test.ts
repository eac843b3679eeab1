import { beforeEach, describe, expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import { Access, PAGES_PER_BLOCK as BLOCK, HOST, HOST_NODE, Status } from '../basics/types.js';
import type { OpenManager } from '../test-manager.js';
import { allocateIn, commandsThat, deviceOf, hostOf, managerOf } from '../test-parts.js';
import type { LaunchArgument } from './launches.js';

/** A GPU has no faults, and only its engine reaches its memory. */
const gpu = deviceOf(8, { name: 'gpu', faults: false, addressable: false, longCopies: true });

let manager: OpenManager;
let first: number;
/** Requests that are through, and why not. */
let done: Map<number, string | null>;
/** Copies that are under way: block, and node that it goes to. */
let moving: { token: number; block: number; node: number }[];

function start(eviction: 'tournament' | 'fifo' = 'tournament'): void {
  done = new Map();
  moving = [];
  const commands = commandsThat({
    transfer: ({ token, source, node, page }) => {
      // Zeros are made at once.
      if (source < 0) return Status.Done;
      moving.push({ token, node, block: Math.floor(page / BLOCK) - first / BLOCK });
      return Status.Pending;
    },
    requestDone: (request, _pages, failure) => done.set(request, failure),
  });
  manager = managerOf(
    hostOf(32),
    commands,
    namedPolicies({ prefetch: 'none', readAhead: 'none', eviction }),
  );
  manager.addDevice(gpu);
  manager.addDevice(gpu);
  first = allocateIn(manager, 16 * BLOCK);
  // The host has written all of it.
  manager.acquire(1000, HOST, first, 16 * BLOCK, Access.Write);
}

function argument(block: number, count: number, use: LaunchArgument['use'] = 'in'): LaunchArgument {
  return { first: first + block * BLOCK, count: count * BLOCK, use };
}

/** The blocks that are on their way to a node. */
const goingTo = (node: number): number[] => [
  ...new Set(moving.flatMap((each) => (each.node === node ? [each.block] : []))),
];

/** The oldest copy ends, or all that there are and that follow from these. */
function arrive(all = true): void {
  do {
    const [next] = moving.splice(0, 1);
    if (next === undefined) return;
    manager.transferred(next.token, Status.Done);
  } while (all);
}

/** A launch that has run. */
function run(id: number, processor: number, ...args: LaunchArgument[]): void {
  manager.launchBegin(id, processor, args);
  arrive();
  expect(done.get(id)).toBeNull();
  manager.launchEnd(id);
}

beforeEach(() => start());

describe('what a launch needs on a device without faults', () => {
  it('comes side by side, a few blocks at a time', () => {
    manager.launchBegin(1, 1, [argument(0, 7)]);
    expect(goingTo(1)).toEqual([0, 1, 2, 3, 4]);
    arrive(false);
    expect(goingTo(1)).toEqual([1, 2, 3, 4, 5]);
    arrive();
    expect(done.get(1)).toBeNull();
  });

  it('gets its room for several blocks at once', () => {
    run(1, 1, argument(0, 8, 'inout'));
    manager.launchBegin(2, 1, [argument(8, 3)]);
    expect(goingTo(HOST_NODE)).toHaveLength(3);
  });

  it('does not go for what else the launch needs', () => {
    start('fifo');
    run(1, 1, argument(4, 1));
    run(2, 1, argument(8, 7));
    // The first block that came is the one that goes first, but for this launch.
    manager.launchBegin(3, 1, [argument(0, 5)]);
    arrive();
    expect(done.get(3)).toBeNull();
    expect(manager.state.nodes[1]?.counters.pagesIn).toBe(12 * BLOCK);
  });

  it('is told to be too much where it is, and nothing of it is held', () => {
    manager.launchBegin(1, 1, [argument(0, 9)]);
    arrive();
    expect(done.get(1)).toBe('OUT_OF_MEMORY');
    expect(manager.state.holds).toBe(0);
    manager.launchEnd(1);
    // All of it may go for another launch.
    run(2, 1, argument(8, 8));
  });
});

describe('a block that comes before its turn', () => {
  /** A launch of which another one has the first block; the second one comes meanwhile. */
  function hold(): void {
    manager.launchBegin(1, 2, [argument(0, 1, 'inout')]);
    arrive();
    manager.launchBegin(2, 1, [argument(0, 2, 'inout')]);
    arrive();
    expect(done.has(2)).toBe(false);
  }

  it('may be had by others, and comes again', () => {
    hold();
    expect(manager.state.va.blocks.get(first / BLOCK + 1)?.residences[1]?.holds).toEqual([]);
    manager.bring(3, HOST_NODE, first + BLOCK, BLOCK, Access.Write, { hold: true });
    arrive();
    expect(done.get(3)).toBeNull();
    manager.release(HOST_NODE, first + BLOCK, BLOCK, Access.Write);
    manager.launchEnd(1);
    arrive();
    expect(done.get(2)).toBeNull();
  });

  it('keeps nobody waiting while it cannot come', () => {
    manager.bring(3, HOST_NODE, first + BLOCK, BLOCK, Access.Read, { hold: true });
    hold();
    manager.bring(4, HOST_NODE, first + BLOCK, BLOCK, Access.Read, { hold: true });
    arrive();
    expect(done.get(4)).toBeNull();
  });

  it('is not missed where it is refused: the launch says so when its turn has come', () => {
    manager.protect(3, first + BLOCK, BLOCK, Access.Read);
    manager.launchBegin(1, 1, [argument(0, 2, 'inout')]);
    expect(done.has(1)).toBe(false);
    arrive();
    expect(done.get(1)).toBe('READ_ONLY');
    expect(manager.state.holds).toBe(0);
  });
});
