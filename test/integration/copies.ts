/**
 * Copies between any two places: content byte for byte, where it is read and written, order, faults
 * meanwhile, failures.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AddressSpace,
  type Device,
  type DeviceSpecification,
  i32,
  kernel,
  type ManagedArray,
  openSpace,
  type Stream,
  u8,
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
  variantTest,
} from '../harness/suite.js';

const MIB = 2 ** 20;
const PAGE = 4096;
const seed = Number(process.env.ONEMEM_SEED ?? 1);
const KINDS = ['process', 'simulated'] as const;
/** Of the test that copies at random. */
const ROUNDS = LONG ? 300 : 60;

async function withSpace(
  devices: readonly DeviceSpecification[],
  action: (space: AddressSpace) => Promise<void>,
): Promise<void> {
  await using space = await sharedSpace({ devices });
  await action(space);
  space.checkInvariants();
}

/** Whole numbers below a bound, the same for the same seed. */
function generator(state: number): (below: number) => number {
  let word = state >>> 0 || 1;
  return (below) => {
    word ^= word << 13;
    word ^= word >>> 17;
    word ^= word << 5;
    return (word >>> 0) % below;
  };
}

function sameBytes(actual: Uint8Array, expected: Uint8Array, what: string): void {
  if (Buffer.compare(actual, expected) === 0) return;
  const at = expected.findIndex((value, index) => actual[index] !== value);
  assert.fail(`${what}: byte ${at} is ${actual[at]} instead of ${expected[at]}`);
}

const fill = kernel({ x: i32.inout, by: i32 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = Math.imul(i, 7) + by;
});
const invert = kernel({ x: u8.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = ~x[i];
});

for (const kind of KINDS) {
  test(`to and from the memory of a device that computes: ${kind}`, () =>
    withSpace([{ kind, memory: '8MiB' }], async (space) => {
      const [device] = space.devices;
      const n = MIB;
      const x = space.array(Int32Array, n);
      const y = space.array(Int32Array, n);
      using stream = device.stream();
      stream.launch(fill, { x, by: 5 }, { size: n });
      const copied = stream.copy(y, x);
      stream.launch(fill, { x, by: 6 }, { size: n });
      await stream.synchronize();
      assert.equal(copied.bytes, 4 * n);
      sameData(y.data, (i) => Math.imul(i, 7) + 5);
      sameData(x.data, (i) => Math.imul(i, 7) + 6);
      // A part, between elements that lie differently in their pages.
      const part = stream.copy(y.range(1, 5001), x.range(12_345, 17_345));
      await part.synchronize();
      assert.equal(part.bytes, 20_000);
      sameData(
        y.data,
        (i) => Math.imul(i >= 1 && i < 5001 ? i + 12_344 : i, 7) + (i >= 1 && i < 5001 ? 6 : 5),
      );
    }));

  variantTest(
    `random copies leave what copies in plain memory leave: ${kind}`,
    () =>
      withSpace(
        [
          { kind: 'process', memory: '8MiB' },
          { kind, memory: '8MiB' },
        ],
        (space) => playAtRandom(space),
      ),
    60,
  );

  variantTest(`parts of one array that overlap: ${kind}`, () =>
    withSpace([{ kind, memory: '8MiB' }], async (space) => {
      const [device] = space.devices;
      const length = 4 * MIB;
      const pattern = new Uint8Array(length);
      for (let i = 0; i < length; i++) pattern[i] = i * 31 + (i >> 8);
      for (const distance of [1, 4096, 100_000, 2 * MIB + 5]) {
        for (const [to, from] of [
          [distance, 0],
          [0, distance],
        ]) {
          const x = space.array(Uint8Array, length);
          const expected = pattern.slice();
          x.data.set(expected);
          using stream = device.stream();
          // A part of it is on the device when the copy begins.
          stream.launch(invert, { x }, { size: length, begin: MIB, end: 3 * MIB });
          for (let i = MIB; i < 3 * MIB; i++) expected[i] = ~expected[i];
          const bytes = length - distance;
          const event = stream.copy(x.range(to, to + bytes), x.range(from, from + bytes));
          await stream.synchronize();
          assert.equal(event.bytes, bytes);
          sameBytes(x.data, expected.copyWithin(to, from, from + bytes), `from ${from} to ${to}`);
          x.free();
        }
      }
    }),
  );

  test(`plain typed arrays at either end: ${kind}`, () =>
    withSpace([{ kind, memory: '8MiB' }], async (space) => {
      const [device] = space.devices;
      const n = 300_000;
      const x = space.array(Float64Array, n, { name: 'x' });
      const plain = Float64Array.from({ length: n }, (_, i) => Math.sin(i));
      using stream = device.stream();
      const goes = stream.copy(x, plain, { at: device });
      // What the program does to its array from now on is not copied any more.
      plain.fill(-1);
      const back = new Float64Array(n);
      const comes = stream.copy(back, x);
      await comes.synchronize();
      assert.equal(x.residency().bytes[device.name], Math.ceil((n * 8) / PAGE) * PAGE);
      sameData(back, (i) => Math.sin(i));
      assert.deepEqual([goes.bytes, comes.bytes], [n * 8, n * 8]);
      // Raw bytes go with any type, at any place in their buffer.
      const raw = Buffer.alloc(n * 8 + 3, 0xaa).subarray(3);
      await stream.copy(raw, x).synchronize();
      assert.equal(raw.readDoubleLE(8 * 1000), Math.sin(1000));
      const other = new Uint8Array(raw.length);
      const plainToPlain = stream.copy(other, raw);
      await plainToPlain.synchronize();
      assert.equal(plainToPlain.bytes, raw.length);
      sameBytes(other, raw, 'between two plain arrays');
      await stream.copy(x.range(10, 12), new Uint8Array(16)).synchronize();
      sameData(x.data.subarray(8, 14), (i) => (i === 2 || i === 3 ? 0 : Math.sin(i + 8)));
      assert.equal(
        space.stats().allocatedBytes,
        Math.ceil((n * 8) / PAGE) * PAGE,
        'nothing is left of the copies',
      );
    }));
}

