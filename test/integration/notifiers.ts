/**
 * Subscribers of invalidations: in the manager, by a sequence number, and by events; good ones,
 * slow ones and bad ones.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import {
  type AddressSpace,
  attachNotifier,
  type Device,
  type InvalidationEvent,
  i32,
  kernel,
  type ManagedArray,
  openSpace,
} from '../../src/index.js';
import { goneWithin, Program, runProgram, type Traces } from '../harness/processes.js';
import { sharedSpace } from '../harness/spaces.js';
import {
  failsWith,
  LONG,
  longTest,
  note,
  runTests,
  sameData,
  sleep,
  test,
  variantTest,
} from '../harness/suite.js';
import { LOG_WORDS, REASONS } from './programs/notifier-modules.js';

const module = new URL('./programs/notifier-modules.js', import.meta.url);
const attaching = new URL('./programs/notifier-attaching.js', import.meta.url);
const thread = new URL('./programs/notifier-thread.js', import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'onemem-notifiers-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const KINDS = ['process', 'simulated'] as const;
/** Elements of a page, and of 64 KiB, which move together. */
const PAGE = 1024;
const GROUP = 16 * PAGE;
const BLOCK = 512 * PAGE;

const add = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});
const fill = kernel({ x: i32.out, value: i32 }, ({ x, value }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = value;
});
const look = kernel({ x: i32.in }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) if (x[i] === -12345) throw new Error('never');
});

async function withSpace(
  kind: (typeof KINDS)[number],
  action: (space: AddressSpace, device: Device) => Promise<void>,
): Promise<void> {
  await using space = await sharedSpace({
    devices: [{ kind, memory: '8MiB', name: 'gpu' }],
    checkInvariants: true,
  });
  await action(space, space.devices[0]);
}

interface Entry {
  readonly kind: 'before' | 'after';
  readonly owner: 'host' | 'device';
  readonly reason: (typeof REASONS)[number];
  readonly begin: number;
  readonly end: number;
  readonly firstPage: number;
  readonly pages: number;
}

/** What the module `log` has noted since the last time. */
class Log {
  readonly words = new Int32Array(new SharedArrayBuffer(4 * (1 + 400 * LOG_WORDS)));
  private read = 0;

  take(): Entry[] {
    const entries: Entry[] = [];
    for (; this.read < Atomics.load(this.words, 0); this.read++) {
      const at = 1 + this.read * LOG_WORDS;
      const [kind, reason, begin, end, firstPage, pages] = this.words.subarray(at, at + LOG_WORDS);
      entries.push({
        kind: kind % 2 === 0 ? 'before' : 'after',
        owner: kind < 2 ? 'host' : 'device',
        reason: REASONS[reason],
        begin,
        end,
        firstPage,
        pages,
      });
    }
    return entries;
  }

  /**
   * The same, without those that are the second half of a change. Each change must be whole, if
   * only a moment later.
   */
  async changes(): Promise<Entry[]> {
    const entries: Entry[] = [];
    const open: Entry[] = [];
    const next = (entry: Entry): void => {
      entries.push(entry);
      if (entry.kind === 'before') open.push(entry);
      else {
        const at = open.findIndex(
          ({ firstPage, reason }) => firstPage === entry.firstPage && reason === entry.reason,
        );
        assert.notEqual(at, -1, `${JSON.stringify(entry)} ends, and had not begun`);
        assert.deepEqual({ ...open[at], kind: 'after' }, entry);
        open.splice(at, 1);
      }
    };
    await until('the end of a change', () => {
      this.take().forEach(next);
      return open.every(({ reason }) => reason === 'release');
    });
    return entries.filter(({ kind }) => kind === 'before');
  }
}

function reasonsOf(entries: readonly { readonly reason: string }[]): string[] {
  return [...new Set(entries.map(({ reason }) => reason))].sort();
}

async function until(what: string, condition: () => boolean): Promise<void> {
  for (const end = performance.now() + 30_000; !condition(); await sleep(2))
    if (performance.now() > end) assert.fail(`${what} did not come`);
}

/** Changes without what differs from run to run. */
function placesOf(changes: readonly Entry[]): object[] {
  return changes.map(({ reason, firstPage, pages }) => ({ reason, firstPage, pages }));
}

