import { describe, expect, it } from 'vitest';
import { PAGE_BYTES, PAGES_PER_BLOCK, Status } from '../../core/basics/types.js';
import type { Entry } from '../../core/recording/recording.js';
import { type Activity, ActivityWatcher } from './activity.js';

const HOST = 0;
const GPU = 1;
const DISK = 2;
const BLOCK_BYTES = PAGES_PER_BLOCK * PAGE_BYTES;

/** A host, a device and a store; arrays `a` and `b` of two blocks each lie in the host. */
class Run {
  readonly watcher = new ActivityWatcher();
  now = 0;

  constructor() {
    const pages = 2 * PAGES_PER_BLOCK;
    const array = (id: number, name: string) => ({
      ...{ id, name, first: id * pages, pages, reserved: pages, elementBytes: 4 },
    });
    this.watcher.reader.begin(
      {
        memories: [
          { id: HOST, name: 'host', budgetPages: 2 ** 20 },
          { id: GPU, name: 'gpu', budgetPages: 2 * PAGES_PER_BLOCK },
          { id: DISK, name: 'storage', budgetPages: 2 ** 20 },
        ],
        processors: [
          { id: HOST, name: 'host', memory: HOST },
          { id: GPU, name: 'gpu', memory: GPU },
        ],
        arrays: [array(0, 'a'), array(1, 'b')],
        // The next array goes on where one ends.
        held: [[HOST, 0, 2 * pages]],
        coming: [],
        launches: [],
      },
      0,
    );
  }

  read(...entry: unknown[]): this {
    this.watcher.reader.read(entry as unknown as Entry, this.now);
    return this;
  }

  /** A block goes from one memory to another, and takes some time. */
  move(block: number, source: number, node: number, tookMs: number): this {
    const page = block * PAGES_PER_BLOCK;
    const transfer = { token: 1, node, source, page, count: PAGES_PER_BLOCK };
    this.read('>', 'transfer', [transfer], Status.Pending);
    this.now += tookMs;
    return this.read('!', 'transferred', 1, Status.Done);
  }

  fault(processor: number, block: number): this {
    return this.read('!', 'fault', processor, block * PAGES_PER_BLOCK, false);
  }

  take(): Activity {
    return this.watcher.take(this.now);
  }
}

describe('the activity of a window', () => {
  it('has bytes by memory and array, and begins anew', () => {
    const run = new Run().fault(GPU, 0).move(0, HOST, GPU, 5);
    const { memories, arrays, fromMs, toMs } = run.take();
    expect([fromMs, toMs]).toEqual([0, 5]);
    expect(memories.map(({ bytesIn }) => bytesIn / BLOCK_BYTES)).toEqual([0, 1, 0]);
    const [a] = arrays;
    expect([a.name, a.faults, a.bytesIn.touch]).toEqual(['a', 1, BLOCK_BYTES]);
    expect(a.heldBytes).toEqual({ host: 2 * BLOCK_BYTES, gpu: BLOCK_BYTES });
    run.now = 9;
    const next = run.take();
    expect([next.fromMs, next.toMs]).toEqual([5, 9]);
    expect(
      next.memories.map(({ bytesIn, usedBytes }) => [bytesIn, usedBytes / BLOCK_BYTES]),
    ).toEqual([
      [0, 4],
      [0, 1],
      [0, 0],
    ]);
  });

  it('tells what was evicted, and what came again', () => {
    const run = new Run().fault(GPU, 0).move(0, HOST, GPU, 1);
    run.take();
    run.fault(GPU, 2).read('>', 'release', [2, GPU, 0, PAGES_PER_BLOCK], Status.Done);
    run.fault(GPU, 0).move(0, HOST, GPU, 1);
    const { memories, arrays } = run.take();
    expect([memories[GPU].bytesEvicted, memories[GPU].bytesReturned]).toEqual([
      BLOCK_BYTES,
      BLOCK_BYTES,
    ]);
    const a = arrays.find(({ name }) => name === 'a');
    expect([a?.bytesEvicted, a?.bytesReturned]).toEqual([BLOCK_BYTES, BLOCK_BYTES]);
  });

  it('tells the time of copies from that of the disk', () => {
    const run = new Run().fault(GPU, 0).move(0, HOST, GPU, 3);
    run.fault(HOST, 1).move(1, DISK, HOST, 4).fault(HOST, 2).move(2, -2, HOST, 2);
    const { copyMs, diskMs } = run.take();
    expect([copyMs, diskMs]).toEqual([3, 6]);
  });

  it('has no bytes of zeros, which cost no copy', () => {
    const run = new Run().fault(GPU, 0);
    const transfer = { token: 1, node: GPU, source: -1, page: 0, count: PAGES_PER_BLOCK };
    run.read('>', 'transfer', [transfer], Status.Done);
    const { memories, copyMs } = run.take();
    expect([memories[GPU].bytesIn, memories[GPU].usedBytes, copyMs]).toEqual([0, BLOCK_BYTES, 0]);
  });

  it('counts the time of a launch in each window that it runs in, and ends it once', () => {
    const run = new Run();
    run.now = 2;
    run.read('!', 'launchBegin', 7, GPU, [{ name: 'a' }], 'saxpy');
    run.now = 10;
    const busy = () => {
      const { launches, launchMs, kernel } = run.take().processors[GPU];
      return [launches, launchMs, kernel];
    };
    expect(busy()).toEqual([0, 8, 'saxpy']);
    run.now = 13;
    run.read('!', 'launchEnd', 7);
    run.now = 20;
    expect(busy()).toEqual([1, 3, 'saxpy']);
    run.now = 30;
    expect(busy()).toEqual([0, 0, '']);
  });

  it('leaves an array out that was freed, and moves no more', () => {
    const run = new Run().fault(GPU, 0).move(0, HOST, GPU, 1);
    expect(run.take().arrays.map(({ name }) => name)).toContain('a');
    // Another one lies in its place.
    run.read('!', 'allocate', 2 * PAGES_PER_BLOCK, { name: 'c' });
    run.read('=', { range: 9, first: 0 });
    run.take();
    expect(run.take().arrays.map(({ name }) => name)).not.toContain('a');
  });
});
