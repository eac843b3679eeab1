import { beforeEach, describe, expect, it } from 'vitest';
import { HOST, PAGES_PER_BLOCK } from '../../../core/basics/types.js';
import type { Range } from '../../../core/table/range.js';
import { VaSpace } from '../../../core/table/va-space.js';
import { Loading } from '../../core/loading.js';
import type { Invalidation, Notice, NotifierFunctions } from '../../protocol/notifiers.js';
import { SEQUENCE_ENDED } from '../../protocol/notifiers.js';
import { Notifiers, type NotifierWishes, type Subscriber } from './notifiers.js';

const DEVICE = 1;
const ATTACHED = 2;

class Someone implements Subscriber {
  readonly notices: Notice[] = [];
  constructor(readonly thread = 1) {}
  notice(notice: Notice): void {
    this.notices.push(notice);
  }
}

let va: VaSpace;
let range: Range;
let notifiers: Notifiers;
let warnings: string[];
let modules: Record<string, Record<string, unknown>>;
let nextId = 1;
let loading: Loading;
/** Threads that have not ended. */
let living: Set<number>;

beforeEach(() => {
  va = new VaSpace(16);
  const made = va.allocate(700, { name: 'x', writable: true, provided: false });
  if (made === null) throw new Error('no addresses');
  range = made;
  warnings = [];
  living = new Set([1]);
  modules = {};
  let ms = 0;
  loading = new Loading();
  notifiers = new Notifiers({
    range: (id) => va.range(id),
    watch: (watched, by) => {
      watched.watchers += by;
    },
    rangeOfPage: (page) => va.rangeOfPage(page),
    isOfHost: (id) => id === HOST || id === ATTACHED,
    nameOf: (id) => (id === HOST ? 'host' : `device ${id}`),
    load: async (url) => modules[url],
    loading,
    threadExists: (thread) => living.has(thread),
    warn: (message) => warnings.push(message),
    now: () => ms++ / 1000,
  });
});

function wishes(more: Partial<NotifierWishes> = {}): NotifierWishes {
  const common = {
    id: nextId++,
    firstPage: range.first,
    count: null,
    elementBytes: 8,
    length: 700 * 512 - 3,
  };
  return { ...common, source: null, owner: null, queue: null, memory: null, ...more };
}

function add(someone: Subscriber, more: Partial<NotifierWishes> = {}): Int32Array {
  let words: Int32Array | null = null;
  notifiers.add(range.id, wishes(more), someone, (sequence, failure) => {
    if (sequence === null) throw failure;
    words = new Int32Array(sequence.memory as SharedArrayBuffer);
  });
  if (words === null) throw new Error('not at once');
  return words;
}

function addModule(
  someone: Subscriber,
  functions: unknown,
  more: Partial<NotifierWishes> = {},
): Promise<Int32Array> {
  const source = { url: `module ${nextId}`, exportName: 'create', data: 'data' };
  modules[source.url] = { create: typeof functions === 'function' ? functions : () => functions };
  return new Promise((resolve, reject) => {
    notifiers.add(range.id, wishes({ source, ...more }), someone, (sequence, failure) =>
      sequence === null
        ? reject(failure)
        : resolve(new Int32Array(sequence.memory as SharedArrayBuffer)),
    );
  });
}

