import { describe, expect, it } from 'vitest';
import { firstBudget, isShort, type MemoryReadings, nextBudget } from './host-budget.js';

const MIB = 2 ** 20;
const GIB = 2 ** 30;

/**
 * A machine of 4 GiB, whose slack is 256 MiB, with no other program that wants memory; sizes in
 * MiB.
 */
const CALM = {
  limit: 4096,
  available: 2048,
  promised: 0,
  own: 1024,
  least: 0,
  stalled: 0,
  calmMs: 60_000,
};
const seen = (change: Partial<typeof CALM>): MemoryReadings => {
  const { limit, available, promised, own, least, stalled, calmMs } = { ...CALM, ...change };
  const memory = { limit: limit * MIB, available: available * MIB, promised: promised * MIB };
  return { ...memory, own: own * MIB, least: least * MIB, stalled, calmMs };
};

describe('nextBudget', () => {
  const cases: [what: string, budget: number, change: Partial<typeof CALM>, next: number][] = [
    ['stays where what is left is what it has', 2816, {}, 2816],
    ['takes what others have left, a little at a time', 1024, {}, 1152],
    [
      'does not take more than the limit less what others should find',
      3716,
      { available: 4096 },
      3840,
    ],
    ['takes nothing back for some seconds', 1024, { calmMs: 4999 }, 1024],
    ['takes nothing while a thread stands still now and then', 1024, { stalled: 0.02 }, 1024],
    ['does not grow by what is not worth it', 2784, {}, 2784],
    ['leaves what devices have been promised', 2816, { promised: 1024 }, 1792],
    ['gives up what others take, at once', 2816, { available: 1024 }, 1792],
    ['does not move for a little', 2816, { available: 1984 }, 2816],
    ['gives up what it has where there is nothing left', 2816, { available: 0 }, 768],
    [
      'gives up an eighth where threads stand still, whatever seems to be left',
      1024,
      { stalled: 0.1 },
      896,
    ],
    [
      'keeps what arrays and pins must be able to have',
      2816,
      { available: 0, own: 0, least: 701 },
      702,
    ],
    ['keeps what threads need to get on', 64, { available: 0, own: 0 }, 32],
    ['keeps that in a group that is smaller, too', 64, { limit: 32, available: 4, own: 4 }, 32],
    [
      'is held against a limit that was lowered',
      2816,
      { limit: 1024, available: 0, own: 1024 },
      960,
    ],
  ];
  for (const [what, budget, change, next] of cases) {
    it(what, () => expect(nextBudget(budget * MIB, seen(change)) / MIB).toBe(next));
  }

  it('comes to rest, and does not swing between two sizes, while arrays fill what it gives them', () => {
    // Others have 1 GiB of 4, and arrays have all that they may.
    let budget = 512 * MIB;
    const sizes: number[] = [];
    for (let look = 0; look < 100; look++) {
      budget = nextBudget(budget, seen({ own: budget / MIB, available: 3072 - budget / MIB }));
      sizes.push(budget / MIB);
    }
    expect(sizes.at(-1)).toBeGreaterThan(2700);
    expect(sizes.at(-1)).toBeLessThanOrEqual(2816);
    expect(sizes).toEqual([...sizes].sort((a, b) => a - b));
  });
});

describe('isShort', () => {
  it('is so where others find less than three quarters of the slack', () => {
    expect(isShort(seen({ available: 191 }))).toBe(true);
    expect(isShort(seen({ available: 192 }))).toBe(false);
  });
});

describe('firstBudget', () => {
  const none = { processes: 0, bytes: 0 };
  const one = { processes: 1, bytes: 64 * MIB };

  it('is a share of the limit where much is available', () => {
    expect(firstBudget(4 * GIB, 4 * GIB, none)).toBe(2866 * MIB);
  });

  it('is what is available less what the space, its devices and others take', () => {
    expect(firstBudget(4 * GIB, 2 * GIB, none)).toBe(2 * GIB - 256 * MIB - 64 * MIB);
    expect(firstBudget(512 * MIB, 480 * MIB, one)).toBe((480 - 64 - 32 - 64 - 32) * MIB);
    expect(firstBudget(512 * MIB, 480 * MIB, { processes: 2, bytes: 128 * MIB })).toBe(
      (480 - 64 - 64 - 128 - 32) * MIB,
    );
  });

  it('is nothing where these have no room', () => {
    expect(firstBudget(128 * MIB, 96 * MIB, one)).toBe(0);
  });
});
