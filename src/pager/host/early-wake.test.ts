import { describe, expect, test } from 'vitest';
import type { PageQueries } from '../../core/page-queries.js';
import { EarlyWake } from './early-wake.js';

const PAGE = 7;
const THREAD = 1;

/** A disk that takes so long for a page, and a thread that is on its way for so long, in milliseconds. */
class Machine {
  time = 0;
  private readonly awaited = new Set<number>();
  private readonly early = new EarlyWake(
    { isAwaited: (_: number, page: number) => this.awaited.has(page) } as unknown as PageQueries,
    () => this.time,
  );

  constructor(
    private readonly readMs: number,
    private readonly wayMs: number,
  ) {}

  /** Has the thread touch a page. Returns how long after the page it goes on, and whether it was woken, and came, before. */
  touch(page = PAGE): { lateMs: number; woken: boolean; early: boolean } {
    const { early } = this;
    expect(early.faulted(page, THREAD)).toBe(false);
    this.awaited.add(page);
    early.begun(this.time);
    const there = this.time + this.readMs;
    let comes = Number.POSITIVE_INFINITY;
    let [woken, cameEarly] = [false, false];
    for (; this.time < there; this.time += 0.001) {
      if (early.due(this.time) === page) {
        woken = true;
        comes = this.time + this.wayMs;
      }
      if (this.time < comes) continue;
      cameEarly = early.faulted(page, THREAD);
      comes = Number.POSITIVE_INFINITY;
    }
    this.awaited.delete(page);
    early.ended(this.time);
    const runs = Math.min(comes, this.time + this.wayMs);
    const lateMs = runs - this.time;
    this.time = runs + 0.005;
    return { lateMs, woken, early: cameEarly };
  }

  touches(count: number): { lateMs: number; woken: number; early: number } {
    const all = Array.from({ length: count }, (_, index) => this.touch(index));
    const part = (is: (each: (typeof all)[0]) => boolean): number => all.filter(is).length / count;
    return {
      lateMs: all.reduce((sum, each) => sum + each.lateMs, 0) / count,
      woken: part(({ woken }) => woken),
      early: part(({ early }) => early),
    };
  }
}

describe('early wake-ups', () => {
  test('a thread whose way is long runs soon after its page is there', () => {
    const machine = new Machine(0.06, 0.025);
    machine.touches(200);
    const { lateMs, woken } = machine.touches(1000);
    expect(woken).toBe(1);
    expect(lateMs).toBeLessThan(0.006);
  });

  test('the way is learned: a thread comes too early only where that is tried', () => {
    const machine = new Machine(0.08, 0.02);
    machine.touches(200);
    const { lateMs, early } = machine.touches(1280);
    expect(early).toBeLessThan(0.1);
    expect(lateMs).toBeLessThan(0.006);
  });

  test('a thread that comes at once is woken early only where that is tried', () => {
    const machine = new Machine(0.06, 0.01);
    machine.touches(200);
    expect(machine.touches(1280).woken).toBeCloseTo(1 / 64, 2);
  });

  test('a read that is no longer than the way has its thread woken at once', () => {
    const machine = new Machine(0.02, 0.04);
    machine.touches(200);
    expect(machine.touches(1000).lateMs).toBeLessThan(0.023);
  });
});

describe('a fault', () => {
  const awaited = { isAwaited: () => true } as unknown as PageQueries;

  function woken(known = awaited): EarlyWake {
    const early = new EarlyWake(known, () => 1);
    early.faulted(PAGE, THREAD);
    early.begun(1);
    expect(early.due(2)).toBe(PAGE);
    return early;
  }

  test('of the thread that was woken is not told again, once', () => {
    const early = woken();
    expect(early.faulted(PAGE, THREAD)).toBe(true);
    expect(early.faulted(PAGE, THREAD)).toBe(false);
  });

  test('of another thread, or at another page, is one', () => {
    expect(woken().faulted(PAGE, THREAD + 1)).toBe(false);
    expect(woken().faulted(PAGE + 1, THREAD)).toBe(false);
  });

  test('at the same page is one when the page has been given', () => {
    const early = woken({ isAwaited: () => false } as unknown as PageQueries);
    expect(early.faulted(PAGE, THREAD)).toBe(false);
  });

  test('is one when the read has ended', () => {
    const early = woken();
    early.ended(3);
    expect(early.faulted(PAGE, THREAD)).toBe(false);
  });

  test('that no read followed wakes nobody when another one begins', () => {
    const early = new EarlyWake(awaited, () => 1);
    early.faulted(PAGE, THREAD);
    early.begun(1);
    early.ended(2);
    early.begun(3);
    expect(early.due(9)).toBe(-1);
  });
});
