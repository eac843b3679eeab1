import { beforeEach, describe, expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import { add } from '../basics/mask.js';
import {
  PAGES_PER_BLOCK as BLOCK,
  type PrefetchPolicy,
  type ProcessorId,
  type Reason,
  Status,
  type Transfer,
} from '../basics/types.js';
import type { OpenManager } from '../test-manager.js';
import { allocateIn, commandsThat, deviceOf, hostOf, managerOf } from '../test-parts.js';

describe('pages that come with a touch', () => {
  let manager: OpenManager;
  let device: ProcessorId;
  let first: number;
  let reason: Reason;
  let count: number;
  let moved: [page: number, urgent: boolean][];

  /** So many pages, three apart, from the touch on. */
  const some: PrefetchPolicy = (touch) => {
    touch.reason = reason;
    for (let each = 0; each < count; each++) add(touch.result, touch.page + 3 * each);
  };

  beforeEach(() => {
    reason = 'stride';
    count = 4;
    moved = [];
    const transfer = ({ page, urgent }: Transfer) => {
      moved.push([page - first, urgent]);
      return Status.Done;
    };
    const prefetch = () => some;
    manager = managerOf(hostOf(8), commandsThat({ transfer }), { ...namedPolicies({}), prefetch });
    device = manager.addDevice(deviceOf(4)).processor;
    first = allocateIn(manager, BLOCK);
    for (let page = 0; page < BLOCK; page++) manager.fault(0, first + page, true, 1);
    moved = [];
  });

  it('come before it where they are of a stride: its thread is about to touch them all', () => {
    manager.fault(device, first + 100, false, 1);
    expect(moved).toEqual([
      [103, true],
      [106, true],
      [109, true],
      [100, true],
    ]);
    manager.checkInvariants();
  });

  it('come behind it in all other cases, those of other chunks when there is time', () => {
    reason = 'near';
    count = 11;
    manager.fault(device, first + 100, false, 1);
    expect(moved.map(([page]) => page)).toEqual([
      100, 103, 106, 109, 112, 115, 118, 121, 124, 127, 130,
    ]);
    expect(moved.at(-1)).toEqual([130, false]);
  });

  it('come behind it where there are more than a piece of a copy has', () => {
    count = 65;
    manager.fault(device, first + 100, false, 1);
    expect(moved).toHaveLength(65);
    expect(moved[0]).toEqual([100, true]);
    manager.checkInvariants();
  });
});
