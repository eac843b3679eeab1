import { describe, expect, it } from 'vitest';
import { PAGE_BYTES, PAGES_PER_BLOCK, type Reason, Status } from '../../core/basics/types.js';
import type { Entry } from '../../core/recording/recording.js';
import { Costs, type Report } from './report.js';

const HOST = 0;
const GPU = 1;
const BLOCK_BYTES = PAGE_BYTES * PAGES_PER_BLOCK;

/** A device with room for eight blocks, and arrays of floats one after the other in the host. */
class Run {
  private readonly costs = new Costs();
  now = 0;

  constructor(blocks: Readonly<Record<string, number>>) {
    let first = 0;
    const arrays = Object.entries(blocks).map(([name, count], id) => {
      const pages = count * PAGES_PER_BLOCK;
      first += pages;
      return { id, name, first: first - pages, pages, reserved: pages, elementBytes: 4 };
    });
    this.costs.reader.begin(
      {
        memories: [
          { id: HOST, name: 'host', budgetPages: 2 ** 20 },
          { id: GPU, name: 'gpu', budgetPages: 8 * PAGES_PER_BLOCK },
        ],
        processors: [
          { id: HOST, name: 'host', memory: HOST },
          { id: GPU, name: 'gpu', memory: GPU },
        ],
        ...{ arrays, held: [[HOST, 0, first]], coming: [], launches: [] },
      },
      0,
    );
  }

  read(...entry: unknown[]): this {
    this.now++;
    this.costs.reader.read(entry as unknown as Entry, this.now);
    return this;
  }

  fault(processor: number, page: number, write = false): this {
    return this.read('!', 'fault', processor, page, write);
  }

  bring(node: number, page: number, count: number, reason?: Reason): this {
    const transfer = { token: 1, node, source: 1 - node, page, count, reason };
    return this.read('>', 'transfer', [transfer], Status.Done);
  }

  /** A touch brings a block to the device. */
  touch(block: number): this {
    const page = block * PAGES_PER_BLOCK;
    return this.fault(GPU, page).bring(GPU, page, PAGES_PER_BLOCK);
  }

  /** A touch of one block pushes another one out. */
  evict(block: number, sake: number): this {
    this.fault(GPU, sake * PAGES_PER_BLOCK);
    const release = [2, GPU, block * PAGES_PER_BLOCK, PAGES_PER_BLOCK];
    return this.read('>', 'release', release, Status.Done);
  }

  launch(id: number, name: string, use: string): this {
    return this.read('!', 'launchBegin', id, GPU, [{ name, use }], 'k');
  }

  get report(): Report {
    return this.costs.report();
  }
}

describe('what to keep, and how much', () => {
  const pins = (run: Run) =>
    run.report.advice.flatMap(({ what, array, memory, begin, end, bytes }) =>
      what === 'pin' ? [{ array, memory, begin, end, bytes }] : [],
    );

  it('is the part of a large array that came again most, in half of the memory', () => {
    const run = new Run({ a: 20 });
    for (let block = 0; block < 20; block++) run.touch(block);
    // Two blocks return all the time, the others once.
    for (let round = 0; round < 10; round++)
      for (const block of [6, 7]) run.evict(block, 0).touch(block);
    run.evict(12, 0).touch(12);
    const elements = BLOCK_BYTES / 4;
    expect(pins(run)).toEqual([
      { array: 'a', memory: 'gpu', begin: 6 * elements, end: 8 * elements, bytes: 2 * BLOCK_BYTES },
    ]);
    expect(run.report.advice.find(({ what }) => what === 'pin')?.text).toBe(
      'Keep 4 MiB of the 40 MiB of a in gpu: a.advise({ preferredLocation: device }, ' +
        '{ begin: 3145728, end: 4194304 }). 40 MiB of it came again.',
    );
  });

  it('is a whole array before a part of one that passes by', () => {
    const run = new Run({ data: 20, table: 3 });
    for (let block = 0; block < 23; block++) run.touch(block);
    for (let round = 0; round < 5; round++)
      for (let block = 0; block < 23; block++) run.evict(block, 0).touch(block);
    const [table, data] = pins(run);
    expect([table.array, table.bytes]).toEqual(['table', 3 * BLOCK_BYTES]);
    expect([data.array, data.bytes]).toEqual(['data', BLOCK_BYTES]);
  });

  it('is nothing where all has room', () => {
    const run = new Run({ a: 4 });
    for (let block = 0; block < 4; block++) run.touch(block);
    for (let round = 0; round < 5; round++) run.evict(1, 0).touch(1);
    expect(pins(run)).toEqual([]);
  });
});

