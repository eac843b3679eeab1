/** Threads that touch the same pages at once, among themselves and with a device. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import {
  type AddressSpace,
  i32,
  kernel,
  type ManagedArray,
  openSpace,
  u32,
} from '../../src/index.js';
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
} from '../harness/suite.js';

const MIB = 2 ** 20;
const THREADS = 4;

type Job = Record<string, unknown>;

/** Threads that attach to arrays and begin together when they are told. */
class Team {
  private readonly workers: Worker[];
  private readonly gate = new Int32Array(new SharedArrayBuffer(4));

  constructor(arrays: Record<string, ManagedArray>, jobs: readonly Job[]) {
    const handles = Object.fromEntries(
      Object.entries(arrays).map(([name, array]) => [name, array.handle]),
    );
    this.workers = jobs.map(
      (job) =>
        new Worker(new URL('./programs/team-thread.js', import.meta.url), {
          workerData: { handles, job, gate: this.gate },
        }),
    );
  }

  /** Ends all threads, whatever they do. */
  async terminate(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.terminate()));
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

async function withSpace(
  memory: string,
  action: (space: AddressSpace) => Promise<void>,
): Promise<void> {
  await using space = await sharedSpace({ devices: [{ kind: 'process', memory, units: 2 }] });
  await action(space);
  space.checkInvariants();
}

const increment = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i]++;
});

longTest('all threads fault on the same pages at once and read the same', () =>
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
  }),
);

longTest('Atomics count right on managed memory', () =>
  withSpace('8MiB', async (space) => {
    const counters = space.array(Int32Array, 16 * 1024);
    const rounds = 20_000;
    const team = new Team({ counters }, new Array(THREADS).fill({ kind: 'count', rounds }));
    await team.ready();
    const done = team.go();
    const { data } = counters;
    for (let i = 0; i < rounds; i++) Atomics.add(data, (i % 16) * 1024, 1);
    await done;
    for (let page = 0; page < 16; page++)
      assert.equal(data[page * 1024], ((THREADS + 1) * rounds) / 16);
  }),
);

longTest('Atomics count right while a device takes the pages away all the time', () =>
  withSpace('8MiB', async (space) => {
    const [device] = space.devices;
    const counters = space.array(Int32Array, 16 * 1024);
    const rounds = 4_000_000;
    const add = kernel({ counters: i32.inout, rounds: i32 }, ({ counters, rounds }) => {
      for (let i = 0; i < rounds; i++) Atomics.add(counters, (i % 16) * 1024, 1);
    });
    let times = 0;
    // A machine that is busy may let the threads end before the device begins.
    for (; times < 10 && device.stats().revocations === 0; times++) {
      const team = new Team({ counters }, new Array(2).fill({ kind: 'count', rounds }));
      await team.ready();
      const done = team.go();
      // One page is written by one processor at a time, so that even an atomic operation of the
      // device counts.
      await device.run(add, { counters, rounds }, { size: 1 });
      await done;
    }
    const { revocations } = device.stats();
    for (let page = 0; page < 16; page++)
      assert.equal(counters.data[page * 1024], (3 * rounds * times) / 16);
    note(`${revocations} times the device lost its right, in ${times} rounds`);
    assert.ok(revocations > 0);
  }),
);

longTest('threads and a device write disjoint elements of the same pages', () =>
  withSpace('8MiB', async (space) => {
    const [device] = space.devices;
    const n = 64 * 1024;
    const lanes = THREADS + 2;
    const x = space.array(Int32Array, n);
    const rounds = 40;
    const stripes = kernel(
      { x: i32.inout, lane: i32, lanes: i32, rounds: i32 },
      ({ x, lane, lanes, rounds }) => {
        for (let round = 0; round < rounds; round++)
          for (let i = lane; i < x.length; i += lanes) x[i] += i;
      },
    );
    const jobs = Array.from({ length: THREADS }, (_, lane) => ({
      kind: 'stripe',
      lane,
      lanes,
      rounds,
    }));
    const team = new Team({ x }, jobs);
    await team.ready();
    const done = team.go();
    const launch = device.run(stripes, { x, lane: THREADS, lanes, rounds }, { size: 1 });
    const { data } = x;
    for (let round = 0; round < rounds; round++)
      for (let i = THREADS + 1; i < n; i += lanes) data[i] += i;
    await Promise.all([done, launch]);
    sameData(data, (i) => i * rounds);
  }),
);

longTest('a thread works on a device of its own accord', () =>
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
  }),
);

