import { beforeEach, describe, expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import { add, andNot } from '../basics/mask.js';
import {
  PAGES_PER_BLOCK as BLOCK,
  PAGES_PER_GROUP as GROUP,
  type ProcessorId,
  type Reason,
} from '../basics/types.js';
import type { OpenManager } from '../test-manager.js';
import {
  allocateIn,
  commandsThat,
  deviceOf,
  hasPage,
  hostOf,
  managerOf,
  touchIn,
} from '../test-parts.js';

/** Pages from one that comes to the next, and why they come. */
let step: number;
let reason: Reason;
let manager: OpenManager;
let device: ProcessorId;
let first: number;

/** A device of two blocks, and an array of three. What has been used least goes first. */
beforeEach(() => {
  step = 2;
  reason = 'stride';
  const policies = namedPolicies({ eviction: 'lru' });
  manager = managerOf(hostOf(8), commandsThat(), {
    ...policies,
    prefetch: () => (touch) => {
      for (let page = touch.page % step; page < BLOCK; page += step) add(touch.result, page);
      andNot(touch.result, touch.occupied);
      touch.reason = reason;
    },
  });
  device = manager.addDevice(deviceOf(2)).processor;
  first = allocateIn(manager, 3 * BLOCK);
});

/** Touches a page of a block, and with it comes what lies at the step from it. */
function touch(block: number, page: number): void {
  touchIn(manager, device, first + block * BLOCK + page);
  manager.checkInvariants();
}

/** Which of the first pages of a block the device has. */
function has(block: number): boolean[] {
  return Array.from({ length: 4 }, (_, page) =>
    hasPage(manager, device, first + block * BLOCK + page),
  );
}

/** All of two blocks, by every second page, and half of the third one. */
function fill(): void {
  for (const block of [0, 1]) for (const page of [0, 1]) touch(block, page);
  touch(2, 0);
}

describe('a full memory', () => {
  it('gives up the pages beside those of a stride that came later', () => {
    fill();
    expect(has(0)).toEqual([false, true, false, true]);
    expect(has(1)).toEqual([true, true, true, true]);
    expect(has(2)).toEqual([true, false, true, false]);
  });

  it('gives up those of the next block where it needs more', () => {
    fill();
    touch(2, 1);
    expect(has(0)).toEqual([false, true, false, true]);
    expect(has(1)).toEqual([false, true, false, true]);
    expect(has(2)).toEqual([true, true, true, true]);
  });

  it('keeps a page that has come again', () => {
    fill();
    touch(0, 0);
    expect(has(0)[0]).toBe(true);
    touch(2, 1);
    expect(has(0)).toEqual([true, false, true, false]);
  });

  it('gives up the whole block where its pages came for another reason', () => {
    reason = 'near';
    fill();
    expect(has(0)).toEqual([false, false, false, false]);
    expect(has(1)).toEqual([true, true, true, true]);
  });

  it('gives up the whole block where fewer pages than 64 KiB were passed', () => {
    step = (BLOCK / GROUP) * 2;
    touch(0, 0);
    touch(0, 1);
    step = 1;
    touch(1, 0);
    touch(2, 0);
    expect(has(0)).toEqual([false, false, false, false]);
    expect(has(1)).toEqual([true, true, true, true]);
  });
});
