import { describe, expect, it } from 'vitest';
import type { Activity } from './activity.js';
import { bottleneckOf, type ManagerTimes } from './bottleneck.js';

/** A second of a run. */
function second(times: {
  disk?: number;
  copy?: number;
  launch?: number;
  faults?: number;
}): Activity {
  const { disk = 0, copy = 0, launch = 0, faults = 0 } = times;
  const processor = { name: 'gpu', faults, launches: 1, launchMs: launch, kernel: 'saxpy' };
  return {
    ...{ fromMs: 1000, toMs: 2000, diskMs: disk, copyMs: copy, memories: [], arrays: [] },
    processors: [{ ...processor, name: 'host', launchMs: 0, faults: 0 }, processor],
  };
}

const manager = (managerMs: number, copyMs = 0): ManagerTimes => ({ managerMs, copyMs });

describe('the bottleneck', () => {
  it('is the kernel where little else happens', () => {
    const { what, parts, text } = bottleneckOf(second({ launch: 900, copy: 100 }), manager(120));
    expect([what, text]).toEqual(['kernel', 'the kernel saxpy, 78 % of the time']);
    expect(parts.copy).toBeCloseTo(0.1);
    expect(parts.faults).toBeCloseTo(0.02);
  });

  it('is what a kernel waits for, and not the kernel', () => {
    expect(bottleneckOf(second({ launch: 1000, disk: 700 }), manager(20)).what).toBe('disk');
    expect(bottleneckOf(second({ launch: 1000, copy: 600 }), manager(610)).what).toBe('copy');
  });

  it('is the handling of faults where the manager works and copies little', () => {
    const { what, text } = bottleneckOf(second({ launch: 1000, faults: 12_345 }), manager(800, 50));
    expect([what, text]).toEqual([
      'faults',
      'fault handling: 12,345 faults a second, 75 % of the time',
    ]);
  });

  it('takes the larger of the copies that were seen and those that the program counts', () => {
    expect(bottleneckOf(second({ copy: 100 }), manager(400, 400)).parts.copy).toBeCloseTo(0.4);
  });

  it('is the program where nothing takes much', () => {
    const { what, text } = bottleneckOf(second({ launch: 100, copy: 50 }), manager(60));
    expect([what, text]).toEqual([
      'program',
      'the program itself: little moves, and no kernel runs',
    ]);
  });

  it('of a recording leaves the handling of faults out', () => {
    const { parts, what } = bottleneckOf(second({ copy: 300, faults: 5000 }), null);
    expect([what, parts.faults]).toEqual(['copy', 0]);
  });

  it('has no part above all of the time, nor below none', () => {
    const { parts } = bottleneckOf(second({ disk: 5000, copy: 2000, launch: 100 }), manager(10));
    expect(parts).toEqual({ disk: 1, copy: 1, faults: 0, kernel: 0 });
  });

  it('of no time at all is the program', () => {
    expect(bottleneckOf({ ...second({}), toMs: 1000 }, manager(0)).what).toBe('program');
  });
});
