import { describe, expect, it } from 'vitest';
import { PAGES_PER_BLOCK as BLOCK, type Reason, Status } from '../../core/basics/types.js';
import type { Entry } from '../../core/recording/recording.js';
import { Collector } from '../recording/history.js';
import { type PageStory, type StoryLine, storyOf } from './page-story.js';

const HOST = 0;
const GPU = 1;

/** An array of four blocks, which the host has. */
class Run {
  private readonly collector = new Collector();
  private now = 0;

  constructor() {
    const named = (id: number, name: string) => ({ id, name });
    this.collector.reader.begin(
      {
        memories: [named(HOST, 'host'), named(GPU, 'gpu')].map((each) => ({
          ...each,
          budgetPages: 8 * BLOCK,
        })),
        processors: [
          { ...named(HOST, 'host'), memory: HOST },
          { ...named(GPU, 'gpu'), memory: GPU },
        ],
        arrays: [
          { ...named(0, 'a'), first: 0, pages: 4 * BLOCK, reserved: 4 * BLOCK, elementBytes: 4 },
        ],
        ...{ held: [[HOST, 0, 4 * BLOCK]], coming: [], launches: [], rule: 'lru' },
      },
      0,
    );
  }

  read(...entry: unknown[]): this {
    this.collector.reader.read(entry as unknown as Entry, ++this.now);
    return this;
  }

  fault(page: number, write = false): this {
    return this.read('!', 'fault', GPU, page, write);
  }

  bring(page: number, count: number, reason: Reason | null = null): this {
    const transfer = { token: 1, node: GPU, source: HOST, page, count, reason };
    return this.read('>', 'transfer', [transfer], Status.Done);
  }

  leave(page: number, count: number): this {
    return this.read('>', 'release', [2, GPU, page, count], Status.Done);
  }

  story(page: number): PageStory {
    return storyOf(this.collector.history, page);
  }

  lines(page: number): readonly StoryLine[] {
    return storyOf(this.collector.history, page).lines;
  }
}

describe('a page that came ahead', () => {
  const ahead = (): Run => new Run().fault(0).bring(BLOCK, BLOCK, 'walk');

  it('was not used where nothing entered it before it left', () => {
    const [line] = ahead()
      .fault(9)
      .leave(BLOCK, BLOCK)
      .lines(BLOCK + 7);
    expect(line.isUsed).toBe(false);
    expect(line.text).toMatch(/\(walk: it walks\); it came unasked, and was not used$/);
  });

  it('was used where a fault entered it', () => {
    const [line] = ahead()
      .fault(BLOCK + 3)
      .lines(BLOCK + 7);
    expect(line.isUsed).toBe(true);
  });
});

it('a page that came with a touched one is told by the guess, and whether it was used is not known', () => {
  const run = new Run().fault(3).bring(0, 16, 'near');
  const [line] = run.lines(7);
  expect(line.isUsed).toBe(null);
  expect(line.text).toMatch(/near: .*; it came unasked, and nothing tells whether it was used$/);
  expect(run.lines(3)[0].text).toMatch(/\(near: with its neighbourhood\)$/);
});

it('a prefetched page was used where a launch had its array', () => {
  const run = new Run().read('!', 'acquire', 1, GPU, 0, BLOCK, 0, { exclusive: false });
  run.bring(0, BLOCK);
  expect(run.lines(5)[0].text).toMatch(/; no launch there used its array$/);
  run.read('!', 'launchBegin', 7, GPU, [{ name: 'a', use: 'in' }], 'k');
  expect(run.lines(5)[0].text).toMatch(/; a launch there used its array$/);
});

it('an eviction is told with its rule, its bytes, and when it was regretted', () => {
  const run = new Run().fault(0).bring(0, BLOCK).fault(BLOCK).leave(0, BLOCK).fault(0);
  const [came, left] = run.bring(0, BLOCK).lines(9);
  const { memory, why, sake, bytes, regrettedAfterMs } = left;
  expect([memory, why, sake, bytes, regrettedAfterMs]).toEqual([
    ...['gpu', 'evicted', 'a', 2 ** 21, 2],
  ]);
  expect([came.why, came.launch, came.tookMs]).toEqual(['touch', null, 0]);
  expect(left.text).toBe(
    'was evicted from gpu by lru (2 MiB) to make room for a read of a[524288] by gpu; ' +
      'it was needed again 2.0 ms and 1 fault later',
  );
});

describe('a copy that another processor got to write to', () => {
  it('may be old', () => {
    const { memories, outdated, now } = new Run().fault(3, true).bring(0, 16).story(3);
    expect([memories, outdated]).toEqual([['host', 'gpu'], ['host']]);
    expect(now).toMatch(/The copy in host may be old: another processor got it to write to it\.$/);
  });

  it('may be old where it was read first and written then', () => {
    const run = new Run().fault(3).bring(0, 16);
    expect(run.story(3).outdated).toEqual([]);
    expect(run.fault(3, true).story(3).outdated).toEqual(['host']);
  });
});