describe('the sequence number', () => {
  it('is odd from the first of several changes to the end of the last', () => {
    const sequence = add(new Someone());
    expect(range.watchers).toBe(1);
    notifiers.begin(0, 5, 'migrate', HOST);
    expect(sequence[0]).toBe(1);
    notifiers.begin(PAGES_PER_BLOCK, 5, 'discard', HOST);
    notifiers.through(0, 5, 'migrate', HOST);
    expect(sequence[0]).toBe(1);
    notifiers.through(PAGES_PER_BLOCK, 5, 'discard', HOST);
    expect(sequence[0]).toBe(2);
  });

  it("counts nothing that a process of the host does for one of the host's subscribers", () => {
    const [sequence, other] = [HOST, DEVICE].map((owner) => add(new Someone(), { owner }));
    notifiers.begin(0, 5, 'migrate', ATTACHED);
    expect([sequence[0], other[0]]).toEqual([0, 1]);
  });

  it('counts what touches the part that is watched, and what others do', () => {
    const sequence = add(new Someone(), { firstPage: 10, count: 5, owner: DEVICE });
    for (const [page, count] of [
      [0, 10],
      [15, 3],
    ])
      notifiers.begin(page, count, 'migrate', HOST);
    notifiers.begin(10, 5, 'migrate', DEVICE);
    expect(sequence[0]).toBe(0);
    notifiers.begin(0, 11, 'migrate', HOST);
    expect(sequence[0]).toBe(1);
    notifiers.through(0, 11, 'migrate', HOST);
    notifiers.forgetProcessor(DEVICE);
    notifiers.begin(14, 50, 'migrate', DEVICE);
    expect(sequence[0]).toBe(3);
  });

  it('does not take the end of a change that began before the subscription for its own', () => {
    notifiers.begin(0, 5, 'migrate', HOST);
    const sequence = add(new Someone());
    notifiers.through(0, 5, 'migrate', HOST);
    expect(sequence[0]).toBe(0);
    notifiers.begin(0, 5, 'migrate', HOST);
    expect(sequence[0]).toBe(1);
  });

  it('starts again at 0 after the largest', () => {
    const sequence = add(new Someone());
    sequence[0] = 0x7fff_fffe;
    notifiers.begin(0, 1, 'migrate', HOST);
    notifiers.through(0, 1, 'migrate', HOST);
    expect(sequence[0]).toBe(0);
  });

  it('ends with the subscription, also in the middle of a change', () => {
    const someone = new Someone();
    const sequences = [add(someone), add(someone), add(new Someone())];
    notifiers.begin(0, 5, 'migrate', HOST);
    notifiers.forget(someone);
    notifiers.through(0, 5, 'migrate', HOST);
    expect(sequences.map(([word]) => word)).toEqual([SEQUENCE_ENDED, SEQUENCE_ENDED, 2]);
    expect([notifiers.count, range.watchers]).toEqual([1, 1]);
    notifiers.release(range);
    notifiers.release(range);
    expect([notifiers.count, range.watchers, sequences[2][0]]).toEqual([0, 0, SEQUENCE_ENDED]);
  });
});

describe('events', () => {
  it('are merged by reason while the subscriber is busy, bounded, and counted where they are lost', () => {
    const someone = new Someone();
    const id = nextId;
    add(someone, { queue: 2 });
    const change = (page: number, count: number, reason: 'migrate' | 'discard'): void => {
      notifiers.begin(page, count, reason, HOST);
      notifiers.through(page, count, reason, HOST);
    };
    change(0, 4, 'migrate');
    notifiers.flush();
    change(20, 5, 'migrate');
    change(30, 5, 'migrate');
    change(24, 6, 'migrate');
    change(22, 1, 'discard');
    change(50, 1, 'discard');
    change(60, 1, 'migrate');
    notifiers.flush();
    expect(someone.notices).toHaveLength(1);
    notifiers.heard(id);
    notifiers.flush();
    notifiers.flush();
    expect(someone.notices.map(({ changes, lost }) => ({ changes, lost }))).toEqual([
      { changes: [{ reason: 'migrate', firstPage: 0, pages: 4 }], lost: 0 },
      {
        changes: [
          { reason: 'migrate', firstPage: 20, pages: 15 },
          { reason: 'discard', firstPage: 22, pages: 1 },
        ],
        lost: 2,
      },
    ]);
    notifiers.heard(id);
    notifiers.flush();
    expect(someone.notices).toHaveLength(2);
  });

  it('tell of the end, however busy the subscriber is', () => {
    const someone = new Someone();
    add(someone, { queue: 1 });
    notifiers.begin(0, 4, 'migrate', HOST);
    notifiers.through(0, 4, 'migrate', HOST);
    notifiers.flush();
    notifiers.release(range);
    notifiers.flush();
    expect(someone.notices[1]).toMatchObject({
      changes: [{ reason: 'release', pages: 700 }],
      ended: true,
    });
    notifiers.flush();
    expect(someone.notices).toHaveLength(2);
  });

  it('say resize where pages go because an array gets smaller', () => {
    const someone = new Someone();
    add(someone, { queue: 9 });
    const end = notifiers.resizing(600, 100);
    for (const page of [512, 600]) notifiers.begin(page, 10, 'unmap', HOST);
    for (const page of [512, 600]) notifiers.through(page, 10, 'unmap', HOST);
    end();
    notifiers.begin(600, 10, 'unmap', HOST);
    notifiers.through(600, 10, 'unmap', HOST);
    notifiers.flush();
    expect(
      someone.notices[0].changes.map(({ reason, firstPage }) => `${reason} ${firstPage}`),
    ).toEqual(['unmap 512', 'resize 600', 'unmap 600']);
  });
});

