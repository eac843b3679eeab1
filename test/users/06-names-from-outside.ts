/**
 * A kernel's text cannot show that a name is the module's own and not JavaScript's: what can be
 * told is told, and the rest compared.
 */
import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { type AddressSpace, f32, kernel, type OnememError, u8, u64 } from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, runTests, sameData, test } from '../harness/suite.js';
import { warningsOf } from '../harness/warnings.js';

// biome-ignore lint/suspicious/noShadowRestrictedNames: that is what this file is about
const Math = { ...globalThis.Math, sqrt: (_value: number) => 42 };

async function withSpace(
  action: (space: AddressSpace) => Promise<void>,
  verify?: boolean,
): Promise<void> {
  await using space = await sharedSpace({
    devices: [{ kind: 'process', memory: '16MiB', units: 2 }],
    verify,
  });
  await action(space);
}

test('a timer in a kernel is warned of, by name and with what to do', async () => {
  const [warning, ...more] = await warningsOf(() =>
    kernel({ x: f32.inout }, async ({ x }) => {
      await setTimeout(5);
      x[0] = globalThis.Math.max(process.pid, 0);
    }),
  );
  assert.equal(more.length, 0);
  assert.equal(warning.code, 'ONEMEM_KERNEL_GLOBAL');
  assert.match(
    warning.message,
    /uses setTimeout \(that of node:timers\/promises is another\), process \(.*\{ globals: \[/,
  );
});

test('a program that says that the global is meant is not warned, nor one that uses what is always the same', async () => {
  const warnings = await warningsOf(() => {
    kernel({ x: f32.inout }, ({ x }) => void queueMicrotask(() => x[0]), {
      globals: ['queueMicrotask'],
    });
    kernel(
      { x: f32.inout },
      ({ x }) => void console.log(Number.isNaN(x[0]), new Float32Array(1), performance.now()),
    );
  });
  assert.deepEqual(warnings, []);
});

test('verify finds a global that the module shadows, before anything is written', async () => {
  await withSpace(async (space) => {
    const root = kernel({ x: f32.inout, by: f32 }, ({ x, by }, { begin, end }) => {
      for (let i = begin; i < end; i++) x[i] = Math.sqrt(x[i]) * by;
    });
    const x = space.array(Float32Array, 5000);
    x.data.fill(4);
    const launch = space.devices[0].run(root, { x, by: 3 }, { size: 5000, verify: true });
    const error = (await failsWith('KERNEL_DIFFERS', () => launch)) as unknown as OnememError;
    assert.match(
      error.message,
      /kernel root does something else .*: x\[0\] becomes 6 there and 126 here.*it uses Math/,
    );
    assert.deepEqual(error.details.globals, ['Math']);
    sameData(x.data, () => 4);
    await space.devices[0].run(root, { x, by: 3 }, { size: 5000 });
    sameData(x.data, () => 6);
  });
});

test('verify finds what fails there and not here', async () => {
  await withSpace(async (space) => {
    const later = kernel(
      { x: u8.inout },
      async ({ x }) => {
        await setTimeout(1);
        x[0] = 3;
      },
      { globals: ['setTimeout'] },
    );
    const launch = space.devices[0].run(
      later,
      { x: space.array(Uint8Array, 1) },
      { size: 1, verify: true },
    );
    assert.match(
      (await failsWith('KERNEL_DIFFERS', () => launch)).message,
      /fails there \(.*callback.*\), but not here/,
    );
  });
});

test('a space that verifies lets right kernels through: parts, plain arrays, what they throw', async () => {
  await withSpace(async (space) => {
    const [device] = space.devices;
    const add = kernel({ x: f32.in, y: f32.out, n: f32 }, ({ x, y, n }, { begin, end }) => {
      for (let i = begin; i < end; i++) y[i] = x[i] + n;
    });
    const x = space.array(Float32Array, 10_000);
    for (let i = 0; i < x.length; i++) x.data[i] = i;
    const y = new Float32Array(10_000);
    await device.run(add, { x, y, n: 1 }, { size: 10_000 });
    sameData(y, (i) => i + 1);
    await device.run(add, { x, y, n: 2 }, { size: 10_000, begin: 5000, end: 6000 });
    sameData(y, (i) => i + (i >= 5000 && i < 6000 ? 2 : 1));
    const bad = kernel({ x: f32.in }, () => {
      throw new Error('on purpose');
    });
    await failsWith('KERNEL_ERROR', () => device.run(bad, { x }, { size: 10 }));
  }, true);
});

test('verify compares the kernel of a module, too, which keeps in each thread what it remembers', async () => {
  await withSpace(async (space) => {
    const module = new URL('./programs/module-kernels.js', import.meta.url);
    const good = kernel({ x: f32.inout }, { module, export: 'addOne' });
    const bad = kernel({ x: f32.inout }, { module, export: 'addWhereItRuns' });
    const x = space.array(Float32Array, 5000);
    const [device] = space.devices;
    await device.run(good, { x }, { size: 5000 });
    sameData(x.data, () => 1);
    const error = await failsWith('KERNEL_DIFFERS', () => device.run(bad, { x }, { size: 5000 }));
    assert.match(
      error.message,
      /addWhereItRuns does something else .*: x\[0\] becomes 2 there and 3 here.* Its module/,
    );
    sameData(x.data, () => 1);
  }, true);
});

test('a kernel that verify cannot compare is warned of, once', async () => {
  await withSpace(async (space) => {
    const [device] = space.devices;
    const x = space.array(Float32Array, 8);
    const byAddress = kernel(
      { x: f32.inout, at: u64 },
      ({ at }, _range, memory) => void memory.load('f32', at),
    );
    const warnings = await warningsOf(async () => {
      await device.run(byAddress, { x, at: x.address }, { size: 8 });
      await device.run(byAddress, { x, at: x.address }, { size: 8 });
    });
    assert.deepEqual(
      warnings.map(({ code }) => code),
      ['ONEMEM_NOT_VERIFIED'],
    );
    assert.match(
      warnings[0].message,
      /^kernel byAddress is not verified: it uses memory by address/,
    );
  }, true);
});

test('names that a test runner or a program adds to its globals are none of the device', () => {
  (globalThis as Record<string, unknown>).describe = () => undefined;
  const use = 'kernel({ x: f32.inout }, ({ x }) => { describe(x); })';
  assert.throws(() => new Function('kernel', 'f32', use)(kernel, f32), {
    code: 'KERNEL_CLOSURE',
    message: /uses describe from outside/,
  });
});

await runTests();