for (const kind of KINDS) {
  test(`pages that move are told with their elements and their new owner (${kind})`, () =>
    withSpace(kind, async (space, device) => {
      const log = new Log();
      const n = 2 * BLOCK;
      const x = space.array(Int32Array, n - 5, { name: 'x' });
      const notifier = await x.watch({ module, export: 'log', data: log.words });
      assert.equal(space.stats().notifiers, 1);
      x.data.fill(1);
      assert.deepEqual(log.take(), [], 'what nobody had is taken from nobody');

      let begun = notifier.readBegin();
      await device.run(add, { x }, { size: x.length });
      assert.ok(notifier.readRetry(begun));
      let changes = await log.changes();
      assert.deepEqual(reasonsOf(changes), ['migrate']);
      assert.ok(changes.every(({ owner }) => owner === 'device'));
      assert.equal(Math.min(...changes.map(({ begin }) => begin)), 0);
      assert.equal(Math.max(...changes.map(({ end }) => end)), x.length);
      assert.equal(Math.max(...changes.map(({ firstPage, pages }) => firstPage + pages)), n / PAGE);

      begun = notifier.readBegin();
      assert.equal(x.data[BLOCK + 3], 2);
      assert.ok(notifier.readRetry(begun));
      changes = await log.changes();
      assert.deepEqual(reasonsOf(changes), ['migrate']);
      assert.ok(changes.every(({ owner }) => owner === 'host'));
      assert.ok(changes.some(({ begin, end }) => begin <= BLOCK + 3 && BLOCK + 3 < end));

      begun = notifier.readBegin();
      assert.equal(x.data[BLOCK + 4], 2);
      assert.equal(notifier.readRetry(begun), false, 'nothing moves, and nothing is told');
      assert.deepEqual(await log.changes(), []);
    }));

  test(`exclusive access, clones and launches that only write are told by their reasons (${kind})`, () =>
    withSpace(kind, async (space, device) => {
      const log = new Log();
      const x = space.array(Int32Array, 2 * BLOCK - 5, { name: 'x' });
      await x.watch({ module, export: 'log', data: log.words });
      x.data.fill(1);
      using stream = device.stream();
      stream.exclusive(x.range(BLOCK, BLOCK + PAGE));
      await stream.synchronize();
      assert.deepEqual(
        (await log.changes()).map(({ reason, begin, end, owner }) => ({
          reason,
          begin,
          end,
          owner,
        })),
        [{ reason: 'exclusive', begin: BLOCK, end: BLOCK + PAGE, owner: 'device' }],
      );
      const clone = await x.clone();
      assert.deepEqual(reasonsOf(await log.changes()), ['protect'], 'a write must be noticed');
      clone.free();
      await device.run(fill, { x, value: 7 }, { size: x.length });
      assert.ok(reasonsOf(await log.changes()).includes('discard'));
      assert.equal(x.data[9], 7);
    }));

  test(`rights that are lowered and parts that are discarded are told, and nothing that takes nothing (${kind})`, () =>
    withSpace(kind, async (space) => {
      const log = new Log();
      const x = space.array(Int32Array, BLOCK, { name: 'x' });
      await x.watch({ module, export: 'log', data: log.words });
      x.data.fill(1);
      const part = { begin: 4 * PAGE, end: 6 * PAGE };
      await x.protect('none', part);
      assert.deepEqual(placesOf(await log.changes()), [
        { reason: 'protect', firstPage: 4, pages: 2 },
      ]);
      await x.protect('none', part);
      await x.protect('readwrite', part);
      assert.deepEqual(await log.changes(), [], 'nothing is taken from anybody');
      await x.discard({ begin: PAGE, end: 3 * PAGE });
      assert.deepEqual(placesOf(await log.changes()), [
        { reason: 'discard', firstPage: 1, pages: 2 },
      ]);
    }));

  test(`what is freed, by part and as a whole, is told, and ends the notifier (${kind})`, () =>
    withSpace(kind, async (space) => {
      const log = new Log();
      const x = space.array(Int32Array, BLOCK - 5, { name: 'x' });
      const notifier = await x.watch({ module, export: 'log', data: log.words });
      x.data.fill(1);
      const freed = x.free({ begin: 10 * PAGE, end: 20 * PAGE });
      assert.deepEqual(
        (await log.changes()).map(({ reason, begin, end, pages, owner }) => ({
          reason,
          begin,
          end,
          pages,
          owner,
        })),
        [{ reason: 'unmap', ...freed, pages: 10, owner: 'host' }],
      );
      x.free();
      assert.deepEqual(
        (await log.changes()).map(({ reason, begin, end, pages }) => ({
          reason,
          begin,
          end,
          pages,
        })),
        [{ reason: 'release', begin: 0, end: x.length, pages: BLOCK / PAGE }],
      );
      assert.ok(notifier.readRetry(0));
      await failsWith('NOTIFIER_ENDED', () => notifier.readBegin());
      assert.ok(notifier.isClosed);
      assert.equal(space.stats().notifiers, 0);
    }));

  test(`events say all that has changed (${kind})`, () =>
    withSpace(kind, async (space, device) => {
      const x = space.array(Int32Array, BLOCK - 5, { name: 'x' });
      const events: InvalidationEvent[] = [];
      const notifier = await x.watch({ onInvalidate: (event) => events.push(event) });
      x.data.fill(1);
      await device.run(add, { x }, { size: x.length });
      assert.equal(x.data[3], 2);
      using stream = device.stream();
      await stream.exclusive(x.range(0, PAGE)).synchronize();
      await x.protect('none', { begin: 4 * PAGE, end: 6 * PAGE });
      await x.discard({ begin: PAGE, end: 3 * PAGE });
      x.free({ begin: 10 * PAGE, end: 20 * PAGE });
      x.free();
      const all = (): string[] => reasonsOf(events.flatMap((event) => event.changes));
      await until('the last event', () => all().includes('release'));
      assert.deepEqual(all(), ['discard', 'exclusive', 'migrate', 'protect', 'release', 'unmap']);
      assert.equal(notifier.lost, 0);
      assert.equal(notifier.detached, null);
      for (const { begin, end } of events.flatMap((event) => event.changes))
        assert.ok(begin >= 0 && begin < end && end <= x.length, `${begin} to ${end}`);
    }));

  test(`the owner filter leaves out what the processor does itself (${kind})`, () =>
    withSpace(kind, async (space, device) => {
      const x = space.array(Int32Array, GROUP, { name: 'x' });
      const [byDevice, byHost, byAll] = [new Log(), new Log(), new Log()];
      await x.watch({ module, export: 'log', data: byDevice.words, owner: device });
      await x.watch({ module, export: 'log', data: byHost.words, owner: 'host' });
      await x.watch({ module, export: 'log', data: byAll.words });
      for (let round = 0; round < 3; round++) {
        x.data.fill(round);
        await device.run(add, { x }, { size: x.length });
        assert.equal(x.data[GROUP - 1], round + 1);
      }
      const [device1, host1, all] = [
        await byDevice.changes(),
        await byHost.changes(),
        await byAll.changes(),
      ];
      assert.ok(device1.length >= 3 && device1.every(({ owner }) => owner === 'host'));
      assert.ok(host1.length >= 3 && host1.every(({ owner }) => owner === 'device'));
      assert.equal(all.length, device1.length + host1.length);
    }));

  (kind === 'process' ? test : longTest)(
    `a mirror that forgets what it is told of never knows more than is true (${kind})`,
    () =>
      withSpace(kind, async (space, device) => {
        const n = 3 * BLOCK;
        const pages = n / PAGE;
        const x = space.array(Int32Array, n, { name: 'x' });
        const [table, stale] = [0, 1].map(
          () => new Int32Array(new SharedArrayBuffer(4 * (pages + 1))),
        );
        const notifier = await x.watch({ module, export: 'mirror', data: table });
        const naive = await x.watch({ module, export: 'blind' });
        const random = seeded();
        let kept = 0;
        let wrong = 0;
        for (let round = 0; round < (LONG ? 60 : 30); round++) {
          await change(x, device, random);
          const truth = rightsOf(x);
          for (let page = 0; page < pages; page++) {
            const known = Atomics.load(table, page);
            if ((known & ~truth[page]) !== 0)
              assert.fail(
                `round ${round}: the mirror knows ${known} of page ${page}, and true is ${truth[page]}`,
              );
            if (known !== 0) kept++;
            if ((stale[page] & ~truth[page]) !== 0) wrong++;
          }
          // Learns again, as a device that faults does: what it read counts only if nothing has
          // changed meanwhile.
          for (let begun = -1; begun === -1 || notifier.readRetry(begun); ) {
            begun = notifier.readBegin();
            const now = rightsOf(x);
            for (let page = 0; page < pages; page++) Atomics.store(table, page, now[page]);
            stale.set(now);
          }
        }
        assert.ok(table[pages] > 0, 'nothing was ever forgotten');
        assert.ok(kept > 0, 'nothing was ever kept');
        assert.ok(wrong > 0, 'a mirror that forgets nothing would have passed, too');
        sameData(table.subarray(0, pages), (page) => rightsOf(x)[page]);
        naive.close();
        note(
          `${kept} entries were kept and ${table[pages]} forgotten; without a notifier ${wrong} would have been wrong`,
        );
      }),
    60,
  );

  (kind === 'process' ? test : longTest)(
    `a thread that reads by the sequence number takes no torn copy for good (${kind})`,
    () =>
      withSpace(kind, async (space, device) => {
        const x = space.array(Int32Array, 2 * GROUP, { name: 'x' });
        x.data.fill(0);
        const notifier = await x.watch();
        const stop = new Int32Array(new SharedArrayBuffer(4));
        const reader = new Worker(thread, {
          workerData: { what: 'read', handle: x.handle, notifier: notifier.handle, stop },
        });
        await once(reader, 'message');
        const climb = kernel({ x: i32.inout, rounds: i32 }, ({ x, rounds }) => {
          for (let round = 0; round < rounds; round++) {
            for (let i = 0; i < x.length; i++) x[i]++;
            // Time for readers.
            const end = Date.now() + 2;
            while (Date.now() < end);
          }
        });
        const end = performance.now() + (LONG ? 3000 : 1000);
        let rounds = 0;
        while (performance.now() < end) {
          await device.run(climb, { x, rounds: 20 }, { size: 1 });
          rounds += 20;
        }
        Atomics.store(stop, 0, 1);
        const [[found]] = await Promise.all([once(reader, 'message'), once(reader, 'exit')]);
        note(`${rounds} rounds: ${JSON.stringify(found)}`);
        assert.equal(found.torn, 0);
        assert.ok(found.good > 0 && found.rounds > 1, 'no copy of the array as it was meanwhile');
        assert.ok(found.retries > 0, 'it was never told to try again');
        sameData(x.data, () => rounds);
      }),
    60,
  );
}

