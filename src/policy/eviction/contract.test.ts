/** What every eviction policy keeps to. A new policy joins by its line in named.ts. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blockTrace } from '../../sim/block-trace.js';
import { minMisses } from '../../sim/min.js';
import { missesOf } from '../../sim/play-blocks.js';
import { EVICTION_POLICIES } from './named.js';

const ROOM = 50;
const BLOCKS = 100;

function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const step = fc.record({
  what: fc.constantFrom('touch', 'touch', 'touch', 'free', 'evict one of', 'again'),
  block: fc.nat(40),
});

describe.each(Object.entries(EVICTION_POLICIES))('%s', (_, make) => {
  it('names only blocks that are there and may go, and any of them where no other may', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const policy = make();
        const there = new Set<number>();
        for (const { what, block } of steps) {
          if (what === 'free') {
            there.delete(block);
            policy.deactivate(block);
          } else if (what === 'evict one of') {
            expect(policy.evict((each) => each === block)).toBe(there.has(block) ? block : -1);
          } else if (what === 'again') {
            if (there.has(block)) policy.activate(block, 512);
          } else {
            if (!there.has(block) && there.size === 10) {
              const victim = policy.evict(() => true);
              expect(there.has(victim)).toBe(true);
              there.delete(victim);
              policy.deactivate(victim);
            }
            there.add(block);
            policy.activate(block, 512);
            policy.used(block);
          }
        }
        for (const block of there) expect(policy.evict((each) => each === block)).toBe(block);
        for (const block of there) policy.deactivate(block);
        expect(policy.evict(() => true)).toBe(-1);
      }),
    );
  });

  it('hits as often as there is room, where blocks are used at random', () => {
    const next = random(7);
    const keys = Array.from({ length: 100_000 }, () => Math.floor(next() * BLOCKS));
    const misses = missesOf(make(), blockTrace(keys), ROOM);
    expect(misses / keys.length).toBeGreaterThan(0.48);
    expect(misses / keys.length).toBeLessThan(0.52);
  });

  it('never misses less than the optimum, and only the first uses where all fits', () => {
    const next = random(3);
    const trace = blockTrace(Array.from({ length: 5000 }, () => Math.floor(next() ** 3 * BLOCKS)));
    const optimum = minMisses(trace, ROOM);
    expect(missesOf(make(), trace, ROOM)).toBeGreaterThanOrEqual(optimum);
    expect(missesOf(make(), trace, BLOCKS)).toBe(trace.distinct);
  });
});
