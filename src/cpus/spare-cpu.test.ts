import { describe, expect, test } from 'vitest';
import { SpareCpu } from './spare-cpu.js';

describe('a CPU is left for a thread of copies', () => {
  test.each([
    { running: 1, working: 0, left: true, when: 'the manager runs alone' },
    { running: 2, working: 0, left: false, when: 'another thread runs beside the manager' },
    { running: 2, working: 1, left: true, when: 'the other one is the thread of copies itself' },
    { running: 3, working: 1, left: false, when: 'a third one wants a CPU' },
    { running: 3, working: 2, left: true, when: 'the others are both threads of copies' },
    { running: 0, working: 0, left: false, when: 'it cannot be told' },
  ])('$left when $when', ({ running, working, left }) => {
    expect(new SpareCpu(2, () => running).isLeft(5, working)).toBe(left);
  });

  test('as many as there are CPUs but one', () => {
    expect(new SpareCpu(4, () => 3).isLeft(0, 0)).toBe(true);
    expect(new SpareCpu(4, () => 4).isLeft(0, 0)).toBe(false);
  });
});

/**
 * Asks every 10 us for so long; returns how often threads were counted, and the times at which the
 * answer became another one.
 */
function ask(spare: SpareCpu, from: number, ms: number): number[] {
  const changes: number[] = [];
  let before: boolean | null = null;
  for (let step = 0; step * 0.01 < ms; step++) {
    const left = spare.isLeft(from + step * 0.01, 0);
    if (before !== null && left !== before) changes.push(step * 0.01);
    before = left;
  }
  return changes;
}

describe('threads are counted', () => {
  test('again soon where one that asked for a copy still ran', () => {
    let running = 2;
    const spare = new SpareCpu(2, () => running--);
    expect(ask(spare, 100, 0.2)).toEqual([0.05]);
  });

  test('seldom while others want all CPUs, and soon again in the next copy', () => {
    let counts = 0;
    let running = 3;
    const spare = new SpareCpu(2, () => {
      counts++;
      return running;
    });
    expect(ask(spare, 100, 16)).toEqual([]);
    expect(counts).toBeLessThan(20);
    // The last copy is long over.
    ask(spare, 200, 0.01);
    running = 1;
    expect(ask(spare, 200.01, 1)).toEqual([expect.closeTo(0.05, 2)]);
  });

  test('five times a millisecond while a CPU is left, so that others are seen that come to want it', () => {
    let counts = 0;
    const spare = new SpareCpu(2, () => (counts++ < 10 ? 1 : 3));
    expect(ask(spare, 0, 5)).toEqual([expect.closeTo(2, 1)]);
  });
});
