/**
 * An option that does not exist is refused by its name, with the one that was probably meant:
 * silence would look like success.
 */
import assert from 'node:assert/strict';
import { type AddressSpace, f32, kernel, openSpace } from '../../src/index.js';
import { pattern } from '../../src/policy/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, runTests, test } from '../harness/suite.js';

const provider = new URL('../integration/programs/provider-functions.js', import.meta.url);
const fill = kernel({ y: f32.out, by: f32 }, ({ y, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) y[i] = by;
});

async function withSpace(
  action: (space: AddressSpace) => Promise<void>,
  open = sharedSpace,
): Promise<void> {
  await using space = await open({
    devices: [{ kind: 'process', memory: '8MiB' }],
    hostMemory: '160MiB',
  });
  await action(space);
}

/** The call must name the unknown option, the nearest one, and all that there are. */
async function names(
  wrong: string,
  right: string,
  call: () => unknown,
  code = 'OPTIONS',
): Promise<void> {
  const error = await failsWith(code, call);
  assert.ok(error instanceof TypeError, `${wrong}: a wrong argument is a TypeError`);
  assert.match(
    error.message,
    new RegExp(
      `no (option|parameter|advice) ${wrong}; did you mean ${right}\\? there (is|are) .*${right}`,
    ),
  );
}

test('options of a space, its devices and their drivers', async () => {
  const open = (options: object) => () => openSpace(options as never);
  const device = (options: object) =>
    open({ devices: [{ kind: 'process', memory: '8MiB', ...options }] });
  await names('hostmemory', 'hostMemory', open({ hostmemory: '200MiB' }));
  await names('device', 'devices', open({ device: [] }));
  await names('unit', 'units', device({ unit: 2 }));
  await names('looksy', 'lossy', device({ looksy: true }));
  await names('refuseLarger', 'refuseLargerThanPages', device({ inject: { refuseLarger: 1 } }));
  const driver = { kind: 'custom', driver: { modul: 'file:///x.js', module: 'file:///x.js' } };
  await names('modul', 'module', device(driver));
  await names('dirver', 'driver', device({ ...driver, dirver: 1 }));
});

test('options of arrays', () =>
  withSpace(async (space) => {
    const file = process.execPath;
    await names('maxLenght', 'maxLength', () =>
      space.array(Float32Array, 4, { maxLenght: 8 } as never),
    );
    await names('nmae', 'name', () => space.bytes(4, { nmae: 'x' } as never));
    await names('writeable', 'writable', () =>
      space.fileArray(Uint8Array, file, { writeable: true } as never),
    );
    const provided = { module: provider, timeoutMS: 5 };
    await names('timeoutMS', 'timeoutMs', () =>
      space.providedArray(Float32Array, 4, provided as never),
    );
    assert.equal(space.stats().ranges, 0);
  }, openSpace));

test('options of what is done with an array', () =>
  withSpace(async (space) => {
    const x = space.array(Float32Array, 4096, { name: 'x' });
    const part = { start: 0, end: 10 } as never;
    for (const name of [
      'residency',
      'dirty',
      'young',
      'attributes',
      'pin',
      'flush',
      'watch',
      'discard',
    ] as const) {
      const error = await failsWith('OPTIONS', () => x[name](part));
      assert.match(error.message, /a part of array x has no option start; .*begin/);
    }
    await names('ende', 'end', () => x.protect('read', { ende: 10 } as never));
    await names('claer', 'clear', () => x.young({ claer: false } as never));
    await names('locked', 'lock', () => x.pin({ locked: true } as never));
    await names('durabel', 'durable', () => x.flush({ durabel: true } as never));
    await names('discrad', 'discard', () => x.reload({ discrad: true } as never));
    await names('positoin', 'position', () => x.writeTo(1, { positoin: 0 } as never));
    await names('naem', 'name', () => x.clone({ naem: 'y' } as never));
    await names('onInvalidated', 'onInvalidate', () =>
      x.watch({ onInvalidated: () => 0 } as never),
    );
    await names(
      'readmostly',
      'readMostly',
      () => x.advise({ readmostly: true } as never),
      'ADVICE',
    );
  }));

test('options of launches, copies and streams', () =>
  withSpace(async (space) => {
    const [device] = space.devices;
    const y = space.array(Float32Array, 4096, { name: 'y' });
    using stream = device.stream();
    await names('sise', 'size', () =>
      device.run(fill, { y, by: 1 }, { sise: 4, size: 4 } as never),
    );
    await names('singal', 'signal', () =>
      stream.launch(fill, { y, by: 1 }, { size: 4, singal: null } as never),
    );
    await names(
      'yy',
      'y',
      () => device.run(fill, { yy: y, by: 1 } as never, { size: 4 }),
      'KERNEL_ARGUMENT',
    );
    await names('signals', 'signal', () => device.stream({ signals: null } as never));
    const two = [y.range(0, 4), y.range(4, 8)] as const;
    await names('signla', 'signal', () => stream.copy(two[0], two[1], { signla: null } as never));
    const url = new URL('./kernel.js', import.meta.url);
    await names('exports', 'export', () =>
      kernel({ y: f32.out }, { module: url, exports: 'x' } as never),
    );
  }));

test('a name like no other has no proposal, and a policy refuses like the rest', async () => {
  const error = await failsWith('OPTIONS', () => openSpace({ verbose: true } as never));
  assert.match(
    error.message,
    /^openSpace\(\) has no option verbose; there are devices, hostMemory, /,
  );
  await names('thresholdpercent', 'thresholdPercent', () =>
    pattern({ thresholdpercent: 51 } as never),
  );
});

test("a range is a part for its own array's methods, and of no other", () =>
  withSpace(async (space) => {
    const x = space.array(Float32Array, 4096, { name: 'x' });
    const y = space.array(Float32Array, 4096, { name: 'y' });
    const [run] = x.residency(x.range(1024, 2048)).runs;
    assert.deepEqual([run.begin, run.end], [1024, 2048]);
    const error = await failsWith('ARRAY_RANGE', () => x.residency(y.range(0, 10)));
    assert.match(error.message, /a part of array x is wanted, not one of "y"/);
  }));

await runTests();