/**
 * Copies, launches and touches of the CPU at random, compared with the same done to plain memory.
 */
async function playAtRandom(space: AddressSpace): Promise<void> {
  const random = generator(seed);
  note(`seed ${seed}`);
  const length = 5 * MIB + 777;
  const arrays = ['a', 'b', 'c'].map((name) => space.bytes(length, { name }));
  const models = arrays.map(() => new Uint8Array(length));
  const streams = space.devices.map((device) => device.stream());
  for (let round = 0; round < ROUNDS; round++) {
    const to = random(3);
    const from = random(3);
    const stream = streams[random(2)];
    const places = [undefined, 'host', ...space.devices] as const;
    const what = random(16);
    if (what < 4) {
      const begin = random(length - 1);
      const end = Math.min(length, begin + 1 + random(MIB));
      // A device without faults cannot take a whole array of three.
      const onDevice = space.devices.find(({ pageFaults }) => pageFaults) as Device;
      await onDevice.run(invert, { x: arrays[to] }, { size: length, begin, end });
      for (let i = begin; i < end; i++) models[to][i] = ~models[to][i];
    } else if (what < 7) {
      const at = random(length);
      arrays[to].data[at] = models[to][at] = random(256);
    } else {
      const bytes = 1 + random(random(3) === 0 ? 3 * MIB : 20_000);
      const target = random(length - bytes);
      const source =
        random(4) === 0 ? (target + random(2 * PAGE)) % (length - bytes) : random(length - bytes);
      const at = places[random(places.length)];
      const event = stream.copy(
        arrays[to].range(target, target + bytes),
        arrays[from].range(source, source + bytes),
        at === undefined ? {} : { at },
      );
      await event.synchronize();
      assert.equal(event.bytes, bytes);
      const copied = models[from].slice(source, source + bytes);
      models[to].set(copied, target);
    }
    if (round % 30 === 29) space.checkInvariants();
  }
  for (const [index, { data, name }] of arrays.entries())
    sameBytes(data, models[index], `array ${name}`);
}

