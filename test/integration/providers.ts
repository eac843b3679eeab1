/**
 * Arrays that a module fills: for the CPU and devices, again after eviction, and in every way in
 * which it may not.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import {
  type AddressSpace,
  f64,
  i32,
  kernel,
  type ManagedArray,
  type OnememError,
  openSpace,
  type SpaceOptions,
} from '../../src/index.js';
import { runProgram } from '../harness/processes.js';
import { sharedSpace } from '../harness/spaces.js';
import {
  failsWith,
  longTest,
  note,
  runTests,
  sameData,
  sleep,
  test,
  variantTest,
} from '../harness/suite.js';
import { elementAt, Word } from './programs/provider-functions.js';

const MIB = 2 ** 20;
const module = new URL('./programs/provider-functions.js', import.meta.url);
const folder = mkdtempSync(join(tmpdir(), 'onemem-providers-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

interface Provided {
  readonly array: ManagedArray<Int32Array>;
  readonly words: Int32Array;
}

async function provided(
  space: AddressSpace,
  name: string,
  options: {
    length?: number;
    writable?: boolean;
    timeoutMs?: number;
    data?: Record<string, unknown>;
  } = {},
): Promise<Provided> {
  const { length = 4 * MIB, data, ...rest } = options;
  const words = new Int32Array(new SharedArrayBuffer(20));
  const array = await space.providedArray(Int32Array, length, {
    module,
    export: name,
    data: { words, ...data },
    name: `by ${name}`,
    ...rest,
  });
  return { array, words };
}

async function withSpace(
  action: (space: AddressSpace) => Promise<void>,
  options: SpaceOptions = {},
  open = sharedSpace,
): Promise<void> {
  await using space = await open({ devices: [{ kind: 'process', memory: '8MiB' }], ...options });
  await action(space);
  space.checkInvariants();
}

const sum = kernel({ x: i32.in, result: f64.out }, ({ x, result }, { begin, end }) => {
  for (let i = begin; i < end; i++) result[0] += x[i];
});
const add = kernel({ x: i32.inout, by: i32 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += by;
});

function sumTo(length: number): number {
  let total = 0;
  for (let i = 0; i < length; i++) total += elementAt(i);
  return total;
}

for (const name of ['default', 'fillLater', 'giveBack', 'giveBuffer']) {
  test(`the CPU reads what a function made (${name})`, () =>
    withSpace(async (space) => {
      const n = MIB + 1001;
      const { array, words } = await provided(space, name, { length: n });
      assert.deepEqual(
        array.residency().runs.map(({ state }) => state),
        ['provider'],
      );
      const before = space.stats().processors[0].bytesFromFiles;
      const { data } = array;
      assert.equal(data[n - 1], elementAt(n - 1));
      sameData(data, elementAt);
      const filled = space.stats().processors[0].bytesFromFiles - before;
      assert.ok(filled >= 4 * n && filled < 4 * n + 4096, `${filled} bytes were filled`);
      if (name === 'default') {
        // Every element once, in runs of up to 64 pages, and not in this thread.
        assert.equal(words[Word.Elements], n);
        assert.equal(words[Word.Largest], 64 * 1024);
        assert.notEqual(words[Word.Thread], 0);
      }
    }));
}

for (const kind of ['process', 'simulated'] as const) {
  variantTest(`a device reads and writes what a function made (${kind})`, () =>
    withSpace(
      async (space) => {
        const [device] = space.devices;
        const n = MIB;
        const { array, words } = await provided(space, 'fill', { length: n, writable: true });
        const result = space.array(Float64Array, 1);
        await device.run(sum, { x: array, result }, { size: n });
        assert.equal(result.data[0], sumTo(n));
        await device.run(add, { x: array, by: 2 }, { size: n });
        sameData(array.data, (i) => elementAt(i) + 2);
        // What was written is kept, not made again.
        assert.ok(words[Word.Elements] <= 2 * n, `${words[Word.Elements]} elements for ${n}`);
        array.data[7] = 1;
        await device.run(sum, { x: array, result }, { size: n });
        assert.equal(result.data[0], sumTo(n) + 2 * n - elementAt(7) - 2 + 1);
      },
      { devices: [{ kind, memory: '16MiB' }] },
    ),
  );
}

longTest(
  'pages that were dropped are made again, in any order; pages that were written are kept',
  () =>
    withSpace(async (space) => {
      const [device] = space.devices;
      // Twice the device's memory.
      const n = 4 * MIB;
      const { array, words } = await provided(space, 'fill', { length: n, writable: true });
      const result = space.array(Float64Array, 1);
      const expected = sumTo(n);
      for (let round = 0; round < 2; round++) {
        result.data[0] = 0;
        await device.run(sum, { x: array, result }, { size: n });
        assert.equal(result.data[0], expected);
      }
      assert.ok(
        words[Word.Elements] > n,
        `${words[Word.Elements]} elements were made: none was dropped`,
      );
      await device.run(add, { x: array, by: 1 }, { size: n, begin: 1000, end: 3_000_000 });
      for (const page of [4095, 17, 2000, 2, 3500]) {
        const at = page * 1024 + 3;
        assert.equal(array.data[at], elementAt(at) + (at >= 1000 && at < 3_000_000 ? 1 : 0));
      }
      sameData(array.data, (i) => elementAt(i) + (i >= 1000 && i < 3_000_000 ? 1 : 0));
    }),
);

longTest('writeTo, readFrom and prefetch work on them, and eviction on the host drops them', () =>
  withSpace(
    async (space) => {
      const n = 5 * MIB;
      // 20 MiB each, on a host with 36 MiB.
      const { array: first } = await provided(space, 'fill', { length: n });
      const { array: second } = await provided(space, 'fill', { length: n, writable: true });
      const path = join(folder, 'out');
      const fd = openSync(path, 'w+');
      assert.equal(await first.writeTo(fd), 4 * n);
      assert.equal(await second.readFrom(fd, { position: 0, begin: 0, end: 1000 }), 4000);
      using stream = space.devices[0].stream();
      stream.prefetch(second.range(0, MIB), 'host');
      await stream.synchronize();
      sameData(second.data, elementAt);
      sameData(first.data, elementAt);
      closeSync(fd);
      const written = readFileSync(path);
      sameData(new Int32Array(written.buffer, written.byteOffset, n), elementAt);
    },
    { hostMemory: '36MiB' },
  ),
);

/** All of that an API call says of a provider that fails. */
async function failsEverywhere(
  space: AddressSpace,
  array: Provided['array'],
  code: string,
  why: RegExp,
): Promise<void> {
  const [device] = space.devices;
  const result = space.array(Float64Array, 1);
  const size = array.length;
  const launch = (await failsWith(code, () =>
    device.run(sum, { x: array, result }, { size }),
  )) as OnememError;
  assert.match(
    launch.message,
    /^kernel sum read array by \w+, elements 0 to 1023 \(address 0x6[0-9a-f]+\), which its provider/,
  );
  assert.match(launch.message, why);
  assert.doesNotMatch(launch.message, /\n/);
  assert.equal(launch.details.array, array.name);
  const sink = openSync('/dev/null', 'w');
  const transfer = await failsWith(code, () => array.writeTo(sink));
  closeSync(sink);
  assert.match(transfer.message, /^a file transfer touched array by \w+, elements \d+ to \d+ /);
  assert.match(transfer.message, why);
  using stream = device.stream();
  stream.prefetch(array.range());
  assert.match((await failsWith(code, () => stream.synchronize())).message, why);
  // The device is as good as before.
  const plain = space.array(Int32Array, 5000);
  await device.run(add, { x: plain, by: 4 }, { size: 5000 });
  sameData(plain.data, () => 4);
}