longTest('threads allocate, use and free at the same time', () =>
  withSpace('8MiB', async (space) => {
    const anchor = space.array(Int32Array, 1);
    const jobs = Array.from({ length: THREADS }, (_, seed) => ({
      kind: 'allocate',
      seed: seed + 1,
      rounds: 12,
    }));
    const team = new Team({ anchor }, jobs);
    await team.ready();
    assert.deepEqual(await team.go(), new Array(THREADS).fill('all right'));
    anchor.free();
    assert.equal(space.stats().allocatedBytes, 0);
  }),
);

longTest('a thread hears of the end of the space', async () => {
  const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  const x = space.array(Int32Array, 4096);
  const team = new Team({ x }, [{ kind: 'after close' }]);
  await team.ready();
  await space.close();
  assert.deepEqual(await team.go(), ['SPACE_CLOSED SPACE_CLOSED SPACE_CLOSED 0']);
});

for (const userModeOnly of [false, true]) {
  const tested = userModeOnly ? test : longTest;
  tested(
    `threads take turns while a device takes the page away: ${userModeOnly ? 'without' : 'with'} privilege`,
    async () => {
      await using space = await openSpace({
        devices: [{ kind: 'process', memory: '8MiB' }],
        userModeOnly,
      });
      const [device] = space.devices;
      const lanes = 3;
      const rounds = LONG ? 1000 : 300;
      const turn = space.array(Int32Array, 1024, { name: 'turn' });
      const jobs = Array.from({ length: lanes }, (_, lane) => ({
        kind: 'turns',
        lane,
        lanes,
        rounds,
      }));
      const team = new Team({ turn }, jobs);
      await team.ready();
      const bump = kernel({ turn: i32.inout }, ({ turn }) => {
        for (let i = 0; i < 100; i++) Atomics.add(turn, 7, 1);
      });
      let launches = 0;
      let through = false;
      const done = team.go().finally(() => {
        through = true;
      });
      // Each takes the page away once; more would only keep the processors busy.
      while (!through && (LONG || launches < 300)) {
        await device.run(bump, { turn }, { size: 1 });
        launches++;
      }
      assert.deepEqual(await done, new Array(lanes).fill('through'));
      assert.deepEqual([...turn.data.subarray(0, 2)], [lanes * rounds, rounds * (1 + 2 + 3)]);
      assert.equal(turn.data[7], launches * 100);
      note(`${launches} launches meanwhile`);
      space.checkInvariants();
    },
    60,
  );
}

longTest('as many threads wake as are notified', () =>
  withSpace('8MiB', async (space) => {
    const turn = space.array(Uint32Array, 1, { name: 'turn' });
    const awake = space.array(Int32Array, 2);
    const team = new Team({ turn, awake }, new Array(THREADS).fill({ kind: 'sleep' }));
    await team.ready();
    const done = team.go();
    while (Atomics.load(awake.data, 1) < THREADS) await sleep(5);
    // Threads that wait look around now and then, and are not asleep then: what is asked is which
    // of them came back.
    let woken = 0;
    while (woken === 0) woken = space.notify(turn, 0, 1);
    assert.equal(woken, 1);
    while (Atomics.load(awake.data, 0) < 1) await sleep(5);
    await sleep(300);
    assert.equal(Atomics.load(awake.data, 0), 1);
    assert.equal(space.notify(turn, 0, 0), 0);
    Atomics.store(turn.data, 0, 1);
    assert.ok(space.notify(turn, 0) <= THREADS);
    const results = (await done) as string[][];
    assert.deepEqual(results.flat(), new Array(THREADS + 1).fill('ok'));
  }),
);

