/**
 * GPUs that are destroyed, or find no memory, at any moment while launches work on more data than
 * they have room for. No thread hangs, launches and copies say what became of them, and every byte
 * that can be had is right.
 *
 * ONEMEM_SEED=number repeats the moments of an earlier run; ONEMEM_KILLS=number has more of them.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FAILING_GPU } from '../../src/drivers/webgpu/gpu/failing-gpu.js';
import { type AddressSpace, kernel, type OnememError, openSpace, u32 } from '../../src/index.js';
import { lookup } from '../harness/gpu.js';
import { until } from '../harness/processes.js';
import { filled, longTest, note, runTests, sameData } from '../harness/suite.js';

const MIB = 2 ** 20;
const MEMORY = 4 * MIB;
const LENGTH = (3 * MIB) / 4;
const ROUNDS = 2;
const MOMENTS = Number(process.env.ONEMEM_KILLS ?? 2);
/**
 * So many packets, and allocations, has what is done here; a few more, so that nothing may fail,
 * too.
 */
const PACKETS = 100;
const ALLOCATIONS = 12;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const seed = Number(process.env.ONEMEM_SEED ?? Math.floor(Math.random() * 2 ** 30));
note(`seed ${seed}`);
let state = seed;
function random(below: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}

const add = kernel(
  { x: u32.in, y: u32.inout },
  {
    wgsl: `@group(0) @binding(0) var<storage, read> x: array<u32>;
      @group(0) @binding(1) var<storage, read_write> y: array<u32>;
      @compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3u) { y[id.x] += x[id.x]; }`,
  },
  { name: 'add' },
);

/** Opens a space whose GPU fails so. */
async function withFailing<T>(
  how: string,
  action: (space: AddressSpace) => Promise<T>,
): Promise<T> {
  process.env[FAILING_GPU] = how;
  try {
    await using space = await openSpace({
      devices: [{ kind: 'webgpu', memory: MEMORY, name: 'gpu' }],
    });
    delete process.env[FAILING_GPU];
    return await action(space);
  } finally {
    delete process.env[FAILING_GPU];
  }
}

/** What became of it: null, or the code of its failure, which must be one of these. */
async function codeOf(action: () => Promise<unknown>, ...codes: string[]): Promise<string | null> {
  try {
    await action();
    return null;
  } catch (error) {
    const { code } = error as OnememError;
    assert.ok(codes.includes(code), `${code}: ${(error as Error).stack}`);
    return code;
  }
}

async function destroyedAt(packet: number): Promise<boolean> {
  return withFailing(`lost:${packet}`, async (space) => {
    const [gpu] = space.devices;
    const [x, y] = [space.array(Uint32Array, LENGTH), space.array(Uint32Array, LENGTH)];
    filled(x.data, (i) => i);
    const home = new Uint32Array(LENGTH);
    let lost = false;
    for (let round = 1; round <= ROUNDS && !lost; round++) {
      lost = (await codeOf(() => gpu.run(add, { x, y }, { size: LENGTH }), 'DEVICE_LOST')) !== null;
      // By a copy, which says that something is lost where a load would end the program.
      const copied = await codeOf(
        () => gpu.stream().copy(home, y).synchronize(),
        'DATA_LOST',
        'DEVICE_LOST',
        'CANCELLED',
      );
      if (!lost && copied === null) sameData(home, (i) => i * round);
      lost ||= copied !== null;
    }
    sameData(x.data, (i) => i);
    space.checkInvariants();
    return lost;
  });
}

async function withoutMemoryAt(moment: string): Promise<boolean> {
  return withFailing(`memory:${moment}`, async (space) => {
    const [gpu] = space.devices;
    const [x, y] = [space.array(Uint32Array, LENGTH), space.array(Uint32Array, LENGTH)];
    filled(x.data, (i) => i);
    let failed = false;
    for (let round = 1; round <= ROUNDS; round++) {
      const code = await codeOf(
        () => gpu.run(add, { x, y }, { size: LENGTH }),
        'DEVICE_MEMORY',
        'OUT_OF_MEMORY',
      );
      failed ||= code !== null;
      if (!failed) sameData(y.data, (i) => i * round);
      // Parts of a launch that failed have run, each as a whole.
      else
        for (const [i, value] of y.data.entries())
          assert.ok(value % Math.max(i, 1) === 0 && value <= i * round);
    }
    sameData(x.data, (i) => i);
    assert.ok(gpu.stats().alive);
    space.checkInvariants();
    return failed;
  });
}