const failures: readonly [name: string, why: RegExp][] = [
  ['throwError', /throwError of file:.*provider-functions\.js threw RangeError: no such part: \d/],
  ['throwText', /threw only words/],
  ['throwObject', /threw \{"code":"E_NO","part":3\}/],
  ['reject', /threw Error: the network is down/],
  [
    'giveTooLittle',
    /it returned (4095 bytes where 4096|8191 bytes where 8192|16383 bytes where 16384) were asked for/,
  ],
  ['giveTooMuch', /it returned \d+ bytes where \d+ were asked for/],
  ['giveNumber', /it returned number; it may return bytes, or nothing/],
  ['giveAway', /it left its memory with 0 bytes where \d+ were asked for/],
];
for (const [name, why] of failures) {
  test(`a function that fails: ${name}`, () =>
    withSpace(async (space) => {
      const { array } = await provided(space, name, { length: 4096 });
      await failsEverywhere(space, array, 'PROVIDER_FAILED', why);
    }));
}

test('an error of a function has its own stack', () =>
  withSpace(async (space) => {
    const { array } = await provided(space, 'throwError', { length: 4096 });
    const error = await failsWith('PROVIDER_FAILED', () => array.writeTo(1));
    assert.match(error.stack ?? '', /at throwError .*provider-functions/);
  }));