test('content is read and written where it is', () =>
  withSpace(
    [
      { kind: 'process', memory: '8MiB' },
      { kind: 'process', memory: '8MiB' },
    ],
    async (space) => {
      const [one, two] = space.devices;
      const n = MIB / 4;
      const bytes = 4 * n;
      const x = space.array(Int32Array, n);
      const y = space.array(Int32Array, n);
      const z = space.array(Int32Array, n);
      using stream = one.stream();
      stream.launch(fill, { x, by: 1 }, { size: n });
      stream.launch(fill, { x: y, by: 2 }, { size: n });
      await stream.synchronize();
      const moved = (): number =>
        space
          .stats()
          .processors.reduce((sum, { bytesIn, bytesOut }) => sum + bytesIn + bytesOut, 0);
      const before = moved();
      await stream.copy(y, x).synchronize();
      assert.deepEqual(
        [x.residency().bytes, y.residency().bytes],
        [{ [one.name]: bytes }, { [one.name]: bytes }],
      );
      // From device to device, and home, without a page that moves.
      await stream.copy(z, x, { at: two }).synchronize();
      assert.deepEqual(
        [x.residency().bytes, z.residency().bytes],
        [{ [one.name]: bytes }, { [two.name]: bytes }],
      );
      await stream.copy(y, z, { at: 'host' }).synchronize();
      assert.deepEqual(
        [z.residency().bytes, y.residency().bytes],
        [{ [two.name]: bytes }, { host: bytes }],
      );
      assert.equal(moved(), before);
      sameData(y.data, (i) => Math.imul(i, 7) + 1);
      sameData(z.data, (i) => Math.imul(i, 7) + 1);
      // What was never written is not copied either.
      const empty = space.array(Int32Array, n);
      await stream.copy(z.range(3, n - 3), empty.range(3, n - 3)).synchronize();
      const { bytes: left } = z.residency();
      assert.ok((left[two.name] ?? 0) <= 2 * PAGE, JSON.stringify(left));
      assert.deepEqual(empty.residency().bytes, {});
      sameData(z.data, (i) => (i < 3 || i >= n - 3 ? Math.imul(i, 7) + 1 : 0));
    },
  ));

longTest('more than a device holds, from one to the other', () =>
  withSpace(
    [
      { kind: 'process', memory: '8MiB' },
      { kind: 'simulated', memory: '8MiB' },
    ],
    async (space) => {
      const [small, far] = space.devices;
      const n = 3 * MIB;
      const x = space.array(Int32Array, n);
      const y = space.array(Int32Array, n);
      using stream = small.stream();
      stream.launch(fill, { x, by: 3 }, { size: n });
      const placed = stream.copy(y, x, { at: small });
      const placedFar = stream.copy(x, y, { at: far });
      await stream.synchronize();
      assert.deepEqual([placed.bytes, placedFar.bytes], [4 * n, 4 * n]);
      assert.ok((x.residency().bytes[far.name] ?? 0) > 0);
      sameData(x.data, (i) => Math.imul(i, 7) + 3);
      sameData(y.data, (i) => Math.imul(i, 7) + 3);
    },
  ),
);

