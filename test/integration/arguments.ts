/** What a program does wrong is refused with a named error that says what to do instead. */
import assert from 'node:assert/strict';
import { closeSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import {
  AddressSpace,
  attachArray,
  attachSpace,
  bytes,
  f32,
  f64,
  i32,
  i64,
  kernel,
  type LaunchArguments,
  ManagedArray,
  OnememError,
  openSpace,
  type SpaceHandle,
  u8,
} from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, longTest, runTests, sameData, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const HOST_MEMORY = 256 * MIB;

async function withSpace(action: (space: AddressSpace) => Promise<void>): Promise<void> {
  await using space = await sharedSpace({
    devices: [{ kind: 'process', memory: '8MiB' }],
    hostMemory: HOST_MEMORY,
    storage: false,
  });
  await action(space);
  space.checkInvariants();
}

const copy = kernel({ x: f32.in, y: f32.out }, ({ x, y }, { begin, end }) => {
  for (let i = begin; i < end; i++) y[i] = x[i];
});
const scale = kernel({ x: f64.inout, by: f64 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] *= by;
});

test('lengths that are none', () =>
  withSpace(async (space) => {
    for (const length of [
      -1,
      Number.NaN,
      1.5,
      Number.POSITIVE_INFINITY,
      2 ** 53,
      '7',
      7n,
      null,
      undefined,
    ]) {
      const error = await failsWith('ARRAY_LENGTH', () =>
        space.array(Float32Array, length as number, { name: 'wanted' }),
      );
      assert.ok(error instanceof RangeError);
      assert.match(error.message, /wanted.*length is .*whole number of 0 or more/);
      await failsWith('ARRAY_LENGTH', () => space.bytes(length as number));
    }
    assert.equal(space.stats().allocatedBytes, 0);
  }));

test('types that are none', () =>
  withSpace(async (space) => {
    for (const type of [Array, DataView, Object, undefined, null, 'Float32Array']) {
      const error = await failsWith('ARRAY_TYPE', () => space.array(type as never, 4));
      assert.ok(error instanceof TypeError);
      assert.match(error.message, /no typed array/);
    }
  }));

test('a typed array of the program’s own where the type of one belongs', () =>
  withSpace(async (space) => {
    const { message } = await failsWith('ARRAY_TYPE', () =>
      space.array(new Float32Array(3) as never, 3),
    );
    assert.match(
      message,
      /a Float32Array was handed in .* write space\.array\(Float32Array, 3\), and have its data filled by set\(\)/,
    );
  }));

test('arrays that one view cannot hold', () =>
  withSpace(async (space) => {
    const error = await failsWith('VIEW_SIZE', () => space.array(Float64Array, 2 ** 50));
    assert.ok(error instanceof RangeError);
    if (Number(process.versions.node.split('.')[0]) < 22) {
      const over = await failsWith('VIEW_SIZE', () => space.array(Uint8Array, 4 * 2 ** 30 + 1));
      assert.match(over.message, /4294967297 bytes.*use Node\.js 22 or newer, or several arrays/);
      // The largest view is possible; it is the budget that refuses it.
      await failsWith('HOST_BUDGET', () => space.array(Uint8Array, 4 * 2 ** 30));
    }
  }));

test('more than the host memory', () =>
  withSpace(async (space) => {
    const first = space.array(Uint8Array, HOST_MEMORY - MIB, { name: 'first' });
    const error = await failsWith('HOST_BUDGET', () =>
      space.array(Uint8Array, MIB + 1, { name: 'second' }),
    );
    assert.ok(error instanceof RangeError);
    assert.match(error.message, /second.*1048577 bytes.*1048576 are left.*larger hostMemory/);
    assert.deepEqual((error as unknown as { details: unknown }).details, {
      requestedBytes: MIB + 1,
      budgetBytes: HOST_MEMORY,
      committedBytes: HOST_MEMORY - MIB,
      node: 'host',
    });
    space.array(Uint8Array, MIB).free();
    first.free();
    const whole = space.array(Uint8Array, HOST_MEMORY);
    assert.equal(whole.length, HOST_MEMORY);
  }));

