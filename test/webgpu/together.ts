/** Launches that wait in a stream and go to the GPU together: they do what they do one by one. */
import assert from 'node:assert/strict';
import { PAGE_BYTES } from '../../src/core/basics/types.js';
import { type AddressSpace, kernel, type StreamEvent, u32 } from '../../src/index.js';
import { gpuWith, inSpaceWith } from '../harness/gpu.js';
import {
  failsWith,
  filled,
  longTest,
  note,
  runTests,
  sameData,
  sleep,
  test,
} from '../harness/suite.js';

const withGpu = inSpaceWith(gpuWith('32MiB'));
const MODULE = (body: string) => `
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@group(0) @binding(2) var<uniform> n: u32;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  if (i < min(arrayLength(&x), arrayLength(&y))) { ${body} }
}`;
const BODY = 'y[i] = y[i] * 3u + x[i] + n;';
/** What it does to an element. */
const step = (y: number, x: number, n: number): number => (Math.imul(y, 3) + x + n) >>> 0;
const onto = kernel({ x: u32.in, y: u32.inout, n: u32 }, { wgsl: MODULE(BODY) }, { name: 'onto' });
/** The same, on zeros. */
const into = kernel({ x: u32.in, y: u32.out, n: u32 }, { wgsl: MODULE(BODY) }, { name: 'into' });
const N = 3000;

const seed = Number(process.env.ONEMEM_SEED ?? Math.floor(Math.random() * 2 ** 30));
note(`seed ${seed}`);
let state = seed;
function random(below: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
  return (state >>> 8) % below;
}

function array(space: AddressSpace, from: number, length = N) {
  const made = space.array(Uint32Array, length);
  filled(made.data, (i) => from + i);
  return made;
}

/** Kernels that have run before. */
async function tried(space: AddressSpace): Promise<void> {
  const [x, y] = [array(space, 0, 64), array(space, 0, 64)];
  await space.devices[0].run(onto, { x, y, n: 1 }, { size: 64 });
  await space.devices[0].run(into, { x, y, n: 1 }, { size: 64 });
}

test('launches that wait in a stream go together, and each sees what those before it have written', () =>
  withGpu(async (space) => {
    await tried(space);
    const [x, y] = [array(space, 1), array(space, 2)];
    const stream = space.devices[0].stream();
    for (let n = 0; n < 100; n++) stream.launch(onto, { x, y, n }, { size: N });
    await stream.synchronize();
    sameData(y.data, (i) =>
      Array.from({ length: 100 }, (_, n) => n).reduce((at, n) => step(at, 1 + i, n), 2 + i),
    );
    const { launches, joinedLaunches } = space.devices[0].stats();
    assert.equal(launches, 102);
    assert.ok(joinedLaunches > 50, `${joinedLaunches} of them went with others`);
  }));

test('a launch whose size one before it writes goes by that, and those around it see what it has written', () =>
  withGpu(async (space) => {
    await tried(space);
    const tell = kernel(
      { sizes: u32.inout, by: u32 },
      {
        wgsl: `@group(0) @binding(0) var<storage, read_write> sizes: array<u32>;
@group(0) @binding(1) var<uniform> by: u32;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3u) { sizes[id.x] += by; }`,
      },
    );
    const [x, y, sizes] = [array(space, 1), array(space, 2), array(space, 0, 1)];
    const stream = space.devices[0].stream();
    const written = new Uint32Array(N).map((_, i) => 2 + i);
    for (let n = 1; n <= 20; n++) {
      stream.launch(tell, { sizes, by: 128 }, { size: 1 });
      stream.launch(onto, { x, y, n }, { size: sizes });
      stream.launch(onto, { x, y, n: 100 + n }, { size: N });
      for (let i = 0; i < N; i++) {
        if (i < 128 * n) written[i] = step(written[i], 1 + i, n);
        written[i] = step(written[i], 1 + i, 100 + n);
      }
    }
    await stream.synchronize();
    sameData(y.data, (i) => written[i]);
  }));