/** The rights that processors have of each page, a bit for reading and one for writing. */
function rightsOf(x: ManagedArray): Int32Array {
  const result = new Int32Array(Math.ceil(x.length / PAGE));
  for (const { begin, end, access } of x.residency().runs) {
    let bits = 0;
    if (access.host !== undefined) bits |= access.host === 'write' ? 3 : 1;
    if (access.gpu !== undefined) bits |= access.gpu === 'write' ? 12 : 4;
    result.fill(bits, begin / PAGE, Math.ceil(end / PAGE));
  }
  return result;
}

/** A launch over elements [begin, end). */
function part(
  x: ManagedArray,
  begin: number,
  end: number,
): { size: number; begin: number; end: number } {
  return { size: x.length, begin, end };
}

function seeded(): (below: number) => number {
  let state = Number(process.env.ONEMEM_SEED ?? 1) | 1;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 8) % below;
  };
}

/** Something that moves pages of a part of the array, by the CPU or the device. */
async function change(
  x: ManagedArray<Int32Array>,
  device: Device,
  random: (below: number) => number,
): Promise<void> {
  const begin = random(x.length);
  const end = begin + 1 + random(Math.min(x.length - begin, BLOCK));
  const what = random(8);
  if (what === 0) x.data.fill(random(100), begin, end);
  else if (what === 1) for (let i = begin; i < end; i += PAGE) assert.ok(x.data[i] > -1);
  else if (what === 2) await device.run(add, { x }, part(x, begin, end));
  else if (what === 3) await device.run(look, { x }, part(x, begin, end));
  else if (what === 4)
    await device.run(
      fill,
      { x, value: 5 },
      random(2) === 0 ? { size: x.length } : { size: x.length, begin, end },
    );
  else if (what === 5) x.advise({ accessedBy: random(2) === 0 ? device : null }, { begin, end });
  else if (what === 6) {
    // Nothing is freed, but everything changes hands.
    using pin = await x.pin({ begin, end: Math.min(end, begin + GROUP), lock: false });
    assert.ok(pin !== null);
  } else {
    using stream = device.stream();
    stream.prefetch(x.range(begin, end));
    await stream.synchronize();
  }
}