test('more than the address space', async () => {
  await using space = await openSpace({ addressSpace: '64MiB', hostMemory: HOST_MEMORY });
  const first = space.array(Uint8Array, 60 * MIB);
  const error = await failsWith('ADDRESS_SPACE', () => space.array(Uint8Array, 5 * MIB));
  assert.match(error.message, /no 5242880 bytes of addresses are left.*larger addressSpace/);
  first.free();
  assert.equal(space.array(Uint8Array, 60 * MIB).length, 60 * MIB);
});

test('options of a space', async () => {
  const device = (options: object) =>
    ({ devices: [{ kind: 'process', memory: '8MiB', ...options }] }) as never;
  const small = await failsWith('SIZE', () =>
    openSpace(device({ memory: '4MiB', units: 2, name: 'tiny' })),
  );
  assert.match(
    small.message,
    /tiny has 4194304 bytes.* must be 6291456 or more, 2 MiB for each of the 2 units/,
  );
  await failsWith('SIZE', () => openSpace(device({ memory: 1 })));
  await failsWith('SIZE', () => openSpace(device({ memory: 0 })));
  await failsWith('SIZE', () => openSpace(device({ memory: Number.NaN })));
  await failsWith('SIZE', () => openSpace(device({ memory: 'much' })));
  await failsWith('SIZE', () => openSpace(device({ units: 0 })));
  await failsWith('UNITS', () => openSpace(device({ memory: '1GiB', units: 65 })));
  await failsWith('DEVICE_KIND', () => openSpace(device({ kind: 'gpu' })));
  await failsWith('DEVICE_KIND', () => openSpace(device({ kind: Object.create(null) })));
  for (const name of ['host', 'memory', 'storage', 'valkey']) {
    const place = await failsWith('DEVICE_NAME', () => openSpace(device({ name })));
    assert.match(
      place.message,
      new RegExp(`device 0 is named ${name}, which is the name of a place`),
    );
  }
  const twice = [0, 1].map(() => ({ kind: 'process', memory: '8MiB', name: 'a' }) as const);
  assert.match(
    (await failsWith('DEVICE_NAME', () => openSpace({ devices: twice }))).message,
    /two devices are named a/,
  );
  await failsWith('SIZE', () => openSpace({ hostMemory: '1MiB' }));
  await failsWith('SIZE', () => openSpace({ hostMemory: -1 }));
  const none = await failsWith('SIZE', () => openSpace({ storage: { bytes: 0 } }));
  assert.match(none.message, /storage\.bytes is 0; it must be a number of bytes from 2MiB on/);
  await failsWith('ADDRESS_SPACE', () => openSpace({ addressSpace: '64TiB' }));
});

test('options of a space that there are not, with those that there are for users', async () => {
  const near = await failsWith('OPTIONS', () => openSpace({ hostmem: '1GiB' } as never));
  assert.match(
    near.message,
    /has no option hostmem; did you mean hostMemory\? there are devices, hostMemory, slowMemory, storage/,
  );
  const { message } = await failsWith('OPTIONS', () => openSpace({ crsh: true } as never));
  assert.doesNotMatch(message, /did you mean|crash|heartbeatLimitMs|memoryRoot/);
});