test('what a launch writes from nothing is zeros before it, also where launches before it use it', () =>
  withGpu(async (space) => {
    await tried(space);
    const [a, b] = [array(space, 5), array(space, 9)];
    const stream = space.devices[0].stream();
    for (let n = 0; n < 20; n++) {
      stream.launch(into, { x: a, y: b, n }, { size: N });
      stream.launch(into, { x: b, y: a, n }, { size: N });
    }
    await stream.synchronize();
    const [sum] = [2 * ((20 * 19) / 2)];
    sameData(a.data, (i) => 5 + i + sum);
    sameData(b.data, (i) => 5 + i + sum - 19);
    assert.ok(space.devices[0].stats().joinedLaunches > 20);
  }));

test('a launch that cannot be is the one that fails; those before it have run, those behind it have not', () =>
  withGpu(async (space) => {
    await tried(space);
    const [x, y, closed, z] = [array(space, 1), array(space, 2), array(space, 3), array(space, 4)];
    await closed.protect('read');
    const stream = space.devices[0].stream();
    const before = [0, 1, 2].map((n) => stream.launch(onto, { x, y, n }, { size: N }));
    const launched = stream.launch(onto, { x, y: closed, n: 0 }, { size: N });
    const behind = [0, 1].map((n) => stream.launch(onto, { x, y: z, n }, { size: N }));
    await Promise.all(before.map((each) => each.synchronize()));
    await failsWith('ACCESS_DENIED', () => launched.synchronize());
    for (const each of behind) await failsWith('CANCELLED', () => each.synchronize());
    sameData(y.data, (i) => [0, 1, 2].reduce((at, n) => step(at, 1 + i, n), 2 + i));
    sameData(closed.data, (i) => 3 + i);
    sameData(z.data, (i) => 4 + i);
  }));

test('a launch of a kernel that does not compile takes none with it that went before', () =>
  withGpu(async (space) => {
    await tried(space);
    const broken = kernel(
      { x: u32.in, y: u32.inout, n: u32 },
      { wgsl: MODULE('y[i] = missing(x[i]) + n;') },
    );
    const [x, y] = [array(space, 1), array(space, 2)];
    const stream = space.devices[0].stream();
    const events = [onto, onto, onto, broken, onto].map((each, n) =>
      stream.launch(each, { x, y, n }, { size: N }),
    );
    await Promise.all(events.slice(0, 3).map((each) => each.synchronize()));
    await failsWith('KERNEL_ERROR', () => events[3].synchronize());
    await failsWith('CANCELLED', () => events[4].synchronize());
    sameData(y.data, (i) => [0, 1, 2].reduce((at, n) => step(at, 1 + i, n), 2 + i));
  }));

test('a signal keeps launches from beginning that wait; those behind them in the stream are cancelled', () =>
  withGpu(async (space) => {
    await tried(space);
    const [x, y] = [array(space, 1), array(space, 2)];
    const stream = space.devices[0].stream();
    const stop = new AbortController();
    // The GPU is busy when the signal comes, however late this thread is.
    stream.launch(long, { x, y: array(space, 3) }, { size: 1 });
    const first = Array.from({ length: 40 }, (_, n) =>
      stream.launch(onto, { x, y, n }, { size: N }),
    );
    const stopped = stream.launch(onto, { x, y, n: 1 }, { size: N, signal: stop.signal });
    const behind = stream.launch(onto, { x, y, n: 2 }, { size: N });
    stop.abort();
    await Promise.all(first.map((each) => each.synchronize()));
    const { message } = await failsWith('CANCELLED', () => stopped.synchronize());
    assert.match(message, /before it began/);
    await failsWith('CANCELLED', () => behind.synchronize());
    sameData(y.data, (i) => first.reduce((at, _, n) => step(at, 1 + i, n), 2 + i));
  }));

/** One invocation for some tenths of a second. */
const long = kernel(
  { x: u32.in, y: u32.inout },
  {
    wgsl: `
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1) fn main() {
  var v = 0u;
  for (var i = 0u; i < 20000000u; i++) { v = v * 3u + x[i % 64u]; }
  y[0] = v;
}`,
  },
  { name: 'long' },
);
const MIB = 2 ** 20;