describe('modules', () => {
  it('are told before and after, with elements that end with the array', async () => {
    const told: [string, Invalidation][] = [];
    await addModule(new Someone(), (data: unknown, facts: unknown) => {
      expect(data).toBe('data');
      expect(facts).toEqual({
        array: 'x',
        begin: 0,
        end: 700 * 512 - 3,
        firstPage: 0,
        pages: 700,
        elementBytes: 8,
      });
      return {
        invalidate: (change: Invalidation) => told.push(['before', change]),
        invalidated: (change: Invalidation) => told.push(['after', change]),
      };
    });
    notifiers.begin(690, 10, 'migrate', DEVICE);
    notifiers.through(690, 10, 'migrate', DEVICE);
    const change = { array: 'x', begin: 690 * 512, end: 700 * 512 - 3, firstPage: 690, pages: 10 };
    expect(told).toEqual([
      ['before', { ...change, reason: 'migrate', owner: 'device 1' }],
      ['after', { ...change, reason: 'migrate', owner: 'device 1' }],
    ]);
    notifiers.release(range);
    expect(told[2]).toMatchObject(['before', { reason: 'release', begin: 0, pages: 700 }]);
  });

  it('that throw once are not called again, and others are', async () => {
    let calls = 0;
    const bad: NotifierFunctions = {
      invalidate: () => {
        throw new TypeError('no');
      },
    };
    const someone = new Someone();
    const sequence = await addModule(someone, bad);
    await addModule(new Someone(), { invalidate: () => calls++ });
    for (let round = 0; round < 2; round++) {
      notifiers.begin(0, 1, 'migrate', HOST);
      notifiers.through(0, 1, 'migrate', HOST);
    }
    notifiers.flush();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(
      /^warning: the notifier of array x \(create of module \d+\) is not called any more: invalidate threw TypeError: no$/,
    );
    expect(someone.notices).toMatchObject([
      { detached: 'invalidate threw TypeError: no', changes: [] },
    ]);
    expect([calls, sequence[0]]).toEqual([2, 4]);
  });

  it('are refused when their array was freed while they were loaded', async () => {
    const adding = addModule(new Someone(), { invalidate: () => undefined });
    range.freedPages = range.pages;
    await expect(adding).rejects.toMatchObject({ code: 'USE_AFTER_FREE' });
    expect([notifiers.count, loading.busy]).toEqual([0, false]);
  });
});

it('finds subscriptions whose thread has ended, or whose array is no more', () => {
  const [here, gone] = [new Someone(1), new Someone(2)];
  const sequences = [add(here, { queue: 4 }), add(gone)];
  notifiers.forgetEnded();
  expect(sequences.map(([word]) => word)).toEqual([0, SEQUENCE_ENDED]);
  va.recycle(range);
  notifiers.forgetEnded();
  notifiers.flush();
  expect(notifiers.count).toBe(0);
  expect(here.notices).toMatchObject([{ ended: true }]);
});