test('servers that are named by a text where an object of options belongs, without what the text says', () =>
  withSpace(async (space) => {
    const text = 'valkey://user:secret@127.0.0.1:1' as never;
    const on = await failsWith('OPTIONS', () =>
      space.sharedArray(Float32Array, 8, { name: 'x', on: text }),
    );
    assert.match(on.message, /on of array x is a string; it must be an object of options: \{ url:/);
    const behind = await failsWith('BEHIND', () => openSpace({ behind: text }));
    for (const { message } of [on, behind]) assert.doesNotMatch(message, /secret/);
  }));

test('elements that are looked for in the array itself', () =>
  withSpace(async (space) => {
    const x = space.array(Float32Array, 8, { name: 'x' });
    const plain = x as unknown as Float32Array;
    const stored = await failsWith('ARRAY_INDEX', () => {
      plain[0] = 5;
    });
    assert.ok(stored instanceof TypeError);
    assert.match(
      stored.message,
      /array x has no element 0 itself: its elements are in data, as in x\.data\[0\]/,
    );
    // All of these would make NaN of what is not there.
    for (const copied of [
      () => plain[7],
      () => Float32Array.from(plain),
      () => new Float32Array(plain),
      () => x.data.set(plain),
      () => Buffer.from(plain),
    ])
      await failsWith('ARRAY_INDEX', copied);
    assert.equal((x as unknown as Record<string, unknown>).indices, undefined);
    Object.assign(x, { label: 'mine' });
    assert.deepEqual([...x.data], Array(8).fill(0));
  }));

test('methods of typed arrays that are looked for in the array itself', () =>
  withSpace(async (space) => {
    const x = space.array(Float32Array, 8, { name: 'x' }) as unknown as Float32Array;
    const { message } = await failsWith('ARRAY_INDEX', () => x.fill(1));
    assert.match(
      message,
      /^array x has no fill itself: its elements are in data, as in x\.data\.fill$/,
    );
    // It would be empty.
    await failsWith('ARRAY_INDEX', () => new Float64Array(x.buffer));
    assert.equal((x as unknown as Record<string, unknown>).then, undefined);
  }));

test('a typed array that is to take the place of the elements', () =>
  withSpace(async (space) => {
    const x = space.array(Float32Array, 8, { name: 'x' });
    const { message } = await failsWith('ARRAY_DATA', () => {
      (x as { data: Float32Array }).data = new Float32Array(8);
    });
    assert.match(message, /data of array x is its memory.*data\.set\(values\)/);
  }));

test('objects that are made by new', async () => {
  for (const options of [undefined, { hostMemory: '1GiB' }]) {
    const { message } = await failsWith(
      'CONSTRUCTOR',
      () => new (AddressSpace as never as typeof Map)(options as never),
    );
    assert.match(message, /^a space is made by openSpace\(\)/);
  }
  const { message } = await failsWith(
    'CONSTRUCTOR',
    () => new (ManagedArray as never as typeof Array)(8),
  );
  assert.match(message, /^an array is made by space\.array\(\)/);
});

test('objects that are sent to another thread as they are, with what is sent instead', () =>
  withSpace(async (space) => {
    const sent = (what: unknown) => (): unknown => structuredClone(what);
    for (const each of [space, space.devices[0], space.devices[0].stream()])
      assert.throws(
        sent(each),
        /an AddressSpace, which is sent by its handle: postMessage\(space\.handle\)/,
      );
    assert.throws(
      sent(space.array(Float32Array, 8)),
      /a ManagedArray, which is sent by its handle/,
    );
  }));

test('launches that lack arguments or a size, or have others in their place', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const x = space.array(Float64Array, 8, { name: 'x' });
    const run = device.run.bind(device) as (...all: unknown[]) => Promise<void>;
    for (const [args, not] of [
      [[], 'undefined'],
      [[x, 2], 'array x'],
      [[[x, 2]], 'an array'],
    ] as const) {
      const { message } = await failsWith('OPTIONS', () => run(scale, ...args));
      assert.equal(message, `kernel scale takes its arguments by name, { x, by }, not ${not}`);
    }
    for (const options of [undefined, 8]) {
      const { message } = await failsWith('OPTIONS', () => run(scale, { x, by: 2 }, options));
      assert.match(
        message,
        /^a launch of kernel scale takes an object of options such as \{ size: 1000 \}, not/,
      );
    }
  }));