test('a file array tells that it is flushed and reloaded', () =>
  withSpace('process', async (space) => {
    const path = join(folder, 'numbers');
    writeFileSync(path, new Uint8Array(16 * 4096).fill(1));
    const x = space.fileArray(Int32Array, path, { shared: true, name: 'x' });
    const log = new Log();
    await x.watch({ module, export: 'log', data: log.words });
    x.data.fill(3);
    log.take();
    await x.flush();
    assert.deepEqual(reasonsOf(await log.changes()), ['protect'], 'the right to write is taken');
    await x.flush();
    assert.deepEqual(await log.changes(), [], 'what is clean is left alone');
    await x.reload();
    assert.deepEqual(reasonsOf(await log.changes()), ['discard']);
    assert.equal(x.data[5], 3);
  }));

test('an array that gets shorter and longer tells so, and watches what it grows by', () =>
  withSpace('process', async (space, device) => {
    const x = space.array(Int32Array, 8 * PAGE, { name: 'x', maxLength: 12 * PAGE });
    const log = new Log();
    const changes: InvalidationEvent['changes'][number][] = [];
    const notifier = await x.watch({
      module,
      export: 'log',
      data: log.words,
      onInvalidate: (event) => changes.push(...event.changes),
    });
    const { handle } = x;
    x.data.fill(1);
    await x.resize(5 * PAGE);
    const resized = await log.changes();
    assert.deepEqual(
      resized.map(({ reason, firstPage, pages, begin, end }) => ({
        reason,
        firstPage,
        pages,
        begin,
        end,
      })),
      [{ reason: 'resize', firstPage: 5, pages: 3, begin: 5 * PAGE, end: 8 * PAGE }],
    );
    await until('the event', () => changes.length === 1);
    assert.deepEqual(changes, [{ reason: 'resize', begin: 5 * PAGE, end: 8 * PAGE }]);

    await x.resize(12 * PAGE);
    assert.deepEqual(await log.changes(), [], 'growing takes nothing from anybody');
    x.data.fill(2);
    await device.run(add, { x }, { size: x.length });
    const grown = await log.changes();
    assert.equal(Math.max(...grown.map(({ end }) => end)), 12 * PAGE);
    await until('the event', () => changes.some(({ end }) => end === 12 * PAGE));

    const begun = notifier.readBegin();
    await x.resize(13 * PAGE);
    assert.deepEqual(reasonsOf(await log.changes()), ['protect', 'release'], 'it has moved');
    assert.ok(notifier.readRetry(begun) && notifier.isClosed);
    assert.equal(space.stats().notifiers, 0);
    sameData(x.data, (index) => (index < 12 * PAGE ? 3 : 0));
    await failsWith('STALE_HANDLE', () => space.attachArray(handle).watch());
    using again = await x.watch();
    assert.equal(again.readRetry(again.readBegin()), false);
  }));

