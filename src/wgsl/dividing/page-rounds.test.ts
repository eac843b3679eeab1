import { expect, test } from 'vitest';
import { PageMemory } from './page-memory.js';
import { FIRST_INVOCATION, type PageCopy, PageRounds, WRITTEN } from './page-rounds.js';
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

interface Played {
  readonly rounds: number;
  readonly copied: number;
  readonly home: number;
  /** Invocations that ran, in all rounds together. */
  readonly runs: number;
  /** By page: how often it was written. */
  readonly counts: Int32Array;
}

/**
 * Invocations that read page after page; which one comes next they know when they have read the one
 * before, or from the beginning (`knowsAll`). Then each adds to what it may write.
 */
function play(
  chains: readonly (readonly number[])[],
  pages: number,
  frames: number,
  isWritten: (page: number) => boolean = () => false,
  knowsAll = false,
  memory: PageMemory | null = null,
): Played | string {
  const array = { name: 'table', bytes: pages * 64, stride: 4 };
  const tables = pageTables([array], (frames + 1) * 64, SIZES) as never;
  const rounds = new PageRounds(tables, 'invocation', memory);
  const done = new Set<number>();
  const pool = new Int32Array(frames + 1).fill(-1);
  const counts = new Int32Array(pages);
  const poolCounts = new Int32Array(frames + 1);
  let copied = 0;
  let home = 0;
  let runs = 0;
  const eachPage = (
    { place, bytes, frame }: PageCopy,
    action: (page: number, frame: number) => void,
  ): void => {
    for (let at = 0; at < bytes; at += 64) action((place + at) / 64, (frame + at) / 64);
  };
  const bring = (copies: readonly PageCopy[]): void => {
    for (const each of copies) {
      copied += each.bytes / 64;
      eachPage(each, (page, frame) => {
        if (frame === 0) throw new Error('the frame of zeros was written');
        pool[frame] = page;
        poolCounts[frame] = counts[page] as number;
      });
    }
  };
  const { notes: notesAll } = rounds.tables[0] as { notes: boolean };
  bring(rounds.begin(0));
  for (;;) {
    const notes = new Uint32Array(rounds.entries.length);
    for (const [lane, chain] of chains.entries()) {
      if (done.has(lane) || lane >= rounds.limit) continue;
      runs++;
      let absent = false;
      for (const page of chain) {
        const entry = rounds.entries[page] as number;
        if (entry === 0 || notesAll)
          notes[page] = Math.max(notes[page] as number, FIRST_INVOCATION - lane);
        if (entry === 0) absent = true;
        if (absent && !knowsAll) break;
        if (entry !== 0 && pool[entry / 16] !== page)
          throw new Error(`page ${page} is not in its frame`);
      }
      if (absent) continue;
      done.add(lane);
      for (const page of chain.filter(isWritten)) {
        notes[page] = ((notes[page] as number) | WRITTEN) >>> 0;
        (poolCounts[(rounds.entries[page] as number) / 16] as number)++;
      }
    }
    const next = rounds.advance(notes, chains.length);
    for (const each of next.homes) {
      home += each.bytes / 64;
      eachPage(each, (page, frame) => {
        if (pool[frame] !== page || !isWritten(page))
          throw new Error(`page ${page} is not to go home`);
        counts[page] = poolCounts[frame] as number;
      });
    }
    if (next.end === 'done') {
      expect(done.size).toBe(chains.length);
      return { rounds: rounds.rounds, copied, home, runs, counts };
    }
    if (next.end !== null) return next.end.refused;
    bring(next.copies);
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
    const chains = Array.from({ length: lanes }, () =>
      Array.from({ length: 1 + random(most) }, () => random(pages)),
    );
    expect(play(chains, pages, frames), `seed ${seed}`).toBeTypeOf('object');
  }
});

test('what is written is home at the end, once for each time, and nothing else goes there', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = chance(seed);
    const pages = 8 + random(60);
    const frames = 4 + random(12);
    const chains = Array.from({ length: 1 + random(80) }, () =>
      Array.from({ length: 1 + random(4) }, () => random(pages)),
    );
    const isWritten = (page: number) => page % 3 > 0;
    const { counts, home } = play(chains, pages, frames, isWritten) as Played;
    const expected = new Int32Array(pages);
    for (const page of chains.flat().filter(isWritten)) (expected[page] as number)++;
    expect(counts, `seed ${seed}`).toEqual(expected);
    expect(home).toBeGreaterThanOrEqual(expected.filter((each) => each > 0).length);
  }
});

test('what is not written makes room first', () => {
  const chains = Array.from({ length: 16 }, (_, lane) => (lane < 2 ? [0] : [lane]));
  expect(play(chains, 16, 2, (page) => page === 0)).toMatchObject({ home: 1 });
});

test('a page that everybody touches comes once, and in one round with others', () => {
  const chains = Array.from({ length: 64 }, (_, lane) => [0, 1 + (lane % 32)]);
  const played = play(chains, 1000, 40) as { rounds: number; copied: number };
  expect(played.rounds).toBe(3);
  expect(played.copied).toBeLessThanOrEqual(40);
});

test('where each page is of few neighbours, those run that have theirs, and as many behind them', () => {
  // Ten neighbours have the same eight pages, as in a loop with a large stride.
  const chains = Array.from({ length: 640 }, (_, lane) =>
    Array.from({ length: 8 }, (_, at) => at * 64 + Math.floor(lane / 10)),
  );
  const { copied, runs } = play(chains, 512, 32, () => false, true) as Played;
  expect(copied).toBe(512);
  // All would run ten times on average, half of them in vain.
  expect(runs).toBeLessThan(5 * 640);
});