test('functions where an object with one of them is wanted', () =>
  withSpace(async (space) => {
    const x = space.array(Float64Array, 8, { name: 'x' });
    const watched = await failsWith('OPTIONS', () => x.watch((() => undefined) as never));
    assert.match(
      watched.message,
      /the watch of array x takes an object of options such as \{ onInvalidate: .* not a function/,
    );
    const provided = await failsWith('OPTIONS', () =>
      space.providedArray(Float64Array, 8, (() => undefined) as never),
    );
    assert.match(
      provided.message,
      /such as \{ module: new URL\('\.\/provider\.js', import\.meta\.url\) \}/,
    );
  }));

test('devices with less memory than they need, by the number that was said', async () => {
  const { message } = await failsWith('SIZE', () =>
    openSpace({ devices: [{ kind: 'process', memory: 64 }] }),
  );
  assert.match(
    message,
    /device process0 has 64 bytes of memory; it must be 4194304 or more.*memory: '64MiB'/,
  );
});

test('a device that was detached, with what brings it back', async () => {
  await using space = await openSpace({ devices: [{ kind: 'simulated', memory: '8MiB' }] });
  const [device] = space.devices;
  await device.detach();
  const { message } = await failsWith('DEVICE_DETACHED', () => device.stream());
  assert.match(message, /device simulated0 has been detached; restart\(\) starts it again/);
  await device.restart();
  device.stream();
});

test('values in place of a length, and other things in place of file descriptors, are told what to write', () =>
  withSpace(async (space) => {
    const values = await failsWith('ARRAY_LENGTH', () =>
      space.array(Float32Array, [1, 2] as never),
    );
    assert.match(
      values.message,
      /length is an array; .* fill the array by array\.data\.set\(values\)/,
    );
    const x = space.array(Float64Array, 8);
    const told = async (file: unknown) =>
      (await failsWith('FILE_DESCRIPTOR', () => x.writeTo(file as number))).message;
    assert.match(await told('/tmp/x.bin'), /const fd = openSync\("\/tmp\/x\.bin", 'w'\)/);
    assert.match(await told({ fd: 5 }), /pass its number, which is in fd/);
    assert.match(await told(new PassThrough()), /pipeline\(array\.createReadStream\(\), stream\)/);
  }));

test('handles that are of something else, or were made text of, are told as that', () =>
  withSpace(async (space) => {
    const x = space.array(Float64Array, 8);
    const text = JSON.parse(JSON.stringify(space.handle)) as SpaceHandle;
    const notSpace = async (handle: unknown) =>
      (await failsWith('SPACE_HANDLE', () => attachSpace(handle as SpaceHandle))).message;
    assert.match(
      await notSpace(x.handle),
      /^this is the handle of an array, for attachArray\(\); pass what space\.handle gives/,
    );
    assert.match(await notSpace(text), /its threads attach by space\.handle/);
    assert.match(await notSpace({}), /^this is no handle of a space; /);
    assert.match(await notSpace('jobs'), /opens by openSpace\(\{ at: "jobs" \}\)$/);
    assert.match(await notSpace('onemem:1'), /; pass what space\.share\(\) gives, as it is$/);
    const wrong = await failsWith('ARRAY_HANDLE', () => space.attachArray(space.handle as never));
    assert.match(
      wrong.message,
      /^this is the handle of a space, for attachSpace\(\); pass what array\.handle gives/,
    );
  }));

test('file descriptors that are not open for what is wanted', () =>
  withSpace(async (space) => {
    const x = space.array(Float64Array, 8);
    const path = join(tmpdir(), `onemem-descriptor-${process.pid}`);
    const fd = openSync(path, 'w');
    try {
      const { message } = await failsWith('FILE_IO', () => x.readFrom(fd));
      assert.match(
        message,
        /reading file descriptor \d+ \(.*onemem-descriptor-\d+\) failed after 0 of 64 bytes: EBADF: no file is open there/,
      );
    } finally {
      closeSync(fd);
      rmSync(path);
    }
  }));

test('an error that comes while something else is asked names no line of that', () =>
  withSpace(async (space) => {
    const x = space.array(Float64Array, 8);
    const nowhere = new URL('./nowhere.js', import.meta.url);
    let failed: Error | null = null;
    const watched = x.watch({ module: nowhere }).catch((error: Error) => {
      failed = error;
    });
    // The answer comes in one of these.
    for (const end = performance.now() + 500; performance.now() < end; )
      space.array(Float64Array, 8).free();
    await watched;
    const { stack, message } = failed as unknown as Error;
    assert.equal(stack, `OnememError: ${message}`);
  }));

test('arguments of the wrong type', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const x32 = space.array(Float32Array, 8, { name: 'single' });
    const x64 = space.array(Float64Array, 8);
    const { allocatedBytes } = space.stats();
    const run = (args: object) => () => device.run(scale, args as never, { size: 8 });
    // The compiler refuses all of these; a program in JavaScript hears of it at run time.
    const error = await failsWith('KERNEL_ARGUMENT', () =>
      // @ts-expect-error a Float32Array is no f64 array
      device.run(scale, { x: x32, by: 2 }, { size: 8 }),
    );
    assert.ok(error instanceof TypeError);
    assert.match(error.message, /parameter x is f64, but array single is Float32Array/);
    await failsWith('KERNEL_ARGUMENT', () =>
      // @ts-expect-error nor is a plain one
      device.run(scale, { x: new Float32Array(8), by: 2 }, { size: 8 }),
    );
    // @ts-expect-error a number is no bigint
    await failsWith('KERNEL_ARGUMENT', () => device.run(scale, { x: x64, by: 2n }, { size: 8 }));
    // @ts-expect-error every parameter needs an argument
    await failsWith('KERNEL_ARGUMENT', () => device.run(scale, { x: x64 }, { size: 8 }));
    // @ts-expect-error a number is no array
    await failsWith('KERNEL_ARGUMENT', () => device.run(scale, { x: 1, by: 2 }, { size: 8 }));
    await failsWith('KERNEL_ARGUMENT', run({ x: x64, by: 2, more: 1 }));
    await failsWith('KERNEL_ARGUMENT', run({ x: x64, by: '2' }));
    await failsWith('KERNEL_ARGUMENT', run({ x: [1, 2], by: 2 }));
    await failsWith('KERNEL_ARGUMENT', run({ x: null, by: 2 }));
    await failsWith('KERNEL_ARGUMENT', run({ x: new DataView(new ArrayBuffer(64)), by: 2 }));
    // Nothing of all this has run or is left behind.
    sameData(x64.data, () => 0);
    assert.equal(space.stats().allocatedBytes, allocatedBytes);
    const big = kernel({ x: i64.inout, by: i64 }, ({ x, by }, { begin, end }) => {
      for (let i = begin; i < end; i++) x[i] += by;
    });
    await failsWith('KERNEL_ARGUMENT', () =>
      // @ts-expect-error a bigint is no number
      device.run(big, { x: new BigInt64Array(1), by: 1 }, { size: 1 }),
    );
  }));

