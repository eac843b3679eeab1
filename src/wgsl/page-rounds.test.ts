import { expect, test } from 'vitest';
import { PageRounds } from './page-rounds.js';
import { pageTables } from './page-tables.js';

const SIZES = { pageBytes: 64, mostPages: 1024, alignment: 64 };

/** Numbers that are the same in every run. */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Invocations that read page after page; which one comes next they know when they have read the one before. */
function play(
  chains: readonly (readonly number[])[],
  pages: number,
  frames: number,
): { rounds: number; copied: number } | string {
  const array = { name: 'table', bytes: pages * 64, stride: 4 };
  const rounds = new PageRounds(pageTables([array], (frames + 1) * 64, SIZES) as never);
  const done = new Set<number>();
  const pool = new Int32Array(frames + 1).fill(-1);
  let copied = 0;
  for (;;) {
    const notes = new Uint32Array(rounds.entries.length);
    for (const [lane, chain] of chains.entries()) {
      if (done.has(lane)) continue;
      let absent = false;
      for (const page of chain) {
        notes[page] = Math.max(notes[page] as number, ~lane >>> 0);
        const entry = rounds.entries[page] as number;
        absent = entry === 0;
        if (absent) break;
        if (pool[entry / 16] !== page) throw new Error(`page ${page} is not in its frame`);
      }
      if (!absent) done.add(lane);
    }
    const next = rounds.advance(notes);
    if (next.kind === 'refused') return next.reason;
    if (next.kind === 'done') {
      expect(done.size).toBe(chains.length);
      return { rounds: rounds.rounds, copied };
    }
    for (const { from, bytes, to } of next.copies) {
      copied += bytes / 64;
      for (let at = 0; at < bytes; at += 64) {
        if (to + at === 0) throw new Error('the frame of zeros was written');
        pool[(to + at) / 64] = (from + at) / 64;
      }
    }
    if (rounds.rounds > 20_000) throw new Error('no end');
  }
}

test('whatever pages invocations touch, each ends if there is room for its own', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = chance(seed);
    const pages = 8 + random(60);
    const frames = 2 + random(12);
    const lanes = 1 + random(80);
    const most = Math.min(frames, 6);
    const chains = Array.from({ length: lanes }, () => Array.from({ length: 1 + random(most) }, () => random(pages)));
    expect(play(chains, pages, frames), `seed ${seed}`).toBeTypeOf('object');
  }
});

test('a page that everybody touches comes once, and in one round with others', () => {
  const chains = Array.from({ length: 64 }, (_, lane) => [0, 1 + (lane % 32)]);
  const played = play(chains, 1000, 40) as { rounds: number; copied: number };
  expect(played.rounds).toBe(3);
  expect(played.copied).toBeLessThanOrEqual(40);
});

test('an invocation that needs more than there is room for is refused', () => {
  const chain = Array.from({ length: 5 }, (_, at) => at * 20);
  expect(play([chain], 200, 4)).toMatch(
    /^a single invocation touches 5 pages of 'table', of 64 bytes each, and there is room for 4;/,
  );
});

test('arrays share what memory there is: small ones are there as a whole', () => {
  const [small, large, larger] = pageTables(
    [
      { name: 'small', bytes: 256, stride: 4 },
      { name: 'large', bytes: 1 << 16, stride: 16 },
      { name: 'larger', bytes: 1 << 20, stride: 12 },
    ],
    1 << 14,
    SIZES,
  ) as never as {
    frames: number;
    pages: number;
    notes: boolean;
    poolBytes: number;
    pageBytes: number;
    offset: number;
  }[];
  expect(small).toMatchObject({ frames: 4, pages: 4, notes: false, poolBytes: 320, offset: 0 });
  expect(large).toMatchObject({ notes: true, offset: 320 });
  expect(larger?.pageBytes).toBe(12 * 128);
  expect((larger?.offset ?? 0) + (larger?.poolBytes ?? 0)).toBeLessThanOrEqual(1 << 14);
  expect(pageTables([{ name: 'a', bytes: 4096, stride: 4 }], 64, SIZES)).toBeNull();
});
