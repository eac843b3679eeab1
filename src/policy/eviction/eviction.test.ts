/** What tells the published algorithms apart: the patterns that their papers are about. */
import { describe, expect, it } from 'vitest';
import { type BlockTrace, blockTrace } from '../../sim/block-trace.js';
import { minMisses } from '../../sim/min.js';
import { missesOf } from '../../sim/play-blocks.js';
import { EVICTION_POLICIES, type EvictionName } from './named.js';
import { s3Fifo } from './s3-fifo.js';
import { type S4FifoOptions, s4Fifo } from './s4-fifo.js';

const ROOM = 80;

/** Misses over those of the optimum. */
function overMin(name: EvictionName, trace: BlockTrace): number {
  return missesOf(EVICTION_POLICIES[name](), trace, ROOM) / minMisses(trace, ROOM);
}

function* loop(blocks: number, rounds: number): Iterable<number> {
  for (let at = 0; at < blocks * rounds; at++) yield at % blocks;
}

/** A hot set that is used again and again, while three times as much passes by. */
function* hotAndScan(): Iterable<number> {
  for (let at = 0; at < 20_000; at++) yield at % 4 === 0 ? ((at / 4) * 7) % 60 : 1000 + at;
}

/** Recency alone tells: each block is used a few times, close together. */
function* drift(): Iterable<number> {
  for (let at = 0; at < 20_000; at++) yield Math.floor(at / 10) + ((at * 31) % 70);
}

describe('eviction policies', () => {
  it('a loop over more than the room: lists by recency and age miss always', () => {
    const trace = blockTrace(loop(100, 50));
    for (const name of ['lru', 'fifo', 'clock', 'sieve', 'arc'] as const) {
      expect(missesOf(EVICTION_POLICIES[name](), trace, ROOM)).toBe(trace.blocks.length);
    }
  });

  it('a loop over more than the room: LIRS, W-TinyLFU and those that notice it keep a part', () => {
    const trace = blockTrace(loop(100, 50));
    const bars = { lirs: 1.8, 'w-tinylfu': 1.7, tournament: 1.8 } as const;
    for (const [name, most] of Object.entries(bars))
      expect(overMin(name as EvictionName, trace), name).toBeLessThan(most);
  });

  it('a scan beside a hot set: LIRS, W-TinyLFU and the tournament keep the hot set', () => {
    const trace = blockTrace(hotAndScan());
    for (const name of ['lirs', 'w-tinylfu', 'tournament'] as const)
      expect(overMin(name, trace), name).toBeLessThan(1.05);
    expect(overMin('lru', trace)).toBeGreaterThan(1.3);
  });

  it('a working set that drifts: the tournament stays with recency, where LIRS pays for it', () => {
    const trace = blockTrace(drift());
    const lru = overMin('lru', trace);
    expect(overMin('tournament', trace)).toBeLessThan(lru * 1.05);
  });
});

/** The parameters with which S4-FIFO is S3-FIFO. */
const AS_S3: S4FifoOptions = {
  smallShare: 0.1,
  ghostShare: 0.9,
  skipShare: 0,
  smallToMain: 2,
  ghostToMain: 0,
};

describe('S4-FIFO', () => {
  /** Misses with these parameters beside those of S3-FIFO. */
  function beside(blocks: Iterable<number>, options: S4FifoOptions): [number, number] {
    const trace = blockTrace(blocks);
    const misses = missesOf(s4Fifo({ ...AS_S3, ...options }), trace, ROOM);
    return [misses, missesOf(s3Fifo(), trace, ROOM)];
  }

  it('is S3-FIFO with its parameters', () => {
    const [misses, s3] = beside(hotAndScan(), {});
    expect(misses).toBe(s3);
  });

  it('does not take uses soon after a block came for a reason to keep it', () => {
    // A scan uses each block three times, with one block in between, and a hot set goes on.
    function* bursts(): Iterable<number> {
      for (let at = 0; at < 20_000; at++) {
        yield 1000 + at;
        yield 1000 + at - 1;
        yield 1000 + at;
        yield (at * 7) % 60;
        yield 1000 + at - 1;
      }
    }
    const [misses, s3] = beside(bursts(), { skipShare: 0.9 });
    expect(misses).toBeLessThan(s3 * 0.95);
  });

  it('lets a block come back twice before the main queue takes it, if told to', () => {
    function kept(ghostToMain: number): boolean {
      const policy = s4Fifo({ ...AS_S3, ghostToMain });
      const come = (block: number): void => policy.activate(block, 512);
      for (let block = 0; block < 10; block++) come(block);
      for (const block of [0, 1]) {
        expect(policy.evict(() => true)).toBe(block);
        policy.deactivate(block);
      }
      come(0);
      come(20);
      // What is in the small queue goes by age, before the main one.
      return policy.evict((block) => block === 0 || block === 20) === 20;
    }
    expect(kept(0)).toBe(true);
    expect(kept(1)).toBe(false);
  });

  it('refuses parameters beyond the ranges of the paper', () => {
    expect(() => s4Fifo({ smallShare: 0.95 })).toThrow(
      'smallShare of s4Fifo() is a number from 0 to 0.9, not 0.95',
    );
    expect(() => s4Fifo({ share: 1 } as never)).toThrow('s4Fifo() has no option share');
  });
});
