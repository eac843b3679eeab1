import { beforeEach, describe, expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import {
  PAGES_PER_BLOCK as BLOCK,
  type EvictionPolicy,
  type ProcessorId,
  Status,
  type Transfer,
} from '../basics/types.js';
import type { Range } from '../table/range.js';
import type { OpenManager } from '../test-manager.js';
import { allocateIn, commandsThat, deviceOf, hasPage, hostOf, managerOf } from '../test-parts.js';

const ROOM = 16;

let manager: OpenManager;
let device: ProcessorId;
let moved: string[];
let status: Status;
/** What the device's policy wants next, and whether to write it. */
let wants: { block: number; write: boolean }[];
/** What the policy was told of launches. */
let told: string[];
let first: number;

function wishful(policy: EvictionPolicy): EvictionPolicy {
  return {
    ...policy,
    launchBegins(kernel, spans) {
      told.push(kernel);
      policy.launchBegins?.(kernel, spans);
    },
    launchEnds() {
      told.push('end');
      policy.launchEnds?.();
    },
    wants(wish) {
      const next = wants.shift();
      wish.write = next?.write ?? false;
      return next?.block ?? -1;
    },
  };
}

beforeEach(() => {
  const policies = namedPolicies({ eviction: 'lru' });
  moved = [];
  told = [];
  wants = [];
  status = Status.Done;
  const commands = commandsThat({
    transfer: ({ page, reason }: Transfer) => {
      const what = `${Math.floor((page - first) / BLOCK)} ${reason}`;
      if (!moved.includes(what)) moved.push(what);
      return status;
    },
  });
  const eviction = () => wishful(policies.eviction());
  manager = managerOf(hostOf(64), commands, { ...policies, eviction });
  device = manager.addDevice(deviceOf(ROOM)).processor;
  first = allocateIn(manager, 8 * BLOCK);
  for (let page = 0; page < 8 * BLOCK; page++) manager.fault(0, first + page, true, 1);
  while (manager.waitsToGoAhead) manager.goAhead();
  moved = [];
});

function want(block: number, write = false): void {
  wants.push({ block: first / BLOCK + block, write });
}

function launch(): void {
  manager.launchBegin(1, device, [{ first, count: BLOCK, use: 'in' }], 'kernel');
}

describe('what a policy wants', () => {
  it('comes while a launch runs, as planned, all but its beginning mapped', () => {
    want(3);
    launch();
    expect(manager.waitsToGoAhead).toBe(true);
    manager.goAhead();
    expect(moved).toEqual(['3 plan']);
    expect(hasPage(manager, device, first + 3 * BLOCK)).toBe(false);
    expect(hasPage(manager, device, first + 3 * BLOCK + 16)).toBe(true);
    expect(hasPage(manager, device, first + 3 * BLOCK + 16, 'writable')).toBe(false);
    manager.goAhead();
    expect(manager.waitsToGoAhead).toBe(false);
    manager.checkInvariants();
  });

  it('is no work before the policy was asked', () => {
    want(3);
    launch();
    expect(manager.bringsAhead).toBe(false);
  });

  it('is told launches of all their work items, and none of some of them', () => {
    const args = [{ first, count: BLOCK, use: 'in' }] as const;
    manager.launchBegin(1, device, args, 'part', false);
    manager.launchEnd(1);
    manager.launchBegin(2, device, args, 'whole');
    manager.launchEnd(2);
    expect(told).toEqual(['whole', 'end']);
  });

  it('may be written where a launch writes it', () => {
    want(3, true);
    launch();
    manager.goAhead();
    expect(hasPage(manager, device, first + 3 * BLOCK + 16, 'writable')).toBe(true);
  });

  it('may be read alone where the death of the device would take it along', () => {
    device = manager.addDevice(deviceOf(ROOM, { memorySurvives: false })).processor;
    want(3, true);
    launch();
    manager.goAhead();
    expect(hasPage(manager, device, first + 3 * BLOCK + 16)).toBe(true);
    expect(hasPage(manager, device, first + 3 * BLOCK + 16, 'writable')).toBe(false);
    manager.processorLost(device);
    expect(manager.pages.lossOf(first + 3 * BLOCK + 16)).toBe(null);
  });

  it('is asked for again only after something has happened', () => {
    launch();
    manager.goAhead();
    expect(manager.waitsToGoAhead).toBe(false);
    manager.fault(device, first, false, 1);
    expect(manager.waitsToGoAhead).toBe(true);
  });

  it('is not asked for while no launch runs', () => {
    manager.fault(device, first, false, 1);
    manager.launchWaits(device, [{ first, count: BLOCK, use: 'in' }], 'kernel');
    expect(manager.waitsToGoAhead).toBe(false);
  });

  it('comes up to an eighth of the memory, until a thread comes into some', () => {
    for (const block of [3, 4, 5]) want(block);
    launch();
    while (manager.waitsToGoAhead) manager.goAhead();
    expect(moved).toEqual(['3 plan', '4 plan']);
    manager.fault(device, first + 3 * BLOCK, false, 1);
    while (manager.waitsToGoAhead) manager.goAhead();
    expect(moved).toEqual(['3 plan', '4 plan', '5 plan']);
  });

  it('is no guess any more where it could not come', () => {
    status = Status.Failed;
    want(3);
    launch();
    while (manager.waitsToGoAhead) manager.goAhead();
    expect(manager.state.nodes[device]?.aheadBlocks).toBe(0);
    manager.checkInvariants();
  });

  it('is no guess any more where its addresses are given to another array', () => {
    want(3);
    launch();
    while (manager.waitsToGoAhead) manager.goAhead();
    expect(manager.state.nodes[device]?.aheadBlocks).toBe(1);
    manager.launchEnd(1);
    const range = manager.state.va.rangeOfPage(first) as Range;
    manager.free(2, first, range.pages);
    expect(manager.recycle(range)).toBe(true);
    expect(manager.state.nodes[device]?.aheadBlocks).toBe(0);
    manager.checkInvariants();
  });

  it('is nothing where it is there, or is no block of the space', () => {
    launch();
    manager.fault(device, first, false, 1);
    moved = [];
    want(0);
    want(10_000);
    for (let time = 0; time < 3; time++) manager.goAhead();
    expect(moved).toEqual([]);
  });
});