test(
  'both ways at once, on several streams, while launches and the CPU use the same blocks',
  () =>
    withSpace(
      [
        { kind: 'process', memory: '8MiB' },
        { kind: 'simulated', memory: '8MiB' },
      ],
      async (space) => {
        const [device, far] = space.devices;
        const half = MIB;
        const x = space.array(Int32Array, 2 * half);
        const y = space.array(Int32Array, 2 * half);
        const own = space.array(Int32Array, 4096);
        x.data.fill(11, 0, half);
        y.data.fill(22, half);
        const streams = [device.stream(), device.stream(), far.stream()];
        const work = async (stream: Stream, action: () => void): Promise<void> => {
          for (let round = 0; round < 8; round++) {
            action();
            await stream.synchronize();
          }
        };
        let touching = true;
        const touches = (async (): Promise<void> => {
          for (let i = 0; touching; i = (i + 1) % 512) {
            // Each reads and writes what no other one writes.
            assert.equal(x.data[i * 1024], 11);
            own.data[i]++;
            await new Promise((resolve) => setImmediate(resolve));
          }
        })();
        await Promise.all([
          work(streams[0], () =>
            streams[0].copy(y.range(0, half), x.range(0, half), { at: device }),
          ),
          work(streams[1], () => streams[1].copy(x.range(half, 2 * half), y.range(half, 2 * half))),
          work(streams[2], () =>
            streams[2].launch(fill, { x: own, by: 1 }, { size: 4096, begin: 512, end: 4096 }),
          ),
        ]);
        touching = false;
        await touches;
        sameData(x.data, (i) => (i < half ? 11 : 22));
        sameData(y.data, (i) => (i < half ? 11 : 22));
      },
    ),
  60,
);

test(
  'crosswise within one block, on two devices',
  () =>
    withSpace(
      [
        { kind: 'process', memory: '8MiB' },
        { kind: 'process', memory: '8MiB' },
      ],
      async (space) => {
        const [one, two] = space.devices;
        const x = space.bytes(2 * MIB);
        x.data.fill(0x5a);
        const streams = [one.stream(), two.stream(), one.stream()];
        const parts = [
          [0, 100_000],
          [100_000, 0],
          [3000, 60_000],
          [60_001, 2000],
          [4096, 8192],
          [8000, 4000],
        ];
        const places = [one, two, 'host', undefined] as const;
        for (let round = 0; round < 30; round++) {
          for (const [index, stream] of streams.entries()) {
            const [to, from] = parts[(round + 2 * index + (round >> 3)) % parts.length];
            const at = places[(round + index) % 4];
            const bytes = 90_000 + 1000 * (round % 7);
            const options = at === undefined ? {} : { at };
            stream.copy(x.range(to, to + bytes), x.range(from, from + bytes), options);
          }
        }
        await Promise.all(streams.map((stream) => stream.synchronize()));
        // They race, and may read from each other what is about to be overwritten; what is not
        // copied to stays as it is.
        const wrong = x.data.findIndex(
          (value, at) => value !== 0x5a && (value !== 0 || at > 200_000),
        );
        assert.equal(wrong, -1, `byte ${wrong} is ${x.data[wrong]}`);
      },
    ),
  60,
);

longTest(
  'clones keep what they were cloned from, whatever is copied over it',
  () =>
    withSpace([{ kind: 'process', memory: '8MiB' }], async (space) => {
      const [device] = space.devices;
      const random = generator(seed + 99);
      const length = 3 * MIB + 4321;
      const x = space.bytes(length, { name: 'x' });
      const models = [Uint8Array.from({ length }, (_, i) => (i * 13 + (i >> 10)) & 0xff)];
      x.data.set(models[0]);
      await device.run(invert, { x }, { size: length, begin: MIB, end: 2 * MIB });
      for (let i = MIB; i < 2 * MIB; i++) models[0][i] = ~models[0][i];
      const arrays = [x, await x.clone({ name: 'clone' })];
      models.push(models[0].slice());
      arrays.push(
        await arrays[1].clone({ name: 'clone of the clone' }),
        space.bytes(length, { name: 'zeros' }),
      );
      models.push(models[0].slice(), new Uint8Array(length));
      using stream = device.stream();
      for (let round = 0; round < 40; round++) {
        const to = random(4);
        const from = random(4);
        const bytes = 1 + random(round % 3 === 0 ? 2 * MIB : 30_000);
        const target = random(length - bytes);
        const source = random(length - bytes);
        const options = [{}, { at: device }, { at: 'host' }][random(3)] as { at?: Device | 'host' };
        stream.copy(
          arrays[to].range(target, target + bytes),
          arrays[from].range(source, source + bytes),
          options,
        );
        models[to].set(models[from].slice(source, source + bytes), target);
      }
      await stream.synchronize();
      for (const [index, { data, name }] of arrays.entries())
        sameBytes(data, models[index], `array ${name}`);
    }),
  60,
);

