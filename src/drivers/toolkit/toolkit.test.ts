import { beforeEach, describe, expect, it } from 'vitest';
import { Access, PAGE_BYTES, Status } from '../../core/basics/types.js';
import type {
  CallableKernel,
  DriverEvents,
  DriverLaunch,
  LaunchFailure,
  LaunchParameter,
} from '../driver.js';
import { orderIn, orderOut } from '../test-orders.js';
import { CopyEngine } from './copy-engine.js';
import { BufferFrames, type FrameStore } from './frame-store.js';
import { LaunchQueue } from './launch-queue.js';
import { PageTable } from './page-table.js';
import type { DriverParts } from './parts.js';

const HOME = 0x10000;

let host: Uint8Array;
let transfers: [number, Status][];
let launches: [number, LaunchFailure | null][];
let kernel: CallableKernel;
let table: PageTable;

const events: DriverEvents = {
  fault: () => expect.unreachable('nothing faults'),
  transferred: (token, status) => transfers.push([token, status]),
  revoked: () => expect.unreachable('nothing is revoked'),
  released: () => expect.unreachable('nothing is released'),
  launched: (id, failure) => launches.push([id, failure]),
  died: () => expect.unreachable('the driver reports its end'),
};

/** Frames that are copied in and out as a whole, and cannot be seen where they lie. */
function storeOf(kept: Map<number, Uint8Array>): FrameStore {
  return {
    read: (frame) => (kept.get(frame) ?? new Uint8Array(PAGE_BYTES)).slice(),
    write: (frame, bytes) => void kept.set(frame, bytes.slice()),
    clear: (frame) => void kept.delete(frame),
  };
}

function partsOf(frames: FrameStore, pagesAtOnce?: number): DriverParts {
  return {
    table,
    frames,
    events,
    bytes: {
      read: (address, target) =>
        target.set(host.subarray(address - HOME, address - HOME + target.length)),
      write: (address, source) => host.set(source, address - HOME),
    },
    loadKernel: () => kernel,
    ...(pagesAtOnce === undefined ? {} : { pagesAtOnce }),
  };
}

function launchOf(...parameters: LaunchParameter[]): DriverLaunch {
  return {
    id: 7,
    kernelName: 'k',
    code: { kind: 'inline', source: 'k' },
    parameters,
    begin: 0,
    end: 1,
    size: 1,
  };
}

function array(use: 'in' | 'out' | 'inout', offset: number, length: number): LaunchParameter {
  return { name: 'x', kind: 'array', type: 'u8', use, offset, length };
}

function stepsOf({ progress }: { progress: () => boolean }): number {
  let steps = 0;
  while (progress()) steps++;
  return steps;
}

beforeEach(() => {
  host = new Uint8Array(8 * PAGE_BYTES).map((_, at) => (at * 7) % 251);
  transfers = [];
  launches = [];
  kernel = () => undefined;
  table = new PageTable();
});

describe('PageTable', () => {
  it('maps pages to the frames that are named, over what was there', () => {
    table.map(510, 4, 20, Access.Write);
    table.map(511, 1, 3, Access.Read);
    expect([509, 510, 511, 512, 513, 514].map((page) => table.access(page))).toEqual([
      0, 2, 1, 2, 2, 0,
    ]);
    expect([510, 511, 512].map((page) => table.frame(page))).toEqual([20, 3, 22]);
  });

  it('restricts only what is more, and unmaps', () => {
    table.map(0, 2, 5, Access.Write);
    table.map(2, 1, 9, Access.Read);
    table.restrict(0, 4, Access.Read);
    table.restrict(1, 1, Access.None);
    expect([0, 1, 2, 3].map((page) => table.access(page))).toEqual([1, 0, 1, 0]);
    expect(table.frame(0)).toBe(5);
  });

  it('has frames up to 4 TiB, and says so of others', () => {
    table.map(0, 1, 2 ** 30 - 1, Access.Write);
    expect([table.frame(0), table.access(0)]).toEqual([2 ** 30 - 1, Access.Write]);
    expect(() => table.map(0, 2, 2 ** 30 - 1, Access.Read)).toThrow(
      expect.objectContaining({
        name: 'RangeError',
        code: 'INVALID_FRAME',
        message: expect.stringMatching(/1073741824/),
      }),
    );
  });
});