test('types that the compiler must refuse in a kernel', () => {
  // @ts-expect-error an array that is `in` cannot be assigned to
  const assign = kernel({ x: f32.in }, ({ x }) => (x[0] = 1) && undefined);
  assert.equal(assign.parameters.x.use, 'in');
  // @ts-expect-error `y` is no parameter
  const unknown = kernel({ x: f32.in }, ({ y }) => void y);
  assert.equal(unknown.name, 'unknown');
});

test('sizes and parts of a launch', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const x = space.array(Float64Array, 8);
    for (const size of [-1, 1.5, Number.NaN, undefined]) {
      await failsWith('SIZE', () => device.run(scale, { x, by: 2 }, { size: size as number }));
    }
    for (const [begin, end] of [
      [0, 9],
      [5, 4],
      [-1, 4],
      [0, 1.5],
    ]) {
      await failsWith('LAUNCH_RANGE', () =>
        device.run(scale, { x, by: 2 }, { size: 8, begin, end }),
      );
      await failsWith('ARRAY_RANGE', () => x.range(begin, end));
      await failsWith('ARRAY_RANGE', () => x.residency({ begin, end }));
      await failsWith('ARRAY_RANGE', () => x.free({ begin, end }));
    }
  }));

test('kernels that cannot be sent', async () => {
  const outside = 3;
  const error = await failsWith('KERNEL_CLOSURE', () =>
    kernel({ x: f32.inout }, function addOutside({ x }) {
      x[0] += outside;
    }),
  );
  assert.ok(error instanceof TypeError);
  assert.match(
    error.message,
    /kernel addOutside uses outside from outside.*scalar parameters.*module/,
  );
  await failsWith('KERNEL_CLOSURE', () =>
    kernel({ x: f32.inout }, ({ x }) => console.log(assert.ok(x))),
  );
  await failsWith('KERNEL_SOURCE', () => kernel({ x: f32.inout }, Math.max as never));
  await failsWith('KERNEL_SOURCE', () =>
    kernel({ x: f32.inout }, (() => undefined).bind(null) as never),
  );
  await failsWith('KERNEL_BODY', () => kernel({ x: f32.inout }, 'x' as never));
  await failsWith('KERNEL_MODULE', () => kernel({ x: f32.inout }, { module: './kernel.js' }));
  await failsWith('KERNEL_PARAMETER', () => kernel({ x: 'f32' as never }, () => undefined));
  await failsWith('KERNEL_PARAMETER', () => kernel(null as never, () => undefined));
  // A kernel may use what every process has, and a method or an async function is one, too.
  const methods = {
    root({ x }: { x: Float32Array }): void {
      x[0] = Math.sqrt(Number('16'));
    },
  };
  await withSpace(async (space) => {
    const x = space.array(Float32Array, 1);
    await space.devices[0].run(kernel({ x: f32.inout }, methods.root), { x }, { size: 1 });
    assert.equal(x.data[0], 4);
    const later = kernel({ x: f32.inout }, async ({ x }) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      x[0]++;
    });
    await space.devices[0].run(later, { x }, { size: 1 });
    assert.equal(x.data[0], 5);
  });
});