longTest(
  'a large copy keeps no thread waiting for its page',
  async () => {
    // Page by page, so that every touch waits for the manager.
    await using space = await openSpace({
      devices: [{ kind: 'process', memory: '8MiB' }],
      policies: { prefetch: 'none', readAhead: 'none' },
    });
    const bytes = 256 * MIB;
    const x = space.bytes(bytes);
    const y = space.bytes(bytes);
    x.data.fill(7);
    const touched = space.array(Int32Array, 1024 * 2048);
    using stream = space.devices[0].stream();
    const event = stream.copy(y, x);
    const waits: number[] = [];
    for (let page = 0; page < 2048 && !event.done; page++) {
      const started = performance.now();
      touched.data[page * 1024] = page;
      waits.push(performance.now() - started);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const { elapsedMs } = await event.synchronize().then(() => event);
    waits.sort((a, b) => a - b);
    const median = waits[waits.length >> 1];
    note(
      `${elapsedMs.toFixed(0)} ms for 256 MiB; a touch meanwhile ${median.toFixed(3)} ms, at most ${waits[waits.length - 1].toFixed(3)} ms`,
    );
    assert.ok(waits.length > 10, 'the copy was over before anybody touched anything');
    assert.ok(median < elapsedMs / 10, `${median} ms of ${elapsedMs}`);
    sameBytes(y.data, new Uint8Array(bytes).fill(7), 'the copy');
  },
  60,
);

test('copies wait their turn, and for events of other streams', () =>
  withSpace(
    [
      { kind: 'process', memory: '8MiB' },
      { kind: 'simulated', memory: '8MiB' },
    ],
    async (space) => {
      const [device, far] = space.devices;
      const n = 10_000;
      const x = space.array(Int32Array, n);
      const y = space.array(Int32Array, n);
      const one = device.stream();
      const two = far.stream();
      for (let round = 1; round <= 20; round++) {
        const written = one.launch(fill, { x, by: round }, { size: n });
        two.wait(written);
        const copied = two.copy(y, x);
        one.wait(copied);
      }
      await Promise.all([one.synchronize(), two.synchronize()]);
      sameData(y.data, (i) => Math.imul(i, 7) + 20);
    },
  ));

test('what cannot be copied is refused by name', () =>
  withSpace([{ kind: 'process', memory: '8MiB' }], async (space) => {
    const [device] = space.devices;
    await using elsewhere = await sharedSpace({ devices: [{ kind: 'simulated', memory: '8MiB' }] });
    const x = space.array(Int32Array, 1000, { name: 'x' });
    const f = space.array(Float32Array, 1000, { name: 'f' });
    using stream = device.stream();
    const length = await failsWith('COPY_LENGTH', () =>
      stream.copy(x.range(0, 10), x.range(10, 21)),
    );
    assert.match(
      length.message,
      /array x .Int32Array., elements 10 to 21, 44 bytes, to array x .*elements 0 to 10, 40 bytes/,
    );
    await failsWith('COPY_LENGTH', () => stream.copy(new Int32Array(999), x));
    await failsWith('COPY_TYPE', () => stream.copy(f, x));
    await failsWith('COPY_TYPE', () => stream.copy(new Float32Array(1000), x));
    await failsWith('COPY_PLACE', () => stream.copy(null as never, x));
    await failsWith('COPY_PLACE', () =>
      stream.copy(x, new DataView(new ArrayBuffer(4000)) as never),
    );
    await failsWith('COPY_PLACE', () => stream.copy(x, { begin: 0, end: 1000 } as never));
    await failsWith('ARRAY_RANGE', () => stream.copy({ array: x, begin: 0, end: 1001 }, x));
    await failsWith('ARRAY_RANGE', () => stream.copy({ array: x, begin: 6, end: 5 }, x));
    await failsWith('COPY_LENGTH', () => stream.copy(x, new Int32Array(0)));
    await failsWith('FOREIGN_ARRAY', () => stream.copy(elsewhere.array(Int32Array, 1000), x));
    await failsWith('FOREIGN_DEVICE', () => stream.copy(x, x, { at: elsewhere.devices[0] }));
    await failsWith('FOREIGN_DEVICE', () => stream.prefetch(x.range(), elsewhere.devices[0]));
    const freed = space.array(Int32Array, 1000, { name: 'gone' });
    freed.free();
    await failsWith('USE_AFTER_FREE', () => stream.copy(x, freed));
    await failsWith('USE_AFTER_FREE', () => stream.copy(freed, x));
    await stream.synchronize();
    assert.equal(space.stats().allocatedBytes, 2 * PAGE);
  }));

test('pinned pages are written where they are, zeros too', () =>
  withSpace([{ kind: 'process', memory: '8MiB' }], async (space) => {
    const [device] = space.devices;
    const n = 64 * 1024;
    const x = space.array(Int32Array, n, { name: 'x' });
    const y = space.array(Int32Array, n);
    x.data.fill(1);
    await device.run(fill, { x: y, by: 8 }, { size: n });
    const pin = await x.pin();
    using stream = device.stream();
    const error = await failsWith('PINNED', () => stream.copy(x, y, { at: device }).synchronize());
    assert.match(error.message, /a copy wrote array x, .*which is pinned in host memory/);
    await stream.synchronize().catch(() => undefined);
    sameData(x.data, () => 1);
    await stream.copy(x, y).synchronize();
    sameData(x.data, (i) => Math.imul(i, 7) + 8);
    await stream.copy(x.range(1000, 50_000), space.array(Int32Array, 49_000)).synchronize();
    assert.deepEqual(x.residency().bytes, { host: n * 4 });
    const pointer = space.pointerAttributes(x.address + 4n * 5000n);
    assert.deepEqual([pointer?.pinned, pointer?.owner], [true, 'host']);
    sameData(x.data, (i) => (i >= 1000 && i < 50_000 ? 0 : Math.imul(i, 7) + 8));
    pin.unpin();
    assert.equal(space.pointerAttributes(x.address)?.pinned, false);
  }));

test('an array that is freed before its copy begins', () =>
  withSpace([{ kind: 'process', memory: '8MiB' }], async (space) => {
    const [device] = space.devices;
    const slow = kernel({ x: i32.inout }, async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
    });
    const anchor = space.array(Int32Array, 16);
    const pages = 64;
    const make = (name: string): ManagedArray<Int32Array> =>
      space.array(Int32Array, pages * 1024, { name });
    for (const which of ['to', 'from']) {
      const x = make('first');
      const y = make('second');
      x.data.fill(1);
      const stream = device.stream();
      stream.launch(slow, { x: anchor }, { size: 16 });
      const event = stream.copy(y, x);
      (which === 'to' ? y : x).free();
      const error = await failsWith('USE_AFTER_FREE', () => event.synchronize());
      assert.match(error.message, which === 'to' ? /to array second/ : /from array first/);
      await stream.synchronize().catch(() => undefined);
    }
  }));