describe('BufferFrames', () => {
  it('keeps frames one after the other, and refuses those that are not there', () => {
    const frames = new BufferFrames(3);
    frames.write(1, new Uint8Array(PAGE_BYTES).fill(4));
    frames.span(2, 1).fill(5);
    expect([0, 1, 2].map((frame) => frames.read(frame)[PAGE_BYTES - 1])).toEqual([0, 4, 5]);
    frames.clear(1);
    expect(frames.bytes.indexOf(4)).toBe(-1);
    for (const [frame, count] of [
      [2, 2],
      [-1, 1],
      [Number.NaN, 1],
    ])
      expect(() => frames.span(frame, count)).toThrow(
        expect.objectContaining({ code: 'INVALID_FRAME' }),
      );
  });
});

describe.each([
  ['a buffer', () => new BufferFrames(8)],
  ['a store of its own', () => storeOf(new Map([[3, new Uint8Array(PAGE_BYTES).fill(9)]]))],
])('CopyEngine with %s', (_name, framesOf) => {
  it('copies in, maps, and copies out what was copied in', () => {
    const engine = new CopyEngine(partsOf(framesOf()));
    expect(engine.transferIn(orderIn(1, HOME, 100, 3, 2, Access.Write, false))).toBe(
      Status.Pending,
    );
    expect(engine.transferIn(orderIn(2, 0, 200, 1, 3, Access.Read, true))).toBe(Status.Pending);
    expect(engine.transferOut(orderOut(3, 2, 3, HOME + 4 * PAGE_BYTES))).toBe(Status.Pending);
    const before = host.slice();
    expect(stepsOf({ progress: () => engine.progress() })).toBe(3);
    expect(transfers).toEqual([1, 2, 3].map((token) => [token, Status.Done]));
    expect([table.frame(102), table.access(102), table.frame(200), table.access(200)]).toEqual([
      4, 2, 3, 1,
    ]);
    before.copyWithin(4 * PAGE_BYTES, 0, 3 * PAGE_BYTES).fill(0, 5 * PAGE_BYTES, 6 * PAGE_BYTES);
    expect(Buffer.compare(host, before)).toBe(0);
  });

  it('moves so many pages at once, and maps them in one step at the end', () => {
    const engine = new CopyEngine(partsOf(framesOf(), 2));
    engine.transferIn(orderIn(1, HOME, 0, 5, 0, Access.Read, false));
    engine.progress();
    engine.progress();
    expect([transfers.length, table.access(0)]).toEqual([0, Access.None]);
    engine.progress();
    expect([transfers.length, table.access(0), table.access(4)]).toEqual([
      1,
      Access.Read,
      Access.Read,
    ]);
    engine.transferOut(orderOut(2, 0, 5, HOME));
    const before = host.slice();
    host.fill(0, 0, 5 * PAGE_BYTES);
    expect(stepsOf({ progress: () => engine.progress() })).toBe(3);
    expect(Buffer.compare(host, before)).toBe(0);
  });
});

describe('CopyEngine', () => {
  it('refuses memory as the context says, but not where there is some', () => {
    const engine = new CopyEngine({
      ...partsOf(new BufferFrames(8)),
      inject: { refuseLargerThanPages: 2 },
    });
    expect(engine.transferIn(orderIn(1, 0, 0, 3, 0, Access.Read, false))).toBe(Status.NoMemory);
    expect(engine.transferIn(orderIn(2, 0, 0, 2, 0, Access.Read, false))).toBe(Status.Pending);
    expect(engine.transferIn(orderIn(3, 0, 0, 3, 0, Access.Read, true))).toBe(Status.Pending);
  });

  it('answers what is queued when the memory is gone, and takes nothing more', () => {
    const engine = new CopyEngine(partsOf(new BufferFrames(8)));
    engine.transferIn(orderIn(1, HOME, 0, 1, 0, Access.Read, false));
    engine.lose();
    expect(transfers).toEqual([[1, Status.Lost]]);
    expect(engine.transferOut(orderOut(2, 0, 1, HOME))).toBe(Status.Lost);
    expect(engine.progress()).toBe(false);
  });

  it.each([0, -1, 1.5, Number.NaN])(
    'refuses to move %d pages at once, as launches do',
    (pagesAtOnce) => {
      const parts = partsOf(new BufferFrames(1), pagesAtOnce);
      const refused = expect.objectContaining({ name: 'RangeError', code: 'INVALID_ARGUMENT' });
      expect(() => new CopyEngine(parts)).toThrow(refused);
      expect(() => new LaunchQueue(parts)).toThrow(refused);
    },
  );
});

