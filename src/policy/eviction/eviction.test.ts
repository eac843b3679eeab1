/** What tells the published algorithms apart: the patterns that their papers are about. */
import { describe, expect, it } from 'vitest';
import { type BlockTrace, blockTrace } from '../../sim/block-trace.js';
import { minMisses } from '../../sim/min.js';
import { missesOf } from '../../sim/play-blocks.js';
import { EVICTION_POLICIES, type EvictionName } from './named.js';

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