test('a part that was freed ends a copy; what comes before it is copied', () =>
  withSpace([{ kind: 'process', memory: '8MiB' }], async (space) => {
    const x = space.array(Int32Array, 64 * 1024, { name: 'holey' });
    const y = space.array(Int32Array, 64 * 1024, { name: 'target' });
    x.data.fill(5);
    x.free({ begin: 10 * 1024, end: 12 * 1024 });
    using stream = space.devices[0].stream();
    const event = stream.copy(y, x);
    const error = await failsWith('USE_AFTER_FREE', () => stream.synchronize());
    assert.match(
      error.message,
      /a copy read array holey, elements 10240 to 11263 .*which has been freed/,
    );
    assert.equal(event.bytes, 10 * PAGE);
    sameData(y.data, (i) => (i < 10 * 1024 ? 5 : 0));
    await failsWith('USE_AFTER_FREE', () => stream.copy(x, y).synchronize());
  }));

longTest('an array that is freed during its copy', () =>
  withSpace([{ kind: 'process', memory: '8MiB' }], async (space) => {
    const stream = space.devices[0].stream();
    for (let round = 0; round < 5; round++) {
      const from = space.bytes(32 * MIB);
      const to = space.bytes(32 * MIB);
      from.data.fill(9);
      const hasty = stream.copy(to, from);
      await sleep(round);
      (round % 2 === 0 ? from : to).free();
      const failure = await hasty
        .synchronize()
        .catch((reason: unknown) => reason as Error & { code: string });
      if (failure !== undefined) assert.equal(failure.code, 'USE_AFTER_FREE', failure.stack);
      await stream.synchronize().catch(() => undefined);
      from.free();
      to.free();
    }
    assert.equal(space.stats().allocatedBytes, 0);
  }),
);