describe('what came unasked', () => {
  const unasked = (run: Run) =>
    run.report.unasked.map(({ array, reason, bytes, unusedBytes }) => [
      ...[array, reason, bytes / BLOCK_BYTES],
      unusedBytes === null ? null : unusedBytes / BLOCK_BYTES,
    ]);

  it('of read-ahead is unused where no fault enters it', () => {
    const run = new Run({ a: 8 });
    run.fault(GPU, 0).bring(GPU, 0, 1).bring(GPU, PAGES_PER_BLOCK, PAGES_PER_BLOCK);
    expect(unasked(run)).toEqual([['a', 'read-ahead', 1, 1]]);
    run.fault(GPU, PAGES_PER_BLOCK + 3);
    expect(unasked(run)).toEqual([['a', 'read-ahead', 1, 0]]);
  });

  it('is nothing that gives it its room', () => {
    const run = new Run({ a: 4, b: 4 });
    run
      .touch(4)
      .read('!', 'goAhead')
      .bring(HOST, 4 * PAGES_PER_BLOCK, PAGES_PER_BLOCK);
    run.bring(GPU, PAGES_PER_BLOCK, PAGES_PER_BLOCK, 'walk');
    const ahead = run.report.unasked.filter(({ reason }) => reason === 'read-ahead');
    expect(ahead.map(({ array, bytes }) => [array, bytes])).toEqual([['a', BLOCK_BYTES]]);
    const reasons = run.report.reasons.map(({ reason, bytes }) => [reason, bytes / BLOCK_BYTES]);
    expect(reasons).toEqual([
      ['asked', 1],
      ['evicted', 1],
      ['walk', 1],
    ]);
  });

  it('of read-ahead is used where a walk enters it while it comes', () => {
    const run = new Run({ a: 8 });
    const page = PAGES_PER_BLOCK;
    const transfer = { token: 9, node: GPU, source: HOST, page, count: PAGES_PER_BLOCK };
    run.fault(GPU, 0).bring(GPU, 0, 1).read('>', 'transfer', [transfer], Status.Pending);
    run.fault(GPU, page).read('!', 'transferred', 9, Status.Done);
    expect(unasked(run)).toEqual([['a', 'read-ahead', 1, 0]]);
  });

  it('of a walk is only certain for the last block of several', () => {
    const run = new Run({ a: 8 });
    run.fault(GPU, 0);
    for (const block of [1, 2, 3]) run.bring(GPU, block * PAGES_PER_BLOCK, PAGES_PER_BLOCK);
    expect(unasked(run)).toEqual([['a', 'read-ahead', 3, 1]]);
  });

  it('of a plan is unused until a fault enters it, or a launch has the array', () => {
    const planned = () =>
      new Run({ a: 4, b: 4 })
        .launch(1, 'a', 'in')
        .read('!', 'goAhead')
        .bring(GPU, 4 * PAGES_PER_BLOCK, PAGES_PER_BLOCK, 'plan');
    expect(unasked(planned())).toEqual([['b', 'plan', 1, 1]]);
    expect(unasked(planned().evict(4, 0))).toEqual([['b', 'plan', 1, 1]]);
    expect(unasked(planned().launch(2, 'b', 'in'))).toEqual([['b', 'plan', 1, 0]]);
    expect(unasked(planned().fault(GPU, 4 * PAGES_PER_BLOCK))).toEqual([['b', 'plan', 1, 0]]);
  });

  it('of a prefetch is unused until a launch has the array, also when it has left', () => {
    const prefetch = (name: 'a' | 'b') =>
      new Run({ a: 1, b: 1 })
        .read('!', 'acquire', 1, GPU, 0, PAGES_PER_BLOCK, 0, { exclusive: false })
        .bring(GPU, 0, PAGES_PER_BLOCK)
        .launch(7, name, 'in')
        .evict(0, 1);
    expect(unasked(prefetch('b'))).toEqual([['a', 'prefetch', 1, 1]]);
    expect(unasked(prefetch('a'))).toEqual([['a', 'prefetch', 1, 0]]);
  });

  it('is not known to be used where it came with a touched page, or to the host', () => {
    const run = new Run({ a: 2 }).touch(0);
    run.read('!', 'acquire', 1, HOST, PAGES_PER_BLOCK, PAGES_PER_BLOCK, 0, { exclusive: false });
    run.bring(HOST, PAGES_PER_BLOCK, PAGES_PER_BLOCK);
    expect(unasked(run)).toEqual([
      ['a', 'prefetch', 1, null],
      ['a', 'companions', 1 - 1 / PAGES_PER_BLOCK, null],
    ]);
  });
});