describe.each([
  ['a buffer', () => new BufferFrames(8)],
  ['a store of its own', () => storeOf(new Map())],
])('LaunchQueue with %s', (_name, framesOf) => {
  let frames: FrameStore;
  beforeEach(() => {
    frames = framesOf();
    for (let frame = 0; frame < 4; frame++) {
      frames.write(frame, host.subarray(frame * PAGE_BYTES, (frame + 1) * PAGE_BYTES));
    }
  });
  const content = (): Buffer =>
    Buffer.concat([0, 1, 2, 3].map((frame) => frames.read(frame).slice()));

  it('changes no more than the array, which begins and ends within pages that lie in any order', () => {
    table.map(10, 1, 3, Access.Write);
    table.map(11, 1, 1, Access.Write);
    table.map(12, 1, 0, Access.Write);
    const expected = content();
    const flip = (from: number, to: number): void => {
      for (let at = from; at < to; at++) expected[at] ^= 0xff;
    };
    flip(4 * PAGE_BYTES - 5, 4 * PAGE_BYTES);
    flip(PAGE_BYTES, 2 * PAGE_BYTES);
    flip(0, 6);
    kernel = ({ x }) => {
      const bytes = x as Uint8Array;
      for (let at = 0; at < bytes.length; at++) bytes[at] ^= 0xff;
    };
    const queue = new LaunchQueue(partsOf(frames));
    queue.add(launchOf(array('inout', 11 * PAGE_BYTES - 5, PAGE_BYTES + 11)));
    expect(stepsOf({ progress: () => queue.progress() })).toBe(1);
    expect(launches).toEqual([[7, null]]);
    expect(Buffer.compare(content(), expected)).toBe(0);
  });

  it('stops after so many pages, before and after the kernel', () => {
    table.map(0, 4, 0, Access.Write);
    let calls = 0;
    kernel = () => {
      calls++;
    };
    const queue = new LaunchQueue(partsOf(frames, 2));
    queue.add(launchOf(array('inout', 0, 4 * PAGE_BYTES)));
    queue.progress();
    expect([calls, launches.length]).toEqual([0, 0]);
    expect(stepsOf({ progress: () => queue.progress() })).toBe(4);
    expect([calls, launches.length]).toEqual([1, 1]);
  });
});

describe('LaunchQueue', () => {
  it('fails a launch whose page is not there as it is used, and goes on with the next', () => {
    table.map(0, 1, 0, Access.Read);
    const queue = new LaunchQueue(partsOf(new BufferFrames(1)));
    queue.add(launchOf(array('out', 0, 1)));
    queue.add(launchOf(array('in', 0, 1)));
    stepsOf({ progress: () => queue.progress() });
    expect(launches.map(([, failure]) => failure?.code)).toEqual(['ACCESS_DENIED', undefined]);
    expect(launches[0][1]?.message).toMatch(/^x: .* page 0 as 'out'$/);
  });

  it('fails a launch whose kernel throws or is asynchronous, and puts nothing back', () => {
    const frames = new BufferFrames(1);
    table.map(0, 1, 0, Access.Write);
    const queue = new LaunchQueue(partsOf(frames));
    for (const wrong of [() => Promise.resolve(), () => JSON.parse('{')]) {
      kernel = ({ x }) => {
        (x as Uint8Array).fill(1);
        return wrong();
      };
      queue.add(launchOf(array('inout', 0, 4)));
      queue.progress();
    }
    expect(launches.map(([, failure]) => failure?.code)).toEqual(['KERNEL_ERROR', 'KERNEL_ERROR']);
    expect(launches[0][1]?.message).toMatch(/asynchronous/);
    expect(frames.bytes.indexOf(1)).toBe(-1);
  });

  it('leaves what the store throws to the manager, which loses the device', () => {
    const torn: FrameStore = {
      ...storeOf(new Map()),
      read: () => expect.fail('the store is torn'),
    };
    table.map(0, 1, 0, Access.Write);
    const queue = new LaunchQueue(partsOf(torn));
    queue.add(launchOf(array('in', 0, 1)));
    expect(() => queue.progress()).toThrow(/torn/);
    expect(queue.progress()).toBe(false);
    expect(launches).toEqual([]);
  });

  it('fails all launches when the device is lost, and forgets them when it is closed', () => {
    const queue = new LaunchQueue(partsOf(new BufferFrames(1)));
    queue.add(launchOf());
    queue.lose('fell off the bus');
    expect(launches).toEqual([[7, { code: 'DEVICE_LOST', message: 'fell off the bus' }]]);
    queue.add(launchOf());
    queue.close();
    expect(queue.progress()).toBe(false);
  });
});