for (const lossy of [false, true]) {
  variantTest(
    `the device dies with what is copied: ${lossy ? 'lossy' : 'its memory survives'}`,
    () =>
      withSpace(
        [
          { kind: 'process', memory: '16MiB', lossy },
          { kind: 'process', memory: '8MiB' },
        ],
        async (space) => {
          const [dying, other] = space.devices;
          const n = MIB;
          const x = space.array(Int32Array, n, { name: 'x' });
          const y = space.array(Int32Array, n, { name: 'y' });
          await dying.run(fill, { x, by: 4 }, { size: n });
          await dying.run(fill, { x: y, by: 5 }, { size: n });
          const z = space.array(Int32Array, n);
          using stream = other.stream();
          process.kill(dying.pid as number, 'SIGKILL');
          const event = stream.copy(z, x);
          const failure = await event
            .synchronize()
            .catch((reason: unknown) => reason as Error & { code: string });
          if (!lossy) {
            assert.equal(failure, undefined);
            sameData(z.data, (i) => Math.imul(i, 7) + 4);
            return;
          }
          // The copy may have been through before the device was gone.
          if (failure !== undefined) assert.equal(failure.code, 'DATA_LOST', failure.stack);
          await stream.synchronize().catch(() => undefined);
          while (x.residency().runs.every(({ state }) => state !== 'lost')) await sleep(5);
          await failsWith('DATA_LOST', () => stream.copy(z, x).synchronize());
          await stream.synchronize().catch(() => undefined);
          // What is overwritten as a whole is worth something again, up to the array's very end.
          const plain = Int32Array.from({ length: n }, (_, i) => i ^ 0x55);
          await stream.copy(x, plain).synchronize();
          sameData(x.data, (i) => i ^ 0x55);
          await failsWith('DATA_LOST', () =>
            stream.copy(y.range(1, 5), plain.subarray(1, 5)).synchronize(),
          );
          await stream.synchronize().catch(() => undefined);
        },
      ),
  );
}