test('a kernel that throws rejects with its own stack', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const x = space.array(Float64Array, 1024);
    const failing = kernel({ x: f64.inout }, function failing({ x }, { begin }) {
      const inner = (value: number): never => {
        throw new RangeError(`no ${value} please`);
      };
      x[begin] = 1;
      inner(17);
    });
    const error = await failsWith('KERNEL_ERROR', () => device.run(failing, { x }, { size: 1024 }));
    assert.ok(error instanceof OnememError);
    assert.match(error.message, /kernel failing threw RangeError: no 17 please/);
    assert.match(String(error.stack), /RangeError: no 17 please\n\s+at inner .*\n\s+at failing /);
    // What it wrote before it failed is there, and the device goes on.
    assert.equal(x.data[0], 1);
    await device.run(scale, { x, by: 5 }, { size: 1024 });
    sameData(x.data, (i) => (i === 0 ? 5 : 0));
    const odd = kernel({ x: f64.in }, () => {
      throw 'a text';
    });
    await failsWith('KERNEL_ERROR', () => device.run(odd, { x }, { size: 1 }));
    const missing = kernel(
      { x: f64.in },
      { module: new URL('./no-such-module.js', import.meta.url) },
    );
    const lost = await failsWith('KERNEL_ERROR', () => device.run(missing, { x }, { size: 1 }));
    assert.match(
      lost.message,
      /its module .* cannot be loaded: there is no file .*no-such-module\.js; new URL/,
    );
    const unknown = kernel(
      { x: f64.in },
      { module: new URL('./programs/kernels.js', import.meta.url), export: 'nothing' },
    );
    const named = await failsWith('KERNEL_ERROR', () => device.run(unknown, { x }, { size: 1 }));
    assert.match(named.message, /no kernel function as export 'nothing'; it exports .*addIndex/);
  }));

test('a kernel from a module', () =>
  withSpace(async (space) => {
    const x = space.array(Float64Array, 5000);
    const url = new URL('./programs/kernels.js', import.meta.url);
    for (const module of [url, url.href]) {
      const addIndex = kernel({ x: f64.inout, by: f64 }, { module, export: 'addIndex' });
      await space.devices[0].run(addIndex, { x, by: 0.5 }, { size: 5000 });
    }
    sameData(x.data, (i) => 2 * i + 1);
    await failsWith('KERNEL_MODULE', () =>
      kernel({ x: f64.inout }, { module: fileURLToPath(url) }),
    );
  }));

test('arrays that are freed or belong elsewhere', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const freed = space.array(Float32Array, 64, { name: 'gone' });
    const y = space.array(Float32Array, 64);
    freed.free();
    assert.equal(freed.isFreed, true);
    const error = await failsWith('USE_AFTER_FREE', () =>
      device.run(copy, { x: freed, y }, { size: 64 }),
    );
    assert.match(error.message, /array gone.*has been freed/);
    await failsWith('USE_AFTER_FREE', () => freed.data);
    await failsWith('USE_AFTER_FREE', () => freed.residency());
    await failsWith('USE_AFTER_FREE', () => freed.handle);
    await failsWith('USE_AFTER_FREE', () => freed.writeTo(1));
    await failsWith('USE_AFTER_FREE', () => freed.free({ begin: 0, end: 1 }));
    freed.free();
    await withSpace(async (other) => {
      const foreign = other.array(Float32Array, 64, { name: 'theirs' });
      const refused = await failsWith('FOREIGN_ARRAY', () =>
        device.run(copy, { x: foreign, y }, { size: 64 }),
      );
      assert.match(refused.message, /theirs belongs to another space/);
      await failsWith('FOREIGN_ARRAY', () => space.attachArray(foreign.handle));
      const event = other.devices[0].stream().record();
      await failsWith('FOREIGN_EVENT', () => device.stream().wait(event));
    });
    await failsWith('SPACE_HANDLE', () => attachSpace({} as never));
    await failsWith('SPACE_HANDLE', () => attachSpace(null as never));
    await failsWith('OTHER_PROCESS', () => attachSpace({ ...space.handle, owner: 1 }));
  }));

