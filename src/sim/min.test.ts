import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blockTrace } from './block-trace.js';
import { minMisses } from './min.js';

/** The fewest misses by trying every choice of a victim. */
function byTrying(keys: readonly number[], room: number): number {
  let states = new Map<string, number>([['', 0]]);
  for (const key of keys) {
    const next = new Map<string, number>();
    const reach = (here: readonly number[], misses: number): void => {
      const name = [...here].sort().join(' ');
      next.set(name, Math.min(next.get(name) ?? Number.POSITIVE_INFINITY, misses));
    };
    for (const [name, misses] of states) {
      const here = name === '' ? [] : name.split(' ').map(Number);
      if (here.includes(key)) reach(here, misses);
      else if (here.length < room) reach([...here, key], misses + 1);
      else
        for (const victim of here)
          reach([...here.filter((each) => each !== victim), key], misses + 1);
    }
    states = next;
  }
  return Math.min(...states.values());
}

describe('minMisses', () => {
  it('is what trying every victim finds', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(5), { maxLength: 14 }),
        fc.integer({ min: 1, max: 4 }),
        (keys, room) => {
          expect(minMisses(blockTrace(keys), room)).toBe(byTrying(keys, room));
        },
      ),
    );
  });

  it('misses (N - C) / (N - 1) of each pass over a loop', () => {
    const [blocks, room, rounds] = [101, 81, 400];
    const trace = blockTrace(Array.from({ length: blocks * rounds }, (_, at) => at % blocks));
    const steady = (minMisses(trace, room) - blocks) / (blocks * (rounds - 1));
    expect(steady).toBeCloseTo((blocks - room) / (blocks - 1), 2);
  });
});
