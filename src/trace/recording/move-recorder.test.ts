import { describe, expect, it } from 'vitest';
import { HOST, NO_NODE, PAGE_BYTES, PAGES_PER_BLOCK, Status } from '../../core/basics/types.js';
import { MemoryManager } from '../../core/memory-manager.js';
import { type Entry, Recorder } from '../../core/recording/recording.js';
import { commandsThat, deviceOf, hostOf } from '../../core/test-parts.js';
import { namedPolicies } from '../../policy/choices.js';
import { ActivityWatcher } from '../activity/activity.js';
import { Collector, type History, readPlayed } from './history.js';
import { MoveRecorder, type MoveSink } from './move-recorder.js';
import { MoveRing } from './move-ring.js';
import { MovesText, readTexts } from './moves-text.js';

const BLOCKS = 16;
const POLICIES = namedPolicies({});

/** A device with room for two blocks that goes through an array of six; copies end later. */
class Run {
  time = 0;
  private readonly copies: number[] = [];
  private readonly recorder = new Recorder((entries) => {
    for (const entry of entries) {
      this.entries.push(JSON.parse(JSON.stringify(entry)) as Entry);
      this.timesMs.push(this.time);
    }
  });
  private readonly entries: Entry[] = [];
  private readonly timesMs: number[] = [];
  private readonly commands = this.recorder.commands(
    commandsThat({
      transfer: ({ token }) => {
        this.copies.push(token);
        return Status.Pending;
      },
    }),
  );
  private readonly manager = new MemoryManager(this.commands, POLICIES, BLOCKS);
  readonly moves = new MoveRecorder('test', this.manager, this.commands, 'lru', () => this.time);
  private readonly device: number;
  private readonly first: number;

  constructor() {
    this.recorder.events(this.manager);
    this.manager.addDevice(hostOf(8), NO_NODE);
    this.device = this.manager.addDevice(deviceOf(2)).processor;
    const options = { name: 'x', writable: true, provided: false, elementBytes: 8 };
    this.first = this.manager.allocate(6 * PAGES_PER_BLOCK, options)?.first ?? -1;
  }

  /** Touches each block once, by the host or the device. */
  walk(processor: 'host' | 'device', settled = true): void {
    for (let block = 0; block < 6; block++) {
      this.time++;
      const id = processor === 'host' ? HOST : this.device;
      this.manager.fault(id, this.first + block * PAGES_PER_BLOCK + block, true, 1);
      if (settled) this.settle();
    }
  }

  launch(): void {
    this.manager.launchBegin(5, this.device, [], 'look');
    this.time++;
  }

  settle(): void {
    for (let token = this.copies.shift(); token !== undefined; token = this.copies.shift())
      this.manager.transferred(token, Status.Done);
  }

  /** By memory, as the manager counts. */
  get usedBytes(): number[] {
    const { memories } = this.manager.pages.heldPages();
    return memories.map(({ backedPages }) => backedPages * PAGE_BYTES);
  }

  /** By the recording that can be played. */
  get played(): History {
    const collector = new Collector();
    readPlayed(collector.reader, this.entries, this.timesMs, POLICIES, BLOCKS);
    return collector.history;
  }
}

/** What a move is, without its cause's own fields of the recording. */
function movesOf(history: History): object[] {
  return history.moves.map(({ kind, atMs, memory, page, pages, cause, returned }) => ({
    kind,
    atMs,
    memory,
    page,
    pages,
    returned,
    cause: [cause.kind, cause.event, cause.page, cause.processor, cause.launch],
  }));
}

function historyOfText(texts: readonly string[], name: string): History {
  const collector = new Collector();
  readTexts(collector.reader, texts, name);
  return collector.history;
}

const read = (ring: MoveRing): History => historyOfText(ring.texts, 'test');

