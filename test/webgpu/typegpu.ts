/**
 * Kernels that are functions of TypeGPU: one source for GPUs and for devices that run functions.
 */
import assert from 'node:assert/strict';
import { d, tgpu } from 'typegpu';
import { type AddressSpace, bytes, f32, type Kernel, kernel, u32 } from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, filled, runTests, sameData, test } from '../harness/suite.js';
import { add, saxpy, shelled } from './programs/typegpu-kernels.js';

const DEVICES = {
  devices: [
    { kind: 'webgpu', memory: '8MiB', name: 'gpu' },
    { kind: 'process', memory: '8MiB', units: 2, name: 'process' },
  ],
} as const;

async function withDevices(action: (space: AddressSpace) => Promise<void>): Promise<void> {
  await using space = await sharedSpace(DEVICES);
  await action(space);
  space.checkInvariants();
}

/** y + 3x over [begin, end), below `count`. */
async function runs(
  space: AddressSpace,
  made: typeof saxpy,
  device: number,
  n: number,
): Promise<void> {
  const [x, y] = [space.array(Float32Array, n), space.array(Float32Array, n)];
  filled(x.data, (i) => i % 1000);
  y.data.fill(1);
  const [begin, end, count] = [100, n - 100, n - 1000];
  await space.devices[device].run(
    made as Kernel<typeof saxpy.parameters>,
    { x, y, alpha: 3, count },
    { size: n, begin, end },
  );
  sameData(y.data, (i) => (i >= begin && i < count ? 3 * (i % 1000) + 1 : 1));
}

for (const [index, { kind }] of DEVICES.devices.entries()) {
  test(`a function of TypeGPU runs on a device of kind ${kind}, over a part`, () =>
    withDevices(async (space) => {
      await runs(space, saxpy, index, 100_001);
      await runs(space, shelled, index, 10_001);
    }));
}

test('a function of TypeGPU over more than the GPU has is cut into parts', () =>
  withDevices(async (space) => {
    const before = space.devices[0].stats().launchParts;
    await runs(space, saxpy, 0, 2_000_000);
    assert.ok(space.devices[0].stats().launchParts > before);
  }));

/**
 * An entry point in WGSL, which needs no plugin. Names that the module has otherwise are the
 * arrays' all the same.
 */
const layout = tgpu.bindGroupLayout({ main: { storage: d.arrayOf(d.u32), access: 'mutable' } });
const entry = tgpu.computeFn({
  workgroupSize: [64],
  in: { id: d.builtin.globalInvocationId },
})`{ if (in.id.x < arrayLength(&layout.$.main)) { layout.$.main[in.id.x] *= 2; } }`
  .$uses({ layout })
  .$name('main');

test('an entry point of TypeGPU runs on a GPU, and on nothing else', () =>
  withDevices(async (space) => {
    const double = kernel({ main: u32.inout }, { typegpu: entry }, { name: 'double' });
    const main = space.array(Uint32Array, 1000);
    filled(main.data, (i) => i);
    await space.devices[0].run(double, { main }, { size: main.length });
    sameData(main.data, (i) => 2 * i);
    const { message } = await failsWith('KERNEL_LANGUAGE', () =>
      space.devices[1].run(double, { main }, { size: main.length }),
    );
    assert.match(message, /of TypeGPU: \{ typegpu, module: import\.meta\.url, export \}/);
  }));

test('a function of TypeGPU may be called in the program, and made into WGSL again thereafter', () => {
  const [x, y] = [Float32Array.of(1, 2, 3), new Float32Array(3)];
  saxpy.kernel?.({ x, y, alpha: 2, count: 2 }, { begin: 0, end: 3, size: 3, unit: 0, units: 1 });
  assert.deepEqual([...y], [2, 4, 0]);
  const { wgsl } = kernel(saxpy.parameters, { typegpu: add });
  assert.equal(wgsl?.source, saxpy.wgsl?.source);
});

const refused = async (code: string, message: RegExp, make: () => unknown) =>
  assert.match((await failsWith(code, async () => make())).message, message);

test('what TypeGPU has no WGSL for is refused where the kernel is defined', async () => {
  await refused('TYPEGPU', /metadata.*build its module with unplugin-typegpu/, () =>
    kernel({}, { typegpu: (_: number) => 0 }),
  );
  await refused('TYPEGPU', /has 0 parameters; it takes one index/, () =>
    kernel({}, { typegpu: () => 0 }),
  );
  await refused('TYPEGPU', /tgpu\.computeFn made, not 5/, () =>
    kernel({}, { typegpu: 5 as never }),
  );
  await refused('TYPEGPU', /end is what the launch tells/, () =>
    kernel({ end: u32 }, { typegpu: add }),
  );
  await refused('WGSL_BINDING', /storage variable main is no parameter/, () =>
    kernel({}, { typegpu: entry }),
  );
  await refused('PACKAGE_MISSING', /npm install typegpu/, () =>
    kernel(saxpy.parameters, { typegpu: add, module: 'file:///nowhere/kernels.js' }),
  );
});

test('a kernel of TypeGPU that names a module must have JavaScript that is right there', async () => {
  const { url } = import.meta;
  const vectors = tgpu.bindGroupLayout({ v: { storage: d.arrayOf(d.vec4f), access: 'mutable' } });
  const move = tgpu.fn([d.u32])`(i: u32) { vectors.$.v[i].x += 1; }`
    .$uses({ vectors })
    .$name('move');
  assert.equal(kernel({ v: f32.inout }, { typegpu: move }).kernel, null);
  await refused(
    'TYPEGPU',
    /v is an array of vec4f, the parameter f32, and devices that run functions have/,
    () => kernel({ v: f32.inout }, { typegpu: move, module: url }),
  );
  await refused('TYPEGPU', /x is an array of f32, the parameter bytes/, () =>
    kernel({ ...saxpy.parameters, x: bytes.in }, { typegpu: add, module: url }),
  );
  await refused(
    'TYPEGPU',
    /entry point of TypeGPU, which runs on GPUs only; leave out module/,
    () => kernel({ main: u32.inout }, { typegpu: entry, module: url }),
  );
  await refused('KERNEL_MODULE', /add module: import\.meta\.url/, () =>
    kernel(saxpy.parameters, { typegpu: add, export: 'saxpy' }),
  );
});

await runTests();