test('where each invocation touches any page, all run, so that the rounds stay few', () => {
  const random = chance(5);
  const chains = Array.from({ length: 4000 }, () => [random(400)]);
  expect((play(chains, 400, 100) as Played).rounds).toBeLessThan(10);
});

test('what changes from neighbours to any page is seen after some rounds', () => {
  const random = chance(7);
  const chains = Array.from({ length: 8000 }, (_, lane) => [
    lane < 2000 ? Math.floor(lane / 10) : random(400),
  ]);
  expect((play(chains, 400, 20, () => false, true) as Played).rounds).toBeLessThan(80);
});

test('an invocation that needs more than there is room for is refused, which says no more than that it is more', () => {
  const chain = Array.from({ length: 9 }, (_, at) => at * 20);
  expect(play([chain], 200, 4)).toMatch(
    /^a single invocation touches more than the 4 pages of 'table', of 64 bytes each, that there is room for;/,
  );
});

function roundsOf(pages: number, frames: number): PageRounds {
  const tables = pageTables(
    [{ name: 'table', bytes: pages * 64, stride: 4 }],
    (frames + 1) * 64,
    SIZES,
  );
  return new PageRounds(tables as never);
}

/** What is noted where the first invocation touches these pages. */
function notedOf({ entries }: PageRounds, ...pages: number[]): Uint32Array {
  const noted = new Uint32Array(entries.length + 1);
  for (const page of pages) noted[page] = FIRST_INVOCATION;
  return noted;
}

test('an invocation is to blame for its pages when they are too many twice, one round after the other', () => {
  const rounds = roundsOf(10, 2);
  for (const pages of [
    [0, 1, 2],
    [0, 1, 2],
    [1, 2],
    [1, 2, 3],
  ])
    expect(rounds.advance(notedOf(rounds, ...pages), 1).end).toBeNull();
  expect(rounds.advance(notedOf(rounds, 1, 2, 3), 1).end).toHaveProperty('refused');
});

test('a log that is full ends the launch, with what was written home', () => {
  const rounds = roundsOf(10, 2);
  rounds.advance(notedOf(rounds, 4), 1);
  const noted = notedOf(rounds, 5);
  noted[4] = WRITTEN;
  noted[rounds.entries.length] = 127;
  const { homes, end } = rounds.advance(noted, 1);
  expect(homes).toMatchObject([{ place: 4 * 64, bytes: 64 }]);
  expect(end).toHaveProperty(
    'refused',
    expect.stringMatching(/^a single invocation uses more than 127 results/),
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

const never = (): boolean => false;

/** What a launch takes, and what those after it take that remember it. */
function repeated(
  chains: readonly (readonly number[])[],
  pages: number,
  frames: number,
  isWritten: (page: number) => boolean = never,
): Played[] {
  const memory = new PageMemory();
  return [1, 2, 3].map(() => {
    const played = play(chains, pages, frames, isWritten, false, memory);
    if (typeof played === 'string') throw new Error(played);
    return played;
  });
}

/** Pages that lead to each other, in no order. */
const scattered = Array.from({ length: 40 }, (_, lane) =>
  Array.from({ length: 5 }, (_, at) => (lane * 37 + at * 211) % 400),
);

test('a launch that is repeated has at once what it touched before, as far as there is room', () => {
  const [first, second, third] = repeated(scattered, 400, 400);
  expect(first?.rounds).toBeGreaterThanOrEqual(5);
  expect([second?.rounds, third?.rounds]).toEqual([1, 1]);
  expect(second?.copied).toBeLessThanOrEqual(first?.copied as number);
});

test('with less room it has what comes next while it goes on, and writes what it wrote', () => {
  const chains = Array.from({ length: 60 }, (_, lane) => [3 * lane, 3 * lane + 2, 3 * lane + 4]);
  const [first, second, third] = repeated(chains, 200, 40, (page) => page % 2 === 0);
  expect(second?.rounds).toBeLessThan(0.7 * (first?.rounds as number));
  expect(third?.rounds).toBe(second?.rounds);
  expect(second?.counts).toEqual(first?.counts);
});

test('what is remembered and no longer touched does no harm', () => {
  const memory = new PageMemory();
  play(scattered, 400, 20, never, false, memory);
  const other = scattered.map((chain) => chain.map((page) => (page + 13) % 400));
  expect(play(other, 400, 20, never, false, memory)).toBeTypeOf('object');
  for (let seed = 1; seed <= 40; seed++) {
    const random = chance(seed);
    const chains = Array.from({ length: 1 + random(60) }, () =>
      Array.from({ length: 1 + random(6) }, () => random(64)),
    );
    const own = new PageMemory();
    for (const moved of [0, 0, random(64)]) {
      const shifted = chains.map((chain) => chain.map((page) => (page + moved) % 64));
      const played = play(shifted, 64, 6 + random(20), (page) => page % 3 === 0, false, own);
      expect(played, `seed ${seed}`).toBeTypeOf('object');
    }
  }
});

test('neighbours that are lacking one after the other come together by and by', () => {
  const all = Array.from({ length: 64 }, (_, page) => page);
  const played = play([all], 64, 64);
  if (typeof played === 'string') throw new Error(played);
  expect(played.rounds).toBeLessThan(20);
  expect(played.copied).toBe(64);
});