test('reasons that are no texts', () =>
  withSpace(async (space) => {
    for (const [given, said] of [
      ['object', /provider refused: \{"part":3\}$/],
      ['error', /provider refused: not today$/],
      ['nothing', /provider refused: no reason was given$/],
    ] as const) {
      const { array } = await provided(space, 'refuseOddly', { length: 1024, data: { given } });
      assert.match((await failsWith('ACCESS_REFUSED', () => array.pin())).message, said);
    }
  }));

longTest('a function that refuses a part', () =>
  withSpace(async (space) => {
    const { array } = await provided(space, 'refuseSome', { length: MIB });
    const [device] = space.devices;
    const result = space.array(Float64Array, 1);
    const size = MIB;
    const error = (await failsWith('ACCESS_REFUSED', () =>
      device.run(sum, { x: array, result }, { size }),
    )) as OnememError;
    assert.match(
      error.message,
      /^kernel sum read array by refuseSome, elements 26\d+ to .* refused: the second MiB is not for you$/,
    );
    const transfer = await failsWith('ACCESS_REFUSED', () => array.writeTo(1));
    assert.match(transfer.message, /the second MiB is not for you$/);
    // The rest is there for all.
    result.data[0] = 0;
    await device.run(sum, { x: array, result }, { size, begin: 0, end: MIB / 4 });
    assert.equal(result.data[0], sumTo(MIB / 4));
    sameData(array.data.subarray(0, MIB / 4), elementAt);
    sameData(array.data.subarray(MIB / 2), (i) => elementAt(i + MIB / 2));
  }),
);

longTest(
  'a simulated device, whose pages go over the host, fails its launch and names the array',
  () =>
    withSpace(
      async (space) => {
        const { array } = await provided(space, 'throwError', { length: MIB });
        const { array: good } = await provided(space, 'fill', { length: MIB });
        const both = kernel({ a: i32.in, b: i32.in, result: f64.out }, ({ a, b, result }) => {
          result[0] = a[0] + b[0];
        });
        const result = space.array(Float64Array, 1);
        const error = await failsWith('PROVIDER_FAILED', () =>
          space.devices[0].run(both, { a: good, b: array, result }, { size: 1 }),
        );
        assert.match(
          error.message,
          /^kernel both touched array by throwError, elements .*threw RangeError: no such part/,
        );
        await space.devices[0].run(both, { a: good, b: good, result }, { size: 1 });
        assert.equal(result.data[0], 2 * elementAt(0));
      },
      { devices: [{ kind: 'simulated', memory: '32MiB' }] },
    ),
);

test('a part that failed is asked for again at the next access', () =>
  withSpace(async (space) => {
    const { array, words } = await provided(space, 'throwAtTimes', { length: 16 * 1024 });
    words[Word.Fails] = 1;
    await failsWith('PROVIDER_FAILED', () => array.writeTo(1));
    assert.equal(words[Word.Calls], 0);
    // One call of a run with its neighbours may fail: the page that was touched is asked for alone
    // before it is denied.
    words[Word.Fails] = 1;
    sameData(array.data, elementAt);
  }));