describe('launches of a kernel', () => {
  it('are told by their median and the slowest, with what came again and why', () => {
    const run = new Run({ a: 4, b: 4 });
    const launch = (id: number, extra: () => void): void => {
      run.launch(id, 'a', 'in').touch(0);
      extra();
      run.read('!', 'launchEnd', id);
    };
    launch(1, () => undefined);
    launch(2, () => run.touch(1).evict(1, 5).touch(1));
    launch(3, () => undefined);
    const [{ kernel, launches, medianMs, slowest }] = run.report.kernels;
    expect([kernel, launches, medianMs]).toEqual(['k', 3, 3]);
    expect(slowest).toEqual({
      ...{ launch: 2, ms: 9, faults: 4 },
      arrays: [{ name: 'a', bytes: 3 * BLOCK_BYTES, bytesReturned: BLOCK_BYTES, evictedFor: 'b' }],
    });
  });

  it('have what came ahead for them', () => {
    const run = new Run({ a: 4 }).launch(1, 'a', 'in').read('!', 'goAhead');
    run.bring(GPU, PAGES_PER_BLOCK, PAGES_PER_BLOCK, 'walk').read('!', 'launchEnd', 1);
    const [{ slowest }] = run.report.kernels;
    expect(slowest.arrays.map(({ name, bytes }) => [name, bytes])).toEqual([['a', BLOCK_BYTES]]);
  });
});

describe('what helps', () => {
  it('stands with each array and each eviction that was regretted', () => {
    const run = new Run({ data: 20, table: 3 });
    for (let block = 0; block < 23; block++) run.touch(block);
    for (let round = 0; round < 5; round++)
      for (let block = 20; block < 23; block++) run.evict(block, 0).touch(block);
    const { arrays, decisions } = run.report;
    expect(arrays.map(({ name, remedy }) => [name, remedy])).toEqual([
      ['data', null],
      ['table', 'Keep table (6 MiB) in gpu'],
    ]);
    expect(decisions.map(({ remedy }) => remedy)).toEqual(['Keep table (6 MiB) in gpu']);
  });

  it('is the indices where launches touch single pages in no order', () => {
    const run = new Run({ a: 4 }).launch(1, 'a', 'in');
    for (let page = 0; page < 64; page++) run.fault(GPU, page * 7).bring(GPU, page * 7, 1, 'lone');
    expect(run.report.advice.map(({ what, text }) => [what, text])).toEqual([
      [
        'by',
        "Have pages of a come before the kernel touches them: where a parameter 'order' has the " +
          "indices, declare a as .by('order'). 64 touches of launches brought single pages.",
      ],
    ]);
  });

  it('is to reach pages in place where two processors write them', () => {
    const run = new Run({ a: 1 });
    for (let round = 0; round < 4; round++) {
      run.fault(GPU, 3, true).bring(GPU, 0, 64);
      run.fault(HOST, 5, true).bring(HOST, 0, 64);
    }
    expect(run.report.advice.map(({ what, title }) => [what, title])).toEqual([
      ['accessedBy', 'Have the device reach a in place'],
    ]);
  });
});

describe('where processors take pages from each other', () => {
  /** Both take a run of 16 pages in turn, and touch one of its pages each. */
  function inTurn(run: Run, times: number, [gpu, host]: readonly number[]): Run {
    for (let round = 0; round < times; round++) {
      run.fault(GPU, gpu, true).bring(GPU, 0, PAGES_PER_BLOCK);
      run.fault(HOST, host).bring(HOST, 0, PAGES_PER_BLOCK);
    }
    return run;
  }

  it('names the elements that each touches, and which of them writes', () => {
    const { conflicts } = inTurn(new Run({ a: 1 }), 4, [3, 5]).report;
    expect(conflicts).toEqual([
      {
        ...{ array: 'a', begin: 3 * 1024, end: 6 * 1024, moves: 7 },
        processors: [
          { name: 'gpu', writes: true, begin: 3 * 1024, end: 4 * 1024 },
          { name: 'host', writes: false, begin: 5 * 1024, end: 6 * 1024 },
        ],
        text: 'gpu writes a[3072 to 4095], host touches a[5120 to 6143]: 7 touches took pages from another.',
      },
    ]);
  });

  it('joins pages far from each other that take the block from each other', () => {
    const { conflicts } = inTurn(new Run({ a: 1 }), 4, [3, 400]).report;
    expect(conflicts.map(({ begin, end }) => [begin, end])).toEqual([[3 * 1024, 401 * 1024]]);
  });

  it('is nowhere where one of them writes back to make room', () => {
    const run = new Run({ a: 12 });
    for (let round = 0; round < 5; round++) {
      run.touch(1).evict(1, 0);
      run.bring(HOST, PAGES_PER_BLOCK, PAGES_PER_BLOCK);
    }
    expect(run.report.conflicts).toEqual([]);
  });

  it('knows writers by the arguments of a launch', () => {
    const run = new Run({ a: 1 }).launch(7, 'a', 'inout');
    for (let round = 0; round < 3; round++) {
      run.fault(GPU, 1).bring(GPU, 0, 16);
      run.fault(HOST, 1).bring(HOST, 0, 16);
    }
    const [{ processors }] = run.report.conflicts;
    expect(new Map(processors.map(({ name, writes }) => [name, writes]))).toEqual(
      new Map([
        ['gpu', true],
        ['host', false],
      ]),
    );
  });
});
