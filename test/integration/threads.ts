/** Threads that touch the same pages at once, among themselves and with a device. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type AddressSpace, i32, kernel, type ManagedArray, openSpace } from '../../src/index.js';
import { note, runTests, sameData, test } from './suite.js';

const MIB = 2 ** 20;
const THREADS = 4;

type Job = Record<string, unknown>;

/** Threads that attach to arrays and begin together when they are told. */
class Team {
  private readonly workers: Worker[];
  private readonly gate = new Int32Array(new SharedArrayBuffer(4));

  constructor(arrays: Record<string, ManagedArray>, jobs: readonly Job[]) {
    const handles = Object.fromEntries(Object.entries(arrays).map(([name, array]) => [name, array.handle]));
    this.workers = jobs.map(
      (job) =>
        new Worker(new URL('./programs/team-thread.js', import.meta.url), {
          workerData: { handles, job, gate: this.gate },
        }),
    );
  }

  async ready(): Promise<void> {
    await Promise.all(this.workers.map((worker) => once(worker, 'message')));
  }

  /** Lets all go; what each has to say comes when it is through. */
  go(): Promise<unknown[]> {
    const results = this.workers.map(async (worker) => {
      // Both at once, since a main thread that was busy hears of both in one go.
      const [[result]] = await Promise.all([once(worker, 'message'), once(worker, 'exit')]);
      return result;
    });
    Atomics.store(this.gate, 0, 1);
    Atomics.notify(this.gate, 0);
    return Promise.all(results);
  }
}

async function withSpace(memory: string, action: (space: AddressSpace) => Promise<void>): Promise<void> {
  await using space = await openSpace({ devices: [{ kind: 'process', memory, units: 2 }] });
  await action(space);
  space.checkInvariants();
}

const increment = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i]++;
});

test('all threads fault on the same pages at once and read the same', () =>
  withSpace('8MiB', async (space) => {
    const n = 4 * MIB;
    const x = space.array(Int32Array, n);
    for (let i = 0; i < n; i++) x.data[i] = i % 1000;
    // Everything has been to the device and a part is still there.
    await space.devices[0].run(increment, { x }, { size: n });
    const team = new Team({ x }, new Array(THREADS).fill({ kind: 'sum' }));
    await team.ready();
    const sums = team.go();
    let own = 0;
    for (let i = 0; i < n; i++) own += x.data[i];
    let expected = 0;
    for (let i = 0; i < n; i++) expected += (i % 1000) + 1;
    assert.equal(own, expected);
    assert.deepEqual(await sums, new Array(THREADS).fill(expected));
  }));

test('Atomics count right on managed memory', () =>
  withSpace('8MiB', async (space) => {
    const counters = space.array(Int32Array, 16 * 1024);
    const rounds = 20_000;
    const team = new Team({ counters }, new Array(THREADS).fill({ kind: 'count', rounds }));
    await team.ready();
    const done = team.go();
    const { data } = counters;
    for (let i = 0; i < rounds; i++) Atomics.add(data, (i % 16) * 1024, 1);
    await done;
    for (let page = 0; page < 16; page++) assert.equal(data[page * 1024], ((THREADS + 1) * rounds) / 16);
  }));

test(
  'Atomics count right while a device takes the pages away all the time',
  () =>
    withSpace('8MiB', async (space) => {
      const [device] = space.devices;
      const counters = space.array(Int32Array, 16 * 1024);
      const rounds = 4_000_000;
      const add = kernel({ counters: i32.inout, rounds: i32 }, ({ counters, rounds }) => {
        for (let i = 0; i < rounds; i++) Atomics.add(counters, (i % 16) * 1024, 1);
      });
      const team = new Team({ counters }, new Array(2).fill({ kind: 'count', rounds }));
      await team.ready();
      const done = team.go();
      // One page is written by one processor at a time, so that even an atomic operation of the device counts.
      await device.run(add, { counters, rounds }, { size: 1 });
      await done;
      const { revocations } = device.stats();
      for (let page = 0; page < 16; page++) assert.equal(counters.data[page * 1024], (3 * rounds) / 16);
      note(`${revocations} times the device lost its right`);
      assert.ok(revocations > 0);
    }),
  30,
);

test(
  'threads and a device write disjoint elements of the same pages',
  () =>
    withSpace('8MiB', async (space) => {
      const [device] = space.devices;
      const n = 64 * 1024;
      const lanes = THREADS + 2;
      const x = space.array(Int32Array, n);
      const rounds = 40;
      const stripes = kernel({ x: i32.inout, lane: i32, lanes: i32, rounds: i32 }, ({ x, lane, lanes, rounds }) => {
        for (let round = 0; round < rounds; round++) for (let i = lane; i < x.length; i += lanes) x[i] += i;
      });
      const jobs = Array.from({ length: THREADS }, (_, lane) => ({ kind: 'stripe', lane, lanes, rounds }));
      const team = new Team({ x }, jobs);
      await team.ready();
      const done = team.go();
      const launch = device.run(stripes, { x, lane: THREADS, lanes, rounds }, { size: 1 });
      const { data } = x;
      for (let round = 0; round < rounds; round++) for (let i = THREADS + 1; i < n; i += lanes) data[i] += i;
      await Promise.all([done, launch]);
      sameData(data, (i) => i * rounds);
    }),
  30,
);

test('a thread works on a device of its own accord', () =>
  withSpace('8MiB', async (space) => {
    const n = 3 * MIB;
    const x = space.array(Int32Array, n);
    x.data.fill(10);
    const team = new Team({ x }, [
      { kind: 'launch', begin: 0, end: n / 2 },
      { kind: 'launch', begin: n / 2, end: n },
    ]);
    await team.ready();
    const done = team.go();
    const y = space.array(Int32Array, 1000);
    await space.devices[0].run(increment, { x: y }, { size: 1000 });
    assert.deepEqual(await done, ['launched', 'launched']);
    sameData(x.data, () => 14);
    sameData(y.data, () => 1);
  }));

test(
  'threads allocate, use and free at the same time',
  () =>
    withSpace('8MiB', async (space) => {
      const anchor = space.array(Int32Array, 1);
      const jobs = Array.from({ length: THREADS }, (_, seed) => ({ kind: 'allocate', seed: seed + 1, rounds: 12 }));
      const team = new Team({ anchor }, jobs);
      await team.ready();
      assert.deepEqual(await team.go(), new Array(THREADS).fill('all right'));
      anchor.free();
      assert.equal(space.stats().allocatedBytes, 0);
    }),
  30,
);

test('a thread hears of the end of the space', async () => {
  const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  const x = space.array(Int32Array, 4096);
  const team = new Team({ x }, [{ kind: 'after close' }]);
  await team.ready();
  await space.close();
  assert.deepEqual(await team.go(), ['SPACE_CLOSED SPACE_CLOSED SPACE_CLOSED 0']);
});

await runTests();