test('a part is watched alone, and only as long as it is wanted', () =>
  withSpace('process', async (space, device) => {
    const x = space.array(Int32Array, 4 * BLOCK, { name: 'x' });
    const log = new Log();
    const notifier = await x.watch({
      begin: BLOCK + 7,
      end: BLOCK + 2 * PAGE,
      module,
      export: 'log',
      data: log.words,
    });
    const other = await x.watch({ begin: 3 * BLOCK });
    x.data.fill(1);
    const begun = other.readBegin();
    await device.run(add, { x }, part(x, 0, BLOCK));
    assert.deepEqual(await log.changes(), []);
    await device.run(add, { x }, part(x, BLOCK, 2 * BLOCK));
    const changes = await log.changes();
    assert.ok(changes.length > 0);
    for (const { begin, end, firstPage, pages } of changes) {
      assert.ok(begin >= BLOCK && end <= BLOCK + 2 * PAGE, `${begin} to ${end}`);
      assert.ok(firstPage >= 512 && firstPage + pages <= 514, `${firstPage} and ${pages} pages`);
    }
    assert.equal(other.readRetry(begun), false);
    const own = notifier.readBegin();
    assert.equal(space.stats().notifiers, 2);
    notifier.close();
    notifier.close();
    assert.equal(space.stats().notifiers, 1);
    x.data.fill(1);
    await device.run(add, { x }, { size: x.length });
    assert.deepEqual(log.take(), [], 'told after it was closed');
    assert.ok(notifier.readRetry(own), 'nobody counts any more');
    await failsWith('NOTIFIER_ENDED', () => notifier.readBegin());
    {
      using third = await x.watch();
      assert.equal(space.stats().notifiers, 2);
      assert.equal(third.isClosed, false);
    }
    assert.equal(space.stats().notifiers, 1);
    assert.ok(other.readRetry(begun));
  }));