test('handles that were changed on their way', () =>
  withSpace(async (space) => {
    const { handle } = space;
    for (const change of [{ wakeFd: 1 }, { name: 'other' }, { base: 0 }, { devices: [] }]) {
      const error = await failsWith('SPACE_HANDLE', () => attachSpace({ ...handle, ...change }));
      assert.match(error.message, /has been changed/);
    }
    await failsWith('SPACE_HANDLE', () =>
      attachSpace({ ...handle, control: new SharedArrayBuffer(8) }),
    );
    const x = space.array(Float32Array, 4096, { name: 'x' });
    space.array(Float32Array, 4096, { name: 'beside' });
    for (const change of [
      { firstPage: 512 },
      { pages: 5 },
      { length: 8192 },
      { type: 'f64' as const },
    ]) {
      await failsWith('ARRAY_HANDLE', () => attachArray({ ...x.handle, ...change }));
    }
    await failsWith('ARRAY_HANDLE', () => attachArray(null as never));
    await failsWith('ARRAY_HANDLE', () => attachArray({ ...x.handle, type: 'toString' as never }));
    const old = x.handle;
    const again = attachArray(old);
    x.free();
    // An object that was made before has no view yet: the addresses could be those of another array
    // by now.
    await failsWith('USE_AFTER_FREE', () => again.data);
    await failsWith('USE_AFTER_FREE', () => attachArray(old));
  }));

test('prefetches of what belongs to another space', () =>
  withSpace(async (space) => {
    const x = space.array(Float32Array, 64, { name: 'ours' });
    const stream = space.devices[0].stream();
    await withSpace(async (other) => {
      const foreign = other.array(Float32Array, 64, { name: 'theirs' });
      await failsWith('FOREIGN_ARRAY', () => stream.prefetch(foreign.range()));
      await failsWith('FOREIGN_DEVICE', () => stream.prefetch(x.range(), other.devices[0]));
    });
    await failsWith('ARRAY_RANGE', () => stream.prefetch({} as never));
    await failsWith('DEVICE', () => stream.prefetch(x.range(), 'process0' as never));
  }));

test('what looks like a kernel and is none', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const good = kernel({}, () => undefined);
    const changes = [
      { code: null },
      { code: { kind: 'inline', source: 5 } },
      { name: Symbol('x') },
      { kernel: undefined },
    ];
    for (const change of changes) {
      await failsWith('KERNEL', () => device.run({ ...good, ...change } as never, {}, { size: 1 }));
    }
    await failsWith('KERNEL_PARAMETER', () =>
      device.run({ ...good, parameters: null } as never, {}, { size: 1 }),
    );
    await device.run({ ...good }, {}, { size: 1 });
  }));

longTest('kernels that throw what has no text', async () => {
  await using space = await openSpace({
    devices: [
      { kind: 'process', memory: '8MiB' },
      { kind: 'simulated', memory: '8MiB' },
    ],
  });
  const odd = kernel({}, () => {
    throw Object.create(null);
  });
  const later = kernel({}, () => Promise.reject(null));
  for (const device of space.devices) {
    for (const each of [odd, later]) {
      await failsWith('KERNEL_ERROR', () => device.run(each, {}, { size: 1 }));
    }
    assert.equal(device.stats().alive, true);
  }
});