longTest(
  'a GPU is destroyed at random moments',
  async () => {
    let lost = 0;
    for (let time = 0; time < MOMENTS; time++) if (await destroyedAt(3 + random(PACKETS))) lost++;
    note(`lost at ${lost} of ${MOMENTS} moments`);
  },
  60 + 20 * MOMENTS,
);

longTest(
  'a paged launch that found no memory for a buffer does not keep the next one from having it',
  async () => {
    let failed = 0;
    for (let allocation = 1; allocation <= 4; allocation++) {
      await withFailing(`memory:${allocation}`, async (space) => {
        const [gpu] = space.devices;
        const width = 1024;
        const table = space.array(Uint32Array, 2 * MIB);
        filled(table.data, (i) => i ^ 0x77);
        const ids = Uint32Array.of(7, 2047, 0);
        const rows = space.array(Uint32Array, ids.length * width);
        const launch = () => gpu.run(lookup, { table, ids, rows, width }, { size: rows.length });
        if ((await codeOf(launch, 'DEVICE_MEMORY', 'OUT_OF_MEMORY')) !== null) failed++;
        await launch();
        sameData(rows.data, (i) => (ids[Math.floor(i / width)] * width + (i % width)) ^ 0x77);
      });
    }
    assert.ok(failed > 0, 'all launches found memory');
  },
);

longTest(
  'allocations find no memory: one of them, or all from one on',
  async () => {
    let failed = 0;
    for (let time = 0; time < MOMENTS; time++) {
      // First of all there is never any.
      const from = time === 0 ? 1 : 1 + random(ALLOCATIONS);
      if (await withoutMemoryAt(time % 2 === 0 ? `${from}-` : `${from}`)) failed++;
    }
    assert.ok(failed > 0, 'a launch went well without any memory');
    note(`launches failed at ${failed} of ${MOMENTS} moments`);
  },
  60 + 20 * MOMENTS,
);

/**
 * Where views of a closed space are left, its addresses stay watched until these have been
 * collected.
 */
function descriptors(): number {
  const isLeft = (fd: string): boolean => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) !== 'anon_inode:[userfaultfd]';
    } catch {
      // The folder itself was open while it was read.
      return false;
    }
  };
  return readdirSync('/proc/self/fd').filter(isLeft).length;
}

/** Each costs a process; test:long has a hundred. */
const SPACES = process.env.ONEMEM_KILLS === undefined ? 3 : 100;

longTest(
  'spaces one after the other leave neither processes nor descriptors',
  async () => {
    const engines: number[] = [];
    let open = 0;
    for (let time = 0; time < SPACES; time++) {
      await using space = await openSpace({ devices: [{ kind: 'webgpu', memory: MEMORY }] });
      const y = space.array(Uint32Array, 1024);
      await space.devices[0].run(add, { x: new Uint32Array(1024).fill(time), y }, { size: 1024 });
      sameData(y.data, () => time);
      engines.push(space.devices[0].pid as number);
      // The first spaces leave what a program has once; those that have ended give theirs back in a
      // moment.
      if (time === 1) open = descriptors();
      if (time > 1) {
        // The threads of a closed space answer for its views, as long as the engine has not
        // collected them.
        collectGarbage();
        await until(
          'the spaces before have given back their descriptors',
          () => descriptors() <= open,
        );
      }
    }
    for (const pid of engines)
      await until(`engine ${pid} has ended`, () => !existsSync(`/proc/${pid}`));
  },
  60 + 10 * SPACES,
);

await runTests();
