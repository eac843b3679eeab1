/**
 * Devices whose process is killed at random moments while they work on more data than they have
 * memory for. Whatever happens, no thread hangs, launches reject with DEVICE_LOST, every byte that
 * can be read is right, and the space goes on with another device.
 *
 * ONEMEM_SEED=number repeats the moments of an earlier run, as far as a real machine repeats
 * anything; ONEMEM_KILLS=number has more of them.
 */
import assert from 'node:assert/strict';
import {
  type AddressSpace,
  type Device,
  i32,
  kernel,
  type ManagedArray,
  type OnememError,
  openSpace,
} from '../../src/index.js';
import { runProgram } from '../harness/processes.js';
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

const MIB = 2 ** 20;
/** 4 MiB each: three of them are twice what a device has. */
const N = MIB;
const MEMORY = 6 * MIB;
const PER_PAGE = 1024;
const DEVICES_AT_ONCE = 13;
/** For each of the two kinds of memory; test:long has more. */
const KILLS = Number(process.env.ONEMEM_KILLS ?? 3);

const seed = Number(process.env.ONEMEM_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** Mulberry32: small, and good enough to choose moments. */
function generator(start: number): () => number {
  let state = start | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** y = 3 y + x + salt, element by element. */
const mix = kernel({ x: i32.in, y: i32.inout, salt: i32 }, ({ x, y, salt }, { begin, end }) => {
  for (let i = begin; i < end; i++) y[i] = Math.imul(y[i], 3) + x[i] + salt;
});
const fill = kernel({ x: i32.out, salt: i32 }, ({ x, salt }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = Math.imul(i, 2_654_435_761) + salt;
});
const filled = (i: number, salt: number): number => (Math.imul(i, 2_654_435_761) + salt) | 0;
const mixed = (y: number, x: number, salt: number): number => (Math.imul(y, 3) + x + salt) | 0;

interface Model {
  readonly name: string;
  readonly array: ManagedArray<Int32Array>;
  /** What the array must hold. */
  readonly values: Int32Array;
}

class World {
  readonly space: AddressSpace;
  /** Read by launches, written by launches, and left alone, mostly on a device. */
  readonly models: Model[];
  private killed = 0;

  constructor(
    space: AddressSpace,
    private readonly random: () => number,
    private readonly lossy: boolean,
  ) {
    this.space = space;
    this.models = ['read', 'written', 'idle'].map((name) => ({
      name,
      array: space.array(Int32Array, N, { name }),
      values: new Int32Array(N),
    }));
  }

  /** New content, made by a device, so that its only copy is there as far as it fits. */
  async renew(device: Device, model: Model): Promise<void> {
    const salt = Math.floor(this.random() * 2 ** 30);
    await device.run(fill, { x: model.array, salt }, { size: N });
    for (let i = 0; i < N; i++) model.values[i] = filled(i, salt);
  }

  /**
   * Has the device work, kills it at some moment, and looks at everything. Returns the bytes that
   * were lost.
   */
  async kill(device: Device): Promise<{ lost: number; finished: number }> {
    const { random, models } = this;
    const [read, written, idle] = models;
    await this.renew(device, idle);
    if (random() < 0.5) await this.renew(device, read);
    await device.run(mix, { x: read.array, y: written.array, salt: 1 }, { size: N });
    for (let i = 0; i < N; i++) written.values[i] = mixed(written.values[i], read.values[i], 1);

    const wasIndeterminate = written.array.indeterminate;
    const stream = device.stream();
    // More than can come to an end before the device does.
    const salts = Array.from({ length: 100 }, (_, index) => index + 2);
    const events = salts.map((salt) =>
      stream.launch(mix, { x: read.array, y: written.array, salt }, { size: N }),
    );
    // Some die between two launches, however slow the machine is.
    if (this.killed++ % 3 === 0) await events[0].synchronize();
    await sleep(random() * 60);
    // Some die while the CPU is taking pages from them.
    const touching = random() < 0.4;
    const killed = touching ? Math.floor(random() * N) : -1;
    let seenIdle: number | null = null;
    if (touching && !this.lossy) {
      for (let at = 0; at < killed; at += 512) idle.array.data[at];
    }
    process.kill(device.pid as number, 'SIGKILL');
    // And some while it is just going to.
    if (touching && !this.lossy) seenIdle = idle.array.data[killed];
    const results = await Promise.all(
      events.map((event) =>
        event.synchronize().then(
          () => null,
          (error: unknown) => error as OnememError,
        ),
      ),
    );
    if (seenIdle !== null) assert.equal(seenIdle, idle.values[killed], `element ${killed} of idle`);
    // On a machine that does other things the signal may come after the last launch: then the
    // device has died between two of them.
    const first = results.findIndex((error) => error !== null);
    const finished = first === -1 ? results.length : first;
    const failure = results.at(finished);
    if (failure != null) assert.equal(failure.code, 'DEVICE_LOST', failure.stack);
    // It may have died between two launches: then the second had not begun, and has changed
    // nothing.
    const ranges = failure?.ranges ?? [];
    const begun = ranges.length > 0;
    assert.deepEqual(
      ranges.map(({ parameter }) => parameter),
      begun ? ['y'] : [],
    );
    for (const error of results.slice(finished + 1))
      assert.equal(error?.code, 'CANCELLED', error?.stack);
    if (failure != null) await failsWith('DEVICE_LOST', () => stream.synchronize());
    await failsWith('DEVICE_LOST', () =>
      device.run(mix, { x: read.array, y: written.array, salt: 1 }, { size: N }),
    );

    for (const salt of salts.slice(0, finished)) {
      for (let i = 0; i < N; i++)
        written.values[i] = mixed(written.values[i], read.values[i], salt);
    }
    const lost = this.look(written, begun ? salts[finished] : null, read.values);
    assert.equal(written.array.residency().indeterminate, begun || wasIndeterminate);
    this.space.checkInvariants();
    return { lost, finished };
  }

  /** Looks at every byte that can be read. */
  private look(written: Model, salt: number | null, x: Int32Array): number {
    let lost = 0;
    for (const model of this.models) {
      const { array, values } = model;
      const { runs } = array.residency();
      let at = 0;
      for (const { begin, end, state, nodes } of runs) {
        assert.equal(begin, at, 'the report has a hole');
        at = end;
        if (state === 'lost') {
          assert.ok(this.lossy, `a part of ${model.name} is lost, though the memory survives`);
          assert.deepEqual(nodes, []);
          lost += (end - begin) * 4;
          continue;
        }
        const data = array.data.subarray(begin, end);
        const part = values.subarray(begin, end);
        if (model !== written) sameData(data, (i) => part[i]);
        else {
          // Each element is as it was before the launch that was lost, or as that launch left it.
          for (let i = 0; i < data.length; i++) {
            const value = data[i];
            if (
              value !== part[i] &&
              (salt === null || value !== mixed(part[i], x[begin + i], salt))
            ) {
              assert.fail(
                `element ${begin + i} of ${model.name} is ${value}: neither ${part[i]} nor what comes after it`,
              );
            }
            part[i] = value;
          }
        }
      }
      assert.equal(at, N, 'the report ends before the array');
    }
    // More than it had memory for cannot have been there alone.
    assert.ok(lost <= MEMORY, `${lost} bytes were lost with ${MEMORY}`);
    return lost;
  }

  /** What was lost is made again, on another device, as the message says. */
  async repair(device: Device): Promise<void> {
    for (const model of this.models) {
      if (!model.array.residency().runs.some(({ state }) => state === 'lost')) continue;
      const zeros = this.space.array(Int32Array, N);
      const error = await failsWith('DATA_LOST', () =>
        device.run(mix, { x: zeros, y: model.array, salt: 0 }, { size: N }),
      );
      zeros.free();
      assert.match(
        error.message,
        new RegExp(`array ${model.name}, .*whose only copy was on a device that died`),
      );
      await this.renew(device, model);
      assert.ok(!model.array.residency().runs.some(({ state }) => state === 'lost'));
      assert.equal(model.array.residency().indeterminate, false);
    }
  }

  check(): void {
    for (const { array, values } of this.models) sameData(array.data, (i) => values[i]);
  }
}

for (const lossy of [false, true]) {
  const kind = lossy ? 'lossy' : 'surviving';
  const random = generator(seed + (lossy ? 1 : 0));
  let kills = 0;
  let spaces = 0;
  let lost = 0;
  let finished = 0;
  const perSpace = DEVICES_AT_ONCE - 1;
  for (let first = 0; first < KILLS; first += perSpace) {
    const count = Math.min(perSpace, KILLS - first);
    variantTest(
      `killed at random moments: ${kind} devices, kills ${first + 1} to ${first + count} of ${KILLS}`,
      async () => {
        if (spaces++ === 0) note(`ONEMEM_SEED=${seed}`);
        const devices = Array.from({ length: count + 1 }, (_, index) => ({
          kind: 'process' as const,
          memory: MEMORY,
          units: 1 + (index % 2),
          lossy,
        }));
        await using space = await openSpace({ devices });
        const world = new World(space, random, lossy);
        for (const model of world.models) await world.renew(space.devices[0], model);
        for (let index = 0; index < count; index++) {
          const result = await world.kill(space.devices[index]);
          kills++;
          lost += result.lost;
          finished += result.finished;
          await world.repair(space.devices[index + 1]);
        }
        const last = space.devices[count];
        const [read, written] = world.models;
        await last.run(mix, { x: read.array, y: written.array, salt: 77 }, { size: N });
        for (let i = 0; i < N; i++)
          written.values[i] = mixed(written.values[i], read.values[i], 77);
        world.check();
        space.checkInvariants();
        if (kills === KILLS) {
          note(`${kills} kills, ${finished} launches before them, ${lost} bytes lost`);
          assert.ok(lossy ? lost > 0 : lost === 0);
          // Had all died during their first launch, moments between two launches would not have been
          // tested.
          assert.ok(finished > 0);
        }
      },
      60,
    );
  }
}

longTest('what is lost with a lossy device is exactly what only it had', async () => {
  await using space = await openSpace({
    devices: [
      { kind: 'process', memory: MEMORY, lossy: true, name: 'mortal' },
      { kind: 'process', memory: MEMORY, lossy: true, name: 'other' },
    ],
  });
  const [mortal, other] = space.devices;
  const names = ['from the CPU', 'from the device', 'from the other', 'prefetched', 'zero'];
  const arrays = names.map((name) => space.array(Int32Array, 200 * PER_PAGE, { name }));
  const [fromCpu, fromDevice, fromOther, prefetched, zero] = arrays;
  for (const array of [fromCpu, prefetched])
    for (let i = 0; i < array.length; i++) array.data[i] = filled(i, 5);
  await mortal.run(fill, { x: fromDevice, salt: 5 }, { size: fromDevice.length });
  await other.run(fill, { x: fromOther, salt: 5 }, { size: fromOther.length });
  using stream = mortal.stream();
  stream.prefetch(prefetched.range(10 * PER_PAGE, 90 * PER_PAGE));
  await stream.synchronize();
  // The CPU reads a part of what the device has, and takes another part for itself.
  let sum = 0;
  for (let i = 0; i < 30 * PER_PAGE; i++) sum += fromDevice.data[i];
  for (let i = 50 * PER_PAGE; i < 60 * PER_PAGE; i++) fromDevice.data[i] = filled(i, 6);
  assert.ok(Number.isInteger(sum));
  const before = arrays.map((array) => pages(array));
  process.kill(mortal.pid as number, 'SIGKILL');
  await failsWith('DEVICE_LOST', () =>
    mortal.run(fill, { x: zero, salt: 1 }, { size: zero.length }),
  );
  let lost = 0;
  for (const [index, array] of arrays.entries()) {
    const after = pages(array);
    for (const [page, { state, nodes }] of before[index].entries()) {
      const alone = state === 'resident' && nodes.length === 1 && nodes[0] === 'mortal';
      const expected = alone ? 'lost' : state;
      assert.equal(
        after[page].state,
        expected,
        `page ${page} of ${array.name}, which was on ${nodes.join(' and ')}`,
      );
      if (alone) lost++;
    }
  }
  assert.ok(lost >= 50 && lost <= 200, `${lost} pages are lost`);
  assert.ok(pages(fromDevice).some(({ state }) => state === 'lost'));
  for (const array of [fromCpu, fromOther, prefetched]) {
    assert.ok(
      !pages(array).some(({ state }) => state === 'lost'),
      `a part of ${array.name} is lost`,
    );
    sameData(array.data, (i) => filled(i, 5));
  }
  sameData(zero.data, () => 0);
  for (const { begin, end, state } of fromDevice.residency().runs) {
    if (state === 'lost') continue;
    for (let i = begin; i < end; i++) {
      const written = i >= 50 * PER_PAGE && i < 60 * PER_PAGE;
      assert.equal(fromDevice.data[i], filled(i, written ? 6 : 5));
    }
  }
  const error = (await failsWith('DATA_LOST', () => fromDevice.writeTo(1))) as OnememError;
  assert.match(
    error.message,
    /empty the array \(discard\(\)\), overwrite the whole array by an `out` launch or readFrom\(\), or free it/,
  );
  await other.run(fill, { x: fromDevice, salt: 9 }, { size: fromDevice.length });
  sameData(fromDevice.data, (i) => filled(i, 9));
});

/** The state of each page of an array. */
function pages(array: ManagedArray): { state: string; nodes: readonly string[] }[] {
  return array
    .residency()
    .runs.flatMap(({ begin, end, state, nodes }) =>
      Array.from({ length: Math.ceil((end - begin) / PER_PAGE) }, () => ({ state, nodes })),
    );
}

longTest(
  'a program that hears that a killed device is lost finds its pages lost, too',
  async () => {
    const COUNT = LONG ? 10 : 4;
    await using space = await openSpace({
      devices: Array.from({ length: COUNT }, () => ({
        kind: 'process' as const,
        memory: MEMORY,
        lossy: true,
      })),
    });
    for (const device of space.devices) {
      const x = space.array(Int32Array, PER_PAGE);
      await device.run(fill, { x, salt: 3 }, { size: PER_PAGE });
      device.kill();
      // They come before its end has been seen, or just after it.
      const launches = [1, 2].map((size) =>
        failsWith('DEVICE_LOST', () => device.run(fill, { x, salt: 4 }, { size })),
      );
      const [first] = await Promise.all(launches);
      assert.match(
        first.message,
        /it had not begun, and its arrays are as they were|cannot launch fill: device process\d is gone/,
      );
      assert.deepEqual(
        pages(x).map(({ state }) => state),
        ['lost'],
      );
    }
  },
);

longTest('the CPU touches what was lost with a device: a message, then the end', async () => {
  const { signal, stdout, stderr } = await runProgram('lost-data', []);
  assert.ok(signal === 'SIGBUS' || signal === 'SIGKILL', `signal ${signal}: ${stdout}${stderr}`);
  assert.match(stdout, /^kept 11$/m);
  assert.doesNotMatch(stdout, /^survived/m);
  assert.match(
    stderr,
    /^onemem: denied access: thread \d+ read array gone, elements 0 to 1023 .*whose only copy was on a device that died/m,
  );
});

test('device.kill() ends a launch that never would', async () => {
  await using space = await openSpace({
    devices: [
      { kind: 'process', memory: MEMORY },
      { kind: 'simulated', memory: MEMORY },
    ],
  });
  const [device, simulated] = space.devices;
  const x = space.array(Int32Array, 8);
  const endless = kernel({ x: i32.inout }, ({ x }) => {
    for (;;) x[0] = 5;
  });
  const event = device.stream().launch(endless, { x }, { size: 1 });
  await sleep(50);
  device.kill();
  await failsWith('DEVICE_LOST', () => event.synchronize());
  assert.ok(x.data[0] === 5 || x.data[0] === 0);
  await simulated.run(fill, { x, salt: 3 }, { size: 8 });
  sameData(x.data, (i) => filled(i, 3));
  simulated.kill();
  await failsWith('DEVICE_LOST', () => simulated.run(fill, { x, salt: 4 }, { size: 8 }));
  sameData(x.data, (i) => filled(i, 3));
  device.kill();
  await device.detach();
});

await runTests();