longTest('a closed space', async () => {
  const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  const [device] = space.devices;
  const x = space.array(Float32Array, 4096, { name: 'x' });
  const stream = device.stream();
  const { data } = x;
  data.fill(7);
  const { handle } = x;
  await Promise.all([space.close(), space.close()]);
  await space.close();
  assert.equal(space.isClosed, true);
  const error = await failsWith('SPACE_CLOSED', () => space.array(Float32Array, 4));
  assert.match(error.message, /closed; open a new one/);
  await failsWith('SPACE_CLOSED', () => x.data);
  await failsWith('SPACE_CLOSED', () => x.residency());
  await failsWith('SPACE_CLOSED', () => x.readFrom(0));
  await failsWith('SPACE_CLOSED', () => device.stream());
  await failsWith('SPACE_CLOSED', () => device.run(copy, { x, y: x }, { size: 4 }));
  await failsWith('SPACE_CLOSED', () => stream.record());
  await failsWith('SPACE_CLOSED', () => stream.synchronize());
  await failsWith('SPACE_CLOSED', () => space.stats());
  await failsWith('SPACE_CLOSED', () => device.detach());
  await failsWith('SPACE_CLOSED', () => device.kill());
  await failsWith('SPACE_CLOSED', () => space.handle);
  await failsWith('SPACE_CLOSED', () => attachArray(handle));
  stream[Symbol.dispose]();
  x.free();
  // A view that is left reads zeros: it must never fault with no manager there to serve it.
  sameData(data, () => 0);
});

longTest('a space that is closed while launches wait', async () => {
  const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  const x = space.array(Float64Array, 4096);
  const slow = kernel({ x: f64.inout }, async ({ x }) => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    x[0]++;
  });
  const stream = space.devices[0].stream();
  const running = stream.launch(slow, { x }, { size: 1 });
  const waiting = stream.launch(slow, { x }, { size: 1 });
  const closed = space.close();
  await closed;
  await running.synchronize();
  assert.equal(running.result, 'done');
  await failsWith('CANCELLED', () => waiting.synchronize());
  assert.equal(waiting.result, 'cancelled');
});

test('plain typed arrays as arguments', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const n = 300_000;
    const x = Float32Array.from({ length: n }, (_, i) => i);
    const y = new Float32Array(n).fill(-1);
    await device.run(copy, { x, y }, { size: n - 10 });
    // `out` begins as zeros, and what the kernel did not write is brought back as such.
    sameData(y, (i) => (i < n - 10 ? i : 0));
    sameData(x, (i) => i);
    const invert = kernel({ x: u8.inout, raw: bytes.in }, ({ x, raw }, { begin, end }) => {
      for (let i = begin; i < end; i++) x[i] = 255 - x[i] + raw[i];
    });
    const text = Buffer.from('abcdefgh');
    await device.run(invert, { x: text, raw: new Uint8Array(8).fill(1) }, { size: 8 });
    sameData(text, (i) => 255 - (97 + i) + 1);
    // A launch that fails leaves the argument as it was, and no copy behind.
    const fails = kernel({ x: f32.inout }, ({ x }) => {
      x.fill(5);
      throw new Error('after all');
    });
    await failsWith('KERNEL_ERROR', () => device.run(fails, { x }, { size: n }));
    sameData(x, (i) => i);
    assert.equal(space.stats().allocatedBytes, 0);
  }));

test('what a kernel does not write of an `out` array reads zero', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const n = 3 * MIB;
    const y = space.array(Int32Array, n);
    y.data.fill(9);
    const some = kernel({ y: i32.out }, ({ y }, { begin, end }) => {
      for (let i = begin; i < end; i++) if (i % 3 === 0) y[i] = i;
    });
    await device.run(some, { y }, { size: n });
    sameData(y.data, (i) => (i % 3 === 0 ? i : 0));
    // Launches over parts write one array together: the rest of it stays as it was.
    y.data.fill(8);
    await device.run(some, { y }, { size: n, begin: 3, end: 6 });
    await device.run(some, { y }, { size: n, begin: n - 3, end: n });
    sameData(y.data, (i) => ((i >= 3 && i < 6) || i >= n - 3 ? (i % 3 === 0 ? i : 8) : 8));
    const nothing = kernel({ y: i32.out }, () => undefined);
    await device.run(nothing, { y }, { size: n });
    sameData(y.data, () => 0);
  }));

test('arguments with the right types compile and run', () =>
  withSpace(async (space) => {
    const x = space.array(Float64Array, 4);
    x.data.set([1, 2, 3, 4]);
    const args: LaunchArguments<typeof scale.parameters> = { x, by: -1 };
    await space.devices[0].run(scale, args, { size: 4, begin: 1, end: 3 });
    assert.deepEqual([...x.data], [1, -2, -3, 4]);
  }));

await runTests();