test('what a function writes late never appears', () =>
  withSpace(async (space) => {
    const n = 2 * MIB;
    const { array, words } = await provided(space, 'writeLate', { length: n });
    for (let round = 0; round < 4; round++) {
      words[Word.Fails] = 1;
      const sink = openSync('/dev/null', 'w');
      await failsWith('PROVIDER_FAILED', () => array.writeTo(sink));
      closeSync(sink);
    }
    words[Word.Fails] = 0;
    const { data } = array;
    assert.equal(data[0], elementAt(0));
    await sleep(60);
    sameData(data, elementAt);
    await sleep(60);
    sameData(data, elementAt);
  }));

const ends: readonly [name: string, why: RegExp][] = [
  ['exit', /exit of .* ended its thread with code 3/],
  ['crash', /ended its thread: Error: thrown by nobody/],
];
for (const [name, why] of ends) {
  test(
    `a thread that ends: ${name}`,
    () =>
      withSpace(async (space) => {
        const { array } = await provided(space, name, { length: 4096 });
        await failsEverywhere(space, array, 'PROVIDER_FAILED', why);
      }),
    60,
  );
}

for (const name of ['neverAnswer', 'spin']) {
  variantTest(`a function that never answers: ${name}`, () =>
    withSpace(async (space) => {
      const { array, words } = await provided(space, name, { length: MIB, timeoutMs: 300 });
      const began = performance.now();
      await failsEverywhere(space, array, 'PROVIDER_FAILED', /did not answer within 300 ms/);
      const took = performance.now() - began;
      // It waits once; a provider that hung is asked no more.
      assert.ok(took > 250, `it took ${took} ms`);
      assert.ok(words[Word.Calls] <= 4, `${words[Word.Calls]} calls`);
    }),
  );
}

test('pages that were there before the provider broke stay', () =>
  withSpace(async (space) => {
    const { array, words } = await provided(space, 'throwAtTimes', {
      length: 4 * MIB,
      timeoutMs: 300,
    });
    assert.equal(array.data[100], elementAt(100));
    words[Word.Fails] = 1;
    await failsWith('PROVIDER_FAILED', () => array.writeTo(1, { begin: 3 * MIB }));
    sameData(array.data.subarray(0, 1024), elementAt);
  }));