test('a slow subscriber is told the rest at once when it is through, and how much it missed', () =>
  withSpace('process', async (space, device) => {
    const blocks = 12;
    const x = space.array(Int32Array, blocks * BLOCK, { name: 'x' });
    const events: InvalidationEvent[] = [];
    const gate = deferred();
    let running = 0;
    const notifier = await x.watch({
      queue: 3,
      onInvalidate: async (event) => {
        assert.equal(++running, 1, 'called while it runs');
        events.push(event);
        await gate.promise;
        running--;
      },
    });
    const fast: InvalidationEvent[] = [];
    await x.watch({ onInvalidate: (event) => fast.push(event) });
    for (let block = 0; block < blocks; block++) x.data[block * BLOCK] = 1;
    await device.run(add, { x }, part(x, 0, PAGE));
    await until('the first event', () => events.length === 1);
    // Of every other block, so that nothing can be merged.
    for (let block = 2; block < blocks; block += 2)
      await device.run(add, { x }, part(x, block * BLOCK, block * BLOCK + PAGE));
    assert.equal(events.length, 1);
    gate.resolve();
    await until('the second event', () => events.length === 2);
    assert.equal(events[0].lost, 0);
    assert.equal(events[1].changes.length, 3);
    assert.equal(events[1].lost, 2);
    await until('the count', () => notifier.lost === 2);
    for (const [index, { begin, end, reason }] of events[1].changes.entries()) {
      assert.ok(
        begin <= (index + 1) * 2 * BLOCK && end > (index + 1) * 2 * BLOCK,
        `${begin} to ${end}`,
      );
      assert.equal(reason, 'migrate');
    }
    await until(
      'what the other one is told',
      () => fast.flatMap(({ changes }) => changes).length >= 6,
    );
    assert.equal(
      fast.reduce((lost, event) => lost + event.lost, 0),
      0,
    );
  }));

test('dirty() says what may have been written, and young() which processors have used what since it was last asked', () =>
  withSpace('process', async (space, device) => {
    const n = 6 * BLOCK - 100;
    const x = space.array(Int32Array, n, { name: 'x' });
    assert.deepEqual([x.dirty(), x.young()], [[], []]);
    assert.equal(x.data[0], 0);
    assert.deepEqual(x.dirty(), [], 'reading makes nothing dirty');
    assert.deepEqual(x.young({ clear: false }), [{ begin: 0, end: BLOCK, processors: ['host'] }]);
    assert.deepEqual(x.young({ begin: BLOCK }), [], 'another part was asked for');
    assert.deepEqual(x.young(), [{ begin: 0, end: BLOCK, processors: ['host'] }]);
    assert.deepEqual(x.young(), []);

    x.data[2 * BLOCK + 5] = 1;
    x.data[n - 1] = 1;
    const runs = x.dirty();
    assert.equal(runs.length, 2);
    assert.ok(
      runs[0].begin <= 2 * BLOCK + 5 && runs[0].end > 2 * BLOCK + 5 && runs[0].end <= 3 * BLOCK,
    );
    assert.equal(runs[1].end, n);
    assert.deepEqual(x.dirty({ begin: 2 * BLOCK + 3, end: 2 * BLOCK + 7 }), [
      { begin: 2 * BLOCK + 3, end: 2 * BLOCK + 7 },
    ]);
    assert.deepEqual(x.young(), [
      { begin: 2 * BLOCK, end: 3 * BLOCK, processors: ['host'] },
      { begin: 5 * BLOCK, end: n, processors: ['host'] },
    ]);

    // A kernel that touches one element of what it was given has been launched over all of it.
    const touch = kernel({ x: i32.inout }, ({ x }) => {
      x[0]++;
    });
    await device.run(touch, { x }, { size: 1 });
    assert.deepEqual(x.young(), [{ begin: 0, end: n, processors: ['gpu'] }]);
    assert.equal(x.data[0], 1);
    assert.deepEqual(x.young(), [{ begin: 0, end: BLOCK, processors: ['host'] }]);
    assert.equal(x.data[0], 1);
    assert.deepEqual(x.young(), [], 'what is there already is used without a trace');
    const dirty = x.dirty();
    assert.deepEqual(dirty[0].begin, 0);
    assert.ok(dirty.length === 3 && dirty[0].end <= BLOCK);
    await x.discard();
    assert.deepEqual(x.dirty(), []);
  }));