/**
 * Bytes of an array that come to the GPU while a launch runs behind which another one, which uses
 * it, waits.
 */
async function broughtMeanwhile(space: AddressSpace, bytes: number): Promise<number> {
  const [gpu] = space.devices;
  const [x, y, table] = [array(space, 1), array(space, 2), array(space, 3, bytes / 4)];
  const running = gpu.stream().launch(long, { x, y }, { size: 1 });
  while (gpu.stats().launches === 0) await sleep(1);
  const next = gpu.stream().launch(onto, { x: table, y, n: 1 }, { size: N });
  let found = 0;
  while (!running.done && found < bytes) {
    const there = table.residency().bytes[gpu.name] ?? 0;
    // The program may hear of the end when the next launch has begun.
    await sleep(20);
    if (!running.done) found = there;
  }
  await next.synchronize();
  sameData(y.data.subarray(1), (i) => step(3 + i, 4 + i, 1));
  return found;
}

test('what the next launch uses comes while one runs', () =>
  withGpu(async (space) => {
    assert.equal(await broughtMeanwhile(space, 8 * MIB), 8 * MIB);
  }));

test('what the next launch uses does not come while one runs where both have no room', () =>
  withGpu(async (space) => {
    // One page is left beside what that launch uses, and the one that runs has three more.
    assert.equal(await broughtMeanwhile(space, 32 * MIB - 4 * PAGE_BYTES), 0);
  }));

longTest('when the GPU is lost, none of the launches that were with it hangs', () =>
  withGpu(async (space) => {
    await tried(space);
    const [x, y] = [array(space, 1), array(space, 2)];
    const streams = [space.devices[0].stream(), space.devices[0].stream()];
    const events = Array.from({ length: 80 }, (_, n) =>
      streams[n % 2].launch(onto, { x, y, n }, { size: N }),
    );
    await events[3].synchronize();
    space.devices[0].kill();
    const codes = await Promise.all(
      events.map((each) =>
        each.synchronize().then(
          () => 'done',
          (error: { code: string }) => error.code,
        ),
      ),
    );
    for (const each of codes) assert.ok(['done', 'DEVICE_LOST', 'CANCELLED'].includes(each), each);
    assert.ok(codes.includes('DEVICE_LOST'));
    for (const stream of [0, 1]) {
      const own = codes.filter((_, n) => n % 2 === stream);
      assert.ok(own.lastIndexOf('done') < own.findIndex((each) => each !== 'done'), own.join(' '));
    }
  }),
);

test('random launches over parts of arrays do what loops do', () =>
  withGpu(async (space) => {
    await tried(space);
    const arrays = [0, 1, 2, 3].map((each) => array(space, 1000 * each, 4 * N));
    const plain = arrays.map(({ data }) => Uint32Array.from(data));
    const stream = space.devices[0].stream();
    const events: StreamEvent[] = [];
    for (let count = 0; count < 400; count++) {
      const [from, to] = [random(4), random(4)];
      if (from === to) continue;
      const [begin, length, n] = [64 * random(100), 64 * (1 + random(40)), random(1000)];
      const [x, y] = [
        arrays[from].range(begin, begin + length),
        arrays[to].range(begin, begin + length),
      ];
      const isNew = random(3) === 0;
      const size = { size: length };
      events.push(
        isNew ? stream.launch(into, { x, y, n }, size) : stream.launch(onto, { x, y, n }, size),
      );
      for (let at = begin; at < begin + length; at++)
        plain[to][at] = step(isNew ? 0 : plain[to][at], plain[from][at], n);
      if (random(60) === 0) await stream.synchronize();
    }
    await Promise.all(events.map((each) => each.synchronize()));
    for (const [index, { data }] of arrays.entries()) sameData(data, (at) => plain[index][at]);
    assert.ok(space.devices[0].stats().joinedLaunches > 100);
  }));

await runTests();