longTest('a copy to a device that dies, and one that has died', () =>
  withSpace(
    [
      { kind: 'process', memory: '8MiB' },
      { kind: 'simulated', memory: '8MiB' },
    ],
    async (space) => {
      for (const device of space.devices) {
        const x = space.bytes(32 * MIB);
        const y = space.bytes(32 * MIB);
        x.data.fill(3);
        const stream = device.stream();
        const event = stream.copy(y, x, { at: device });
        await sleep(5);
        device.kill();
        const failure = await event
          .synchronize()
          .catch((reason: unknown) => reason as Error & { code: string });
        if (failure !== undefined) assert.equal(failure.code, 'DEVICE_LOST', failure.stack);
        await stream.synchronize().catch(() => undefined);
        await failsWith('DEVICE_LOST', () => stream.copy(y, x, { at: device }).synchronize());
        await stream.synchronize().catch(() => undefined);
        // The stream itself goes on, since the host needs no device.
        const z = space.bytes(MIB);
        await stream.copy(z, x.range(0, MIB)).synchronize();
        sameBytes(z.data, new Uint8Array(MIB).fill(3), 'after the death');
        for (const array of [x, y, z]) array.free();
      }
    },
  ),
);

longTest('from files, and not to those that may only be read', () =>
  withSpace([{ kind: 'process', memory: '8MiB' }], async (space) => {
    const folder = mkdtempSync(join(tmpdir(), 'onemem-copies-'));
    try {
      const path = join(folder, 'numbers');
      const n = MIB;
      writeFileSync(
        path,
        Int32Array.from({ length: n }, (_, i) => 3 * i),
      );
      const x = space.fileArray(Int32Array, path, { name: 'x' });
      const y = space.array(Int32Array, n);
      using stream = space.devices[0].stream();
      await stream.copy(y.range(1, n), x.range(0, n - 1)).synchronize();
      sameData(y.data, (i) => (i === 0 ? 0 : 3 * (i - 1)));
      const denied = await failsWith('ACCESS_DENIED', () => stream.copy(x, y).synchronize());
      assert.match(denied.message, /to array x, which may only be read/);
      await stream.synchronize().catch(() => undefined);
      // A private copy is overwritten without being read from its file.
      const written = space.fileArray(Int32Array, path, { writable: true });
      await stream.copy(written, y).synchronize();
      sameData(written.data, (i) => (i === 0 ? 0 : 3 * (i - 1)));
      const before = space.stats().processors[0].bytesFromFiles;
      assert.ok(before <= 4 * n + 2 * MIB, `${before} bytes were read`);
      const short = space.fileArray(Int32Array, path, { name: 'short' });
      truncateSync(path, 4 * n - 3 * MIB);
      await failsWith('FILE_CHANGED', () => stream.copy(y, short).synchronize());
      await stream.synchronize().catch(() => undefined);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }),
);

longTest(
  'a copy whose source cannot be read leaves its target, and what clones have from there, as it was',
  () =>
    withSpace([{ kind: 'process', memory: '16MiB' }], async (space) => {
      const folder = mkdtempSync(join(tmpdir(), 'onemem-copies-'));
      try {
        const n = MIB / 4;
        const [from, to] = ['from', 'to'].map((name) => join(folder, name));
        for (const path of [from, to])
          writeFileSync(
            path,
            Int32Array.from({ length: n }, (_, i) => i + 1),
          );
        const source = space.fileArray(Int32Array, from, { name: 'source' });
        const target = space.fileArray(Int32Array, to, { name: 'target', writable: true });
        const clone = await target.clone();
        truncateSync(from, 0);
        const stream = space.devices[0].stream();
        stream.copy(target, source);
        await failsWith('FILE_CHANGED', () => stream.synchronize());
        sameData(target.data, (i) => i + 1);
        sameData(clone.data, (i) => i + 1);
      } finally {
        rmSync(folder, { recursive: true });
      }
    }),
);

longTest('the space is closed while copies run and wait', async () => {
  const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  const x = space.bytes(128 * MIB);
  const y = space.bytes(128 * MIB);
  x.data.fill(1);
  const stream = space.devices[0].stream();
  const events = [stream.copy(y, x), stream.copy(x, y)];
  await space.close();
  for (const event of events) await event.synchronize().catch(() => undefined);
  assert.deepEqual(events.map(({ result }) => result).slice(1), ['cancelled']);
});

await runTests();