longTest(
  'a part of a file array is dirty until it is flushed, and a new device has used nothing',
  async () => {
    const path = join(folder, 'dirty');
    writeFileSync(path, new Uint8Array(BLOCK * 4).fill(1));
    await using space = await openSpace({
      devices: [{ kind: 'process', memory: '8MiB', name: 'gpu' }],
    });
    const x = space.fileArray(Int32Array, path, { shared: true, name: 'x' });
    assert.equal(x.data[7], 0x01010101);
    assert.deepEqual(x.dirty(), []);
    x.data[7] = 3;
    assert.equal(x.dirty().length, 1);
    await x.flush();
    assert.deepEqual(x.dirty(), []);
    x.data[7] = 4;
    assert.equal(x.dirty().length, 1);
    await x.reload({ discard: true });
    assert.deepEqual(x.dirty(), []);
    assert.equal(x.data[7], 3);
    await space.devices[0].run(look, { x }, { size: x.length });
    await space.devices[0].detach();
    assert.deepEqual(x.young({ clear: false }), [{ begin: 0, end: BLOCK, processors: ['host'] }]);
  },
);

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

test('subscriptions end with their thread, however it ends', () =>
  withSpace('process', async (space, device) => {
    const x = space.array(Int32Array, GROUP, { name: 'x' });
    x.data.fill(1);
    const leaves = new Worker(thread, { workerData: { what: 'watch and exit', handle: x.handle } });
    await once(leaves, 'exit');
    assert.equal(space.stats().notifiers, 0);
    const killed = new Worker(thread, { workerData: { what: 'watch', handle: x.handle } });
    await once(killed, 'message');
    assert.equal(space.stats().notifiers, 2);
    await device.run(add, { x }, { size: x.length });
    await killed.terminate();
    // Another one that comes has the manager forget the thread; what is told then has no thread to
    // hear it.
    await once(
      new Worker(thread, { workerData: { what: 'watch and exit', handle: x.handle } }),
      'exit',
    );
    x.data.fill(1);
    await device.run(add, { x }, { size: x.length });
    x.data.fill(1);
    await device.run(add, { x }, { size: x.length });
    await until('the end of the subscriptions', () => space.stats().notifiers === 0);
    sameData(x.data, () => 2);
  }));

longTest('a device that dies takes its pages along with a word', () =>
  withSpace('process', async (_space, device) => {
    const x = device.space.array(Int32Array, GROUP, { name: 'x' });
    const log = new Log();
    const notifier = await x.watch({ module, export: 'log', data: log.words });
    await device.run(add, { x }, { size: x.length });
    await log.changes();
    const begun = notifier.readBegin();
    const told = Atomics.load(log.words, 0);
    process.kill(device.pid as number, 'SIGKILL');
    // The number of the range is raised before the module is called.
    await until('the news', () => Atomics.load(log.words, 0) > told);
    assert.ok(notifier.readRetry(begun));
    const [change] = await log.changes();
    assert.deepEqual(change, {
      kind: 'before',
      owner: 'device',
      reason: 'migrate',
      begin: 0,
      end: GROUP,
      firstPage: 0,
      pages: 16,
    });
    sameData(x.data, () => 1);
  }),
);

longTest('a space that closes tells its subscribers', async () => {
  const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  const x = space.array(Int32Array, GROUP);
  x.data.fill(1);
  const log = new Log();
  const reasons: string[] = [];
  const notifier = await x.watch({
    module,
    export: 'log',
    data: log.words,
    onInvalidate: ({ changes }) => reasons.push(...reasonsOf(changes)),
  });
  const begun = notifier.readBegin();
  await space.close();
  assert.deepEqual(
    log.take().map(({ kind, reason, pages }) => ({ kind, reason, pages })),
    [{ kind: 'before', reason: 'release', pages: 16 }],
  );
  assert.ok(notifier.readRetry(begun));
  assert.ok(notifier.isClosed);
  await failsWith('NOTIFIER_ENDED', () => notifier.readBegin());
  await until('the event', () => reasons.includes('release'));
  notifier.close();
});