describe('a record of moves', () => {
  it('from the beginning on has the moves that a played recording has', () => {
    const run = new Run();
    const ring = new MoveRing(2 ** 24);
    run.moves.add(ring);
    for (const processor of ['host', 'device', 'device', 'host'] as const) run.walk(processor);
    const history = read(ring);
    expect(movesOf(history)).toEqual(movesOf(run.played));
    expect(history.moves.length).toBe(18);
    expect(history.faults).toEqual(run.played.faults);
    expect(history.arrays).toEqual(run.played.arrays);
    expect(history.memories).toEqual(run.played.memories);
  });

  it('knows how much memory each has, also of pages that go back and forth', () => {
    const run = new Run();
    const activity = new ActivityWatcher();
    const text = new MovesText(activity.reader, 'test');
    run.walk('host');
    run.walk('device');
    run.moves.add({
      isFull: false,
      begin: (each) => text.read(each),
      write: (each) => text.read(each),
    });
    for (const processor of ['host', 'device', 'device', 'host'] as const) run.walk(processor);
    const { memories } = activity.take(run.time);
    expect(memories.map(({ usedBytes }) => usedBytes)).toEqual(run.usedBytes);
  });

  it.each([
    ['of 64 KiB', 65_536, [1, 1, 1, 2, 3, 53]],
    ['of several blocks', 2 ** 22, [1, 1, 1, 1, 2, 2]],
  ])('counts the rest of granules %s, as the manager does', (_, granularityBytes, granules) => {
    const commands = commandsThat({});
    const manager = new MemoryManager(commands, POLICIES, BLOCKS);
    const moves = new MoveRecorder('test', manager, commands, 'lru', () => 0);
    manager.addDevice(hostOf(8), NO_NODE);
    const budgetPages = Math.max(2 * PAGES_PER_BLOCK, (2 * granularityBytes) / PAGE_BYTES);
    const { processor, node } = manager.addDevice(deviceOf(2, { budgetPages, granularityBytes }));
    const options = { name: 'x', writable: true, provided: false };
    const [one, two, large] = [100, 20, 3100].map(
      (pages) => manager.allocate(pages, options)?.first ?? -1,
    );
    const activities: ActivityWatcher[] = [];
    const follow = (): void => {
      const activity = new ActivityWatcher();
      const text = new MovesText(activity.reader, 'test');
      const read = (each: string): void => text.read(each);
      moves.add({ isFull: false, begin: read, write: read });
      activities.push(activity);
    };
    const used: number[] = [];
    const look = (): void => {
      const bytes = manager.pages.heldPages().memories[node].backedPages * PAGE_BYTES;
      for (const activity of activities)
        expect(activity.take(used.length).memories[node].usedBytes).toBe(bytes);
      used.push(bytes);
    };
    follow();
    manager.fault(processor, two + 17, true, 1);
    look();
    // The host takes a page, and the granule stays.
    manager.fault(HOST, two + 18, true, 2);
    look();
    follow();
    for (const page of [two + 18, one + 99, large + 3099]) {
      manager.fault(processor, page, true, 1);
      look();
    }
    for (let page = 0; page < 3100; page += 31) {
      manager.fault(processor, large + page, true, 1);
      look();
    }
    const told = [...used.slice(0, 5), Math.max(...used)];
    expect(told.map((bytes) => bytes / granularityBytes)).toEqual(granules);
  });

  it('that begins later knows where pages were, and what is on its way', () => {
    const run = new Run();
    run.walk('host');
    run.walk('device', false);
    const before = run.played;
    const ring = new MoveRing(2 ** 24);
    run.moves.add(ring);
    run.settle();
    run.walk('device');
    const history = read(ring);
    const later = run.played.moves.slice(before.moves.length);
    const places = (moves: History['moves']): object[] =>
      moves.map(({ kind, memory, page, pages }) => ({ kind, memory, page, pages }));
    expect(places(history.moves)).toEqual(places(later));
    expect(history.held).toContainEqual({ memory: 0, page: 0, pages: 16, taken: 16 });
  });

  it('keeps a running launch from one part to the next', () => {
    const run = new Run();
    const ring = new MoveRing(2048);
    run.moves.add(ring);
    run.launch();
    for (let round = 0; round < 20; round++) run.walk(round % 2 === 0 ? 'host' : 'device');
    const [launch] = read(ring).launches;
    expect(launch).toMatchObject({ id: 1, kernel: 'look', endedMs: Number.NaN });
    expect(launch.beganMs).toBeLessThan(0);
  });

  it('stays within its limit, but for where pages are', () => {
    const run = new Run();
    const ring = new MoveRing(4096);
    run.moves.add(ring);
    for (let round = 0; round < 50; round++) run.walk(round % 2 === 0 ? 'host' : 'device');
    const lines = ring.texts.join('').split('\n');
    expect(lines.filter((line) => line.startsWith('["#"')).length).toBe(2);
    expect(lines.filter((line) => line.startsWith('["!"')).join('\n').length).toBeLessThan(4096);
    const played = movesOf(run.played);
    const kept = read(ring);
    expect(kept.moves.length).toBeGreaterThan(10);
    expect(
      played
        .slice(-kept.moves.length)
        .map((move) => ({ ...move, atMs: 0, returned: 0, cause: [] })),
    ).toEqual(movesOf(kept).map((move) => ({ ...move, atMs: 0, returned: 0, cause: [] })));
  });

  it('that has ended leaves the manager as it was', () => {
    const run = new Run();
    const texts: string[] = [];
    const sink: MoveSink = {
      isFull: false,
      begin: (text) => texts.push(text),
      write: (text) => texts.push(text),
    };
    run.moves.add(sink);
    run.moves.remove(sink);
    const { length } = texts;
    run.walk('host');
    expect(texts).toHaveLength(length);
    run.moves.add(sink);
    run.walk('device');
    expect(texts.length).toBeGreaterThan(length + 1);
  });

  it('begins with no text that cannot be written', () => {
    const run = new Run();
    const begin = (): void => {
      throw new Error('no room');
    };
    const sink: MoveSink = { isFull: false, begin, write: () => expect.unreachable() };
    expect(() => run.moves.add(sink)).toThrow('no room');
    run.walk('host');
  });
});

it('is refused without its beginning, and in another format', () => {
  expect(() => historyOfText(['{"onememMoves":1}\n["!","fault",0,1,true]\n'], 'x')).toThrow(
    /its first part is missing/,
  );
  expect(() => historyOfText(['{"onememMoves":9}\n'], 'x')).toThrow(
    /x is a record of moves of format 9/,
  );
  expect(() => historyOfText(['{"onememMoves":1}\n["!",\n'], 'x')).toThrow('x, line 2, is no JSON');
});

it('reads of pages that are there are no moves', () => {
  const run = new Run();
  const ring = new MoveRing(2 ** 20);
  run.walk('host');
  run.moves.add(ring);
  run.walk('host');
  const { moves, faults } = read(ring);
  expect([moves.length, faults.length]).toEqual([0, 6]);
});