test('waiting ends by its time, by another value, and is refused where it cannot be', () =>
  withSpace('8MiB', async (space) => {
    const x = space.array(Int32Array, 4096, { name: 'x' });
    assert.equal(space.wait(x, 2048, 1), 'not-equal');
    const started = performance.now();
    assert.equal(space.wait(x, 2048, 0, 250), 'timed-out');
    assert.ok(performance.now() - started >= 249, `${performance.now() - started} ms`);
    assert.equal(space.wait(x, 2048, 0, 0), 'timed-out');
    assert.equal(space.wait(x, 2048, 0, -5), 'timed-out');
    assert.equal(space.notify(x, 2048), 0);
    // Nothing was written: the page is still the zero page that all share, or at most a copy that
    // the host has read.
    x.data[5] = -7;
    assert.equal(space.wait(x, 5, -7, 1), 'timed-out');
    const u = space.array(Uint32Array, 4, { name: 'u' });
    u.data[0] = 0xffff_fff0;
    assert.equal(space.wait(u, 0, 0xffff_fff0, 1), 'timed-out');
    assert.equal(space.wait(u, 0, 16), 'not-equal');
    const wide = space.array(BigInt64Array, 4, { name: 'wide' });
    const refused = await failsWith('WAIT_ARRAY', () => space.wait(wide as never, 0, 0));
    assert.match(refused.message, /array wide: it is BigInt64Array/);
    await failsWith('WAIT_ARRAY', () => space.notify(new Int32Array(4) as never, 0));
    await failsWith('ARRAY_INDEX', () => space.wait(x, 4096, 0));
    await failsWith('ARRAY_INDEX', () => space.notify(x, 0.5));
    await failsWith('VALUE', () => space.wait(x, 0, 2 ** 31));
    await failsWith('VALUE', () => space.wait(u, 0, -1));
    await failsWith('TIMEOUT_MS', () => space.wait(x, 0, 0, Number.NaN));
    await failsWith('COUNT', () => space.notify(x, 0, -1));
    x.free();
    await failsWith('USE_AFTER_FREE', () => space.wait(x, 0, 0));
    // What a device changes is noticed, though it cannot notify.
    const set = kernel({ u: u32.inout }, ({ u }) => {
      u[1] = 5;
    });
    const run = space.devices[0].run(set, { u }, { size: 1 });
    // It may have changed before this thread has even begun to wait.
    assert.match(space.wait(u, 1, 0, 10_000), /^(ok|not-equal)$/);
    assert.equal(u.data[1], 5);
    await run;
  }));

longTest('threads that wait keep neither their worker nor their space from ending', async () => {
  const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  const turn = space.array(Int32Array, 16);
  const awake = space.array(Int32Array, 16);
  const team = new Team({ turn, awake }, new Array(3).fill({ kind: 'sleep for ever' }));
  await team.ready();
  const done = team.go();
  while (Atomics.load(awake.data, 1) < 3) await sleep(5);
  await space.close();
  assert.deepEqual(await done, new Array(3).fill('SPACE_CLOSED'));
  const second = await openSpace({});
  const word = second.array(Int32Array, 16);
  const count = second.array(Int32Array, 16);
  const doomed = new Team({ turn: word, awake: count }, [{ kind: 'sleep for ever' }]);
  await doomed.ready();
  void doomed.go();
  while (Atomics.load(count.data, 1) < 1) await sleep(5);
  await doomed.terminate();
  await second.close();
});

longTest('a space is closed while threads ask for its elements without a pause', async () => {
  for (let round = 0; round < (LONG ? 5 : 2); round++) {
    const space = await openSpace({});
    const turn = space.array(Int32Array, 16);
    const awake = space.array(Int32Array, 16);
    const team = new Team({ turn, awake }, new Array(3).fill({ kind: 'sleep for ever', value: 1 }));
    await team.ready();
    const done = team.go();
    while (Atomics.load(awake.data, 1) < 3) await sleep(1);
    await space.close();
    assert.deepEqual(await done, new Array(3).fill('SPACE_CLOSED'));
  }
});

longTest(
  'a million increments of one counter by threads and the units of two devices, none lost',
  async () => {
    const process = { kind: 'process', memory: '8MiB', units: 2 } as const;
    await using space = await openSpace({ devices: [process, process] });
    const counters = space.array(Int32Array, 16 * 1024, { name: 'counters' });
    const parties = THREADS + 2 * 2;
    const rounds = 1_000_000 / parties;
    const add = kernel(
      { counters: i32.inout, rounds: i32 },
      ({ counters, rounds }, { begin, end }) => {
        // One work item for each unit.
        for (let item = begin; item < end; item++)
          for (let i = 0; i < rounds; i++) Atomics.add(counters, 0, 1);
      },
    );
    const team = new Team({ counters }, new Array(THREADS).fill({ kind: 'count one', rounds }));
    await team.ready();
    const done = team.go();
    await Promise.all(
      space.devices.map((device) => device.run(add, { counters, rounds }, { size: 2 })),
    );
    await done;
    assert.equal(counters.data[0], 1_000_000);
    note(
      `${space
        .stats()
        .processors.map(({ name, revocations }) => `${name} lost its right ${revocations} times`)
        .join(', ')}`,
    );
    space.checkInvariants();
  },
  60,
);

await runTests();