const complaints: Record<string, RegExp> = {
  throwing: /invalidate threw RangeError: no such entry$/,
  throwingNonsense: /invalidate threw something that has no text$/,
  slow: /invalidate took \d+\.\d ms, and may take 1 ms$/,
  waiting: /invalidate took \d+\.\d ms, and may take 1 ms$/,
  later: /invalidate returned a promise, and must be through when it returns$/,
};

for (const [name, complaint] of Object.entries(complaints)) {
  variantTest(`a module that is ${name} is warned about and not called again`, async () => {
    const { code, stdout, stderr } = await runProgram('notifier-program', [name]);
    assert.equal(code, 0, stderr);
    const lines = stderr.trimEnd().split('\n');
    assert.equal(lines.length, 1, stderr);
    assert.match(lines[0], complaint);
    assert.match(
      lines[0],
      new RegExp(
        `^onemem: warning: the notifier of array numbers \\(${name} of file:.*notifier-modules\\.js\\)`,
      ),
    );
    assert.deepEqual(stdout.match(/^element .*$/gm), ['element 2', 'element 3', 'element 4']);
    const told = JSON.parse(/^told (.*)$/m.exec(stdout)?.[1] ?? '{}');
    // A short wait may be an accident; the third in a row is none.
    assert.equal(told.calls, name === 'waiting' ? 3 : 1);
    assert.match(told.detached, complaint);
    assert.equal(told.also, told.detached);
    assert.ok(told.begun >= 12 && told.begun % 2 === 0, `the number went on to ${told.begun}`);
    assert.equal(told.same, false);
  });
}

for (const [name, message] of [
  [
    'endless',
    /^onemem: the memory manager has not moved for 2 s\. Managed memory cannot be served/,
  ],
  ['exiting', /^onemem: the memory manager ended with code 3\. Managed memory cannot be served/],
] as const) {
  variantTest(
    `a module that is ${name} ends the process with a message that names the manager`,
    async () => {
      const program = new Program('notifier-program', [name]);
      const traces = JSON.parse(await program.line('traces ')) as Traces;
      const { signal, stdout, stderr } = await program.outcome;
      assert.equal(signal, 'SIGKILL');
      assert.doesNotMatch(stdout, /^element/m);
      assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
      assert.match(stderr, message);
      assert.deepEqual(await goneWithin(10_000, traces), []);
    },
  );
}

test('modules that cannot be loaded, and wrong arguments, are refused by name', () =>
  withSpace('process', async (space) => {
    const x = space.array(Int32Array, GROUP, { name: 'x' });
    const message = async (code: string, options: Parameters<typeof x.watch>[0]): Promise<string> =>
      (await failsWith(code, () => x.watch(options))).message;
    const refused = (name: string, data?: unknown): Promise<string> =>
      message('NOTIFIER_MODULE', { module, export: name, data });
    assert.match(
      await refused('missing'),
      /cannot watch array x: export 'missing' of file:.*is no function; the module exports .*mirror/,
    );
    assert.match(await refused('noFunction'), /is no function/);
    assert.match(await refused('nothing'), /must return an object with a function invalidate/);
    assert.match(await refused('failing'), /threw Error: not today/);
    assert.match(
      await message('NOTIFIER_MODULE', { module: attaching, data: x.handle }),
      /threw OnememError: cannot attach: this is the thread of the space's manager/,
    );
    assert.match(
      await message('NOTIFIER_MODULE', {
        module: new URL('./programs/nowhere.js', import.meta.url),
      }),
      /export 'default' of file:.*nowhere\.js cannot be loaded: there is no file .*nowhere\.js; new URL/,
    );
    assert.match(await message('NOTIFIER_MODULE', { module: './x.js' }), /is no URL/);
    assert.match(await message('NOTIFIER_MODULE', { data: 7 }), /no module/);
    assert.match(await message('NOTIFIER_DATA', { module, data: () => 1 }), /cannot be sent/);
    for (const queue of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      await message('NOTIFIER_QUEUE', { queue, onInvalidate: () => undefined });
    for (const end of [-1, GROUP + 1, Number.NaN]) await message('ARRAY_RANGE', { end });
    await message('NOTIFIER_FUNCTION', { onInvalidate: 7 as never });
    await message('NOTIFIER_OWNER', { owner: 'gpu' as never });
    await failsWith('NOTIFIER_HANDLE', () => attachNotifier({} as never));
    assert.equal(space.stats().notifiers, 0);
    x.free();
    await failsWith('USE_AFTER_FREE', () => x.watch());
  }));

await runTests();