longTest('modules that cannot be loaded, and wrong arguments', () =>
  withSpace(
    async (space) => {
      const one = (options: Record<string, unknown>) =>
        space.providedArray(Int32Array, 10, { module, name: 'unlucky', ...options } as never);
      const broken = await failsWith('PROVIDER_FAILED', () =>
        one({ module: new URL('./programs/provider-broken.js', import.meta.url) }),
      );
      assert.match(
        broken.message,
        /^cannot make array unlucky: .*provider-broken\.js threw Error: this module never loads/,
      );
      const missing = await failsWith('PROVIDER_FAILED', () =>
        one({ module: new URL('./none.js', import.meta.url) }),
      );
      assert.match(
        missing.message,
        /none\.js cannot be loaded: there is no file .*none\.js; new URL/,
      );
      const other = await failsWith('PROVIDER_FAILED', () => one({ export: 'notAFunction' }));
      assert.match(
        other.message,
        /has no function as export 'notAFunction'; it exports .*giveAway/,
      );
      await failsWith('PROVIDER_MODULE', () => one({ module: './here.js' }));
      await failsWith('PROVIDER_DATA', () => one({ data: { method: () => 1 } }));
      for (const timeoutMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
        await failsWith('TIMEOUT_MS', () => one({ timeoutMs }));
      await failsWith('ARRAY_LENGTH', () => space.providedArray(Int32Array, -1, { module }));
      await failsWith('ARRAY_TYPE', () => space.providedArray(String as never, 1, { module }));
      // Nothing is left of them.
      assert.equal(space.stats().ranges, 0);
      const { array } = await provided(space, 'fill', { length: 10 });
      await failsWith('ACCESS_DENIED', () =>
        space.devices[0].run(add, { x: array, by: 1 }, { size: 10 }),
      );
    },
    {},
    openSpace,
  ),
);

longTest('a provider may use other arrays, provided ones among them', () =>
  withSpace(async (space) => {
    const { array: base } = await provided(space, 'fill', { length: MIB });
    const { array: next } = await provided(space, 'fillFromTable', {
      length: MIB,
      data: { table: base.handle },
    });
    const { array: last } = await provided(space, 'fillFromTable', {
      length: MIB,
      data: { table: next.handle },
    });
    sameData(last.data, (i) => elementAt(i) + 2);
    const written = space.array(Int32Array, MIB);
    written.data.fill(9);
    await space.devices[0].run(add, { x: written, by: 1 }, { size: MIB });
    const { array: of } = await provided(space, 'fillFromTable', {
      length: MIB,
      data: { table: written.handle },
    });
    sameData(of.data, () => 11);
  }),
);

interface Denied {
  readonly before?: RegExp;
  readonly line: RegExp;
}
const denied: Readonly<Record<string, Denied>> = {
  refused: {
    before: /^first 38$/m,
    line: /^onemem: denied access: thread \d+ read array secret, elements 262144 to 263167 \(address 0x\w+\), which its provider refused: the second MiB is not for you\. The process ends\.$/m,
  },
  thrown: {
    line: /^onemem: denied access: thread \d+ read array broken, elements 2048 to 3071 .* could not fill: throwError of .* threw RangeError: no such part: 2048\. The process ends\.$/m,
  },
  hang: {
    line: /^onemem: denied access: thread \d+ read array slow, .* spin of .* did not answer within 300 ms;/m,
  },
  'own array': {
    line: /^onemem: denied access: thread \d+ read array selfish, elements .*, which it fills itself: a provider is handed/m,
  },
  circle: {
    line: /^onemem: denied access: thread \d+ read array (hen|egg), .* waits for this one \((hen needs egg needs hen|egg needs hen needs egg)\)/m,
  },
};
for (const [way, { before, line }] of Object.entries(denied)) {
  const tested = way === 'refused' ? test : longTest;
  tested(`the CPU touches what is not filled: a message, then the end (${way})`, async () => {
    const began = performance.now();
    const { signal, stdout, stderr } = await runProgram('provider-access', [way]);
    assert.ok(signal === 'SIGBUS' || signal === 'SIGKILL', `signal ${signal}; ${stdout}${stderr}`);
    if (before !== undefined) assert.match(stdout, before);
    assert.doesNotMatch(stdout, /^survived/m);
    assert.match(stderr, line);
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
    note(`${way}: ${Math.round(performance.now() - began)} ms`);
  });
}

test('a worker thread that waits for a page is terminated when the page has come', () =>
  withSpace(async (space) => {
    const { array, words } = await provided(space, 'fillWhenTold', { writable: true });
    const workerData = { handle: array.handle, words: new SharedArrayBuffer(8) };
    const worker = new Worker(new URL('./programs/touching-thread.js', import.meta.url), {
      workerData,
    });
    await once(worker, 'message');
    const [goOn] = [new Int32Array(workerData.words)];
    Atomics.store(goOn, 0, 1);
    Atomics.notify(goOn, 0);
    while (Atomics.load(words, Word.Calls) === 0) await sleep(2);
    let ended = false;
    const terminated = worker.terminate().then(() => {
      ended = true;
    });
    await sleep(200);
    assert.equal(ended, false);
    Atomics.store(words, Word.Fails, 1);
    await terminated;
    sameData(array.data.subarray(1, 1024), (i) => elementAt(i + 1));
  }));

longTest('a system call into what is not filled fails, and the process goes on', async () => {
  const path = join(folder, 'system-call');
  const { code, stdout, stderr } = await runProgram('provider-access', ['system call', path]);
  assert.equal(code, 0, `${stdout}${stderr}`);
  assert.deepEqual(stdout.trimEnd().split('\n'), [
    'system call failed with EFAULT',
    'system call failed with EFAULT',
    `written 4096, element ${elementAt(5)}`,
  ]);
  // Without privilege the kernel does not ask the manager, which therefore says nothing.
  if (process.getuid?.() === 0)
    assert.match(stderr, /^onemem: denied access: .* array moody, .* Error: not yet/m);
  sameData(new Int32Array(readFileSync(path).buffer.slice(0, 4096)), elementAt);
});

longTest('devices die, arrays are freed and functions fail while parts are being filled', () =>
  withSpace(
    async (space) => {
      const n = MIB;
      const { array: slow } = await provided(space, 'fillLater', { length: n, writable: true });
      const { array: moody, words } = await provided(space, 'throwAtTimes', { length: n });
      const results = space.devices.map(() => space.array(Float64Array, 1));
      const launches = space.devices.map((device, index) =>
        device
          .run(sum, { x: index === 0 ? moody : slow, result: results[index] }, { size: n })
          .then(
            () => 'done',
            (error: OnememError) => error.code,
          ),
      );
      await sleep(5);
      space.devices[1].kill();
      words[Word.Fails] = 3;
      const { array: doomed } = await provided(space, 'fillLater', { length: n });
      const sink = openSync('/dev/null', 'w');
      const transfer = doomed.writeTo(sink).then(
        () => 'done',
        (error: OnememError) => error.code,
      );
      await sleep(5);
      doomed.free();
      const [first, second, third] = await Promise.all(launches);
      assert.ok(['done', 'PROVIDER_FAILED'].includes(first), first);
      assert.equal(second, 'DEVICE_LOST');
      assert.equal(third, 'done');
      assert.equal(results[2].data[0], sumTo(n));
      assert.ok(['done', 'USE_AFTER_FREE'].includes(await transfer));
      closeSync(sink);
      words[Word.Fails] = 0;
      sameData(slow.data, elementAt);
      sameData(moody.data, elementAt);
    },
    {
      devices: [0, 1, 2].map((index) => ({
        kind: 'process' as const,
        memory: '8MiB',
        lossy: index === 1,
      })),
      checkInvariants: true,
    },
  ),
);

longTest('arrays that are freed take their threads along', () =>
  withSpace(
    async (space) => {
      const threads = () =>
        Number(readFileSync('/proc/self/status', 'latin1').match(/^Threads:\s+(\d+)/m)?.[1]);
      let before = 0;
      for (let round = 0; round < 3; round++) {
        const { array } = await provided(space, 'fillLater', { length: 5000 });
        const sink = openSync('/dev/null', 'w');
        assert.equal(await array.writeTo(sink), 20_000);
        closeSync(sink);
        if (round === 0) {
          // The first transfer has started a thread of its own, which stays.
          array.free();
          await sleep(500);
          before = threads();
        } else array.free();
      }
      // Threads of the spaces before may have ended meanwhile, too.
      for (let tries = 0; threads() > before && tries < 200; tries++) await sleep(10);
      assert.ok(threads() <= before, `${threads()} threads, where there were ${before}`);
      assert.equal(space.stats().ranges, 0);
    },
    {},
    openSpace,
  ),
);

for (const [name, tested] of [
  ['fillLater', test],
  ['neverAnswer', longTest],
  ['spin', longTest],
] as const) {
  tested(`a space closes while a provider is at work: ${name}`, async () => {
    const space = await openSpace();
    const { array } = await provided(space, name, { length: 8 * MIB });
    const sink = openSync('/dev/null', 'w');
    const transfer = array.writeTo(sink).then(
      () => 'done',
      (error: { code: string }) => error.code,
    );
    await sleep(20);
    const began = performance.now();
    await space.close();
    assert.ok(
      performance.now() - began < 20_000,
      `${name}: closing took ${performance.now() - began} ms`,
    );
    assert.ok(['done', 'SPACE_CLOSED'].includes(await transfer));
    closeSync(sink);
  });
}

await runTests();
