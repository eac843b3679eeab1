import { describe, expect, it } from 'vitest';
import { PAGES_PER_BLOCK, Status } from '../../core/basics/types.js';
import type { Entry } from '../../core/recording/recording.js';
import { type Signal, Signals } from './signals.js';

const GPU = 1;

/** A device with room for four blocks, beside two arrays of four in the host. */
class Run {
  readonly signals = new Signals();
  now = 0;

  constructor() {
    const pages = 4 * PAGES_PER_BLOCK;
    const array = (id: number, name: string, first: number) => ({
      ...{ id, name, first, pages, reserved: pages, elementBytes: 4 },
    });
    this.signals.reader.begin(
      {
        memories: [
          { id: 0, name: 'host', budgetPages: 100 * pages },
          { id: GPU, name: 'gpu', budgetPages: pages },
        ],
        processors: [
          { id: 0, name: 'host', memory: 0 },
          { id: GPU, name: 'gpu', memory: GPU },
        ],
        arrays: [array(1, 'a', 0), array(2, 'b', pages)],
        held: [],
        coming: [],
        launches: [],
      },
      0,
    );
  }

  read(...entry: unknown[]): void {
    this.signals.reader.read(entry as unknown as Entry, this.now);
  }

  /** A touch of one block pushes another one out. */
  touch(block: number, out: number | null = null): void {
    const page = block * PAGES_PER_BLOCK;
    this.read('!', 'fault', GPU, page, false);
    const release = [2, GPU, (out ?? 0) * PAGES_PER_BLOCK, PAGES_PER_BLOCK];
    if (out !== null) this.read('>', 'release', release, Status.Done);
    const transfer = { token: 1, node: GPU, source: 0, page, count: PAGES_PER_BLOCK };
    this.read('>', 'transfer', [transfer], Status.Done);
  }

  take(kind: Signal['kind']): Signal[] {
    return this.signals.take(this.now).filter((each) => each.kind === kind);
  }
}

describe('signals of a run', () => {
  it('tell of a launch when it has ended, with what it cost', () => {
    const run = new Run();
    run.read('!', 'launchBegin', 7, GPU, [{ name: 'a' }], 'saxpy');
    run.now = 5;
    run.touch(0);
    run.touch(5);
    expect(run.take('launch')).toEqual([]);
    run.now = 9;
    run.read('!', 'launchEnd', 7);
    run.now = 20;
    const told = { kernel: 'saxpy', processor: 'gpu', agoMs: 20, durationMs: 9, arrays: ['a'] };
    expect(run.take('launch')).toEqual([
      { kind: 'launch', ...told, faults: 2, bytesIn: 2 * 2 ** 21 },
    ]);
    expect(run.take('launch')).toEqual([]);
  });

  it('tell of a memory that has little room left, once, and when it has enough again', () => {
    const run = new Run();
    for (let block = 0; block < 3; block++) run.touch(block);
    expect(run.take('headroom')).toEqual([]);
    run.touch(3);
    const memory = { kind: 'headroom', memory: 'gpu', budgetBytes: 4 * 2 ** 21 };
    expect(run.take('headroom')).toEqual([{ ...memory, isLow: true, freeBytes: 0 }]);
    run.touch(4, 0);
    expect(run.take('headroom')).toEqual([]);
    run.read('!', 'free', { range: 1 }, 0, PAGES_PER_BLOCK);
    run.read('>', 'release', [3, GPU, PAGES_PER_BLOCK, PAGES_PER_BLOCK], Status.Done);
    expect(run.take('headroom')).toEqual([{ ...memory, isLow: false, freeBytes: 2 ** 21 }]);
  });

  it('tell of evictions and of thrashing once a second, and with the arrays', () => {
    const run = new Run();
    run.touch(0);
    run.touch(4, 0);
    run.touch(0, 4);
    run.now = 900;
    expect([...run.take('evict'), ...run.take('thrash')]).toEqual([]);
    run.now = 1000;
    const signals = run.signals.take(run.now);
    const evicted = { kind: 'evict', memory: 'gpu', evictions: 1, bytes: 2 ** 21 };
    expect(signals.filter(({ kind }) => kind === 'evict')).toEqual([
      { ...evicted, array: 'a', sake: 'b' },
      { ...evicted, array: 'b', sake: 'a' },
    ]);
    expect(signals.filter(({ kind }) => kind === 'thrash')).toEqual([
      { kind: 'thrash', memory: 'gpu', budgetBytes: 2 ** 23, bytesReturned: 2 ** 21, array: 'a' },
    ]);
    run.now = 2000;
    expect(run.signals.take(run.now)).toEqual([]);
  });

  it('tell of no thrashing where data pass by once', () => {
    const run = new Run();
    for (let block = 0; block < 8; block++) run.touch(block, block < 4 ? null : block - 4);
    run.now = 1000;
    expect(run.take('thrash')).toEqual([]);
  });

  it('tell of many faults within a second', () => {
    const run = new Run();
    for (let fault = 0; fault < 1999; fault++) run.read('!', 'fault', GPU, 0, false);
    run.now = 1000;
    expect(run.take('faults')).toEqual([]);
    for (let fault = 0; fault < 2500; fault++) run.read('!', 'fault', GPU, 0, false);
    run.now = 2250;
    expect(run.take('faults')).toEqual([
      { kind: 'faults', processor: 'gpu', faults: 2500, windowMs: 1250 },
    ]);
  });
});
