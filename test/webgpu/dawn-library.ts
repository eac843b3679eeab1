/**
 * Dawn's C functions: the table of their numbers and structures is the library's, other libraries
 * are refused by name, and the GPU that they find is the one that the package `webgpu` finds. Here
 * where the library is: `node scripts/dawn-ffi.mjs ...`.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mistakesOf } from '../../src/drivers/webgpu/gpu/dawn/check.js';
import { type Dawn, loadDawn, packagedLibrary } from '../../src/drivers/webgpu/gpu/dawn/library.js';
import { openNative } from '../../src/drivers/webgpu/gpu/dawn/open-native.js';
import type { Transport } from '../../src/drivers/webgpu/gpu/gpu-transport.js';
import { mapShared } from '../../src/drivers/webgpu/link/staging.js';
import { kernel, openSpace, u32 } from '../../src/index.js';
import { createMemoryFile, view } from '../../src/linux/memory/memory.js';
import { failsWith, note, runTests, sameData, test } from '../harness/suite.js';

const PAGE = 4096;
/** As much as is read at once. */
const READ = 2 ** 21;
const PROBE = fileURLToPath(new URL('../../src/drivers/webgpu/probe.js', import.meta.url));

interface Facts {
  readonly transport: string;
  readonly name: string;
  readonly model: string;
  readonly limits: Record<string, number>;
  readonly features: readonly string[];
}

function probe(env: NodeJS.ProcessEnv): { readonly facts?: Facts; readonly problem?: string } {
  const { stdout } = spawnSync(process.execPath, [PROBE], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  return JSON.parse(stdout);
}

/** A folder of packages with one of that name in some version. */
function withPackage<T>(version: string, action: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-test-'));
  try {
    const place = join(folder, 'bun-webgpu-linux-x64');
    mkdirSync(place);
    writeFileSync(
      join(place, 'package.json'),
      JSON.stringify({ name: 'bun-webgpu-linux-x64', version }),
    );
    return action(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const isThere = ((): boolean => {
  try {
    packagedLibrary();
    return true;
  } catch {
    return false;
  }
})();
if (!isThere) note("the library with Dawn's C functions is not here, and not tested");

test('another version of the package is refused by the line that installs the right one, and so is none', () => {
  for (const [folder, said] of [
    [
      '/dev/null',
      "the package 'bun-webgpu-linux-x64' is not installed; install it: npm install bun-webgpu-linux-x64@0.1.7",
    ],
    [
      null,
      "version 0.1.8 of the package 'bun-webgpu-linux-x64' is not the one that is known; install that version: npm install bun-webgpu-linux-x64@0.1.7",
    ],
  ] as const) {
    const asked = (path: string): unknown =>
      probe({ NODE_PATH: path, ONEMEM_WEBGPU_TRANSPORT: 'dawn-ffi' }).problem;
    assert.equal(folder === null ? withPackage('0.1.8', asked) : asked(folder), said);
  }
});

test('what is no library of Dawn is refused by its name', () => {
  const asked = (path: string): string => probe({ ONEMEM_WEBGPU_TRANSPORT: path }).problem ?? '';
  assert.match(
    asked('/nowhere/libwebgpu_dawn.so'),
    /^the library \/nowhere\/libwebgpu_dawn\.so cannot be loaded here: /,
  );
  assert.match(
    asked('libwebgpu_dawn.so'),
    /^ONEMEM_WEBGPU_TRANSPORT is 'libwebgpu_dawn\.so'; write dawn-node, dawn-ffi, or the path/,
  );
  const [folder] = (process.env.LD_LIBRARY_PATH ?? '').split(':');
  assert.match(
    asked(join(folder, 'libvulkan.so.1')),
    /libvulkan\.so\.1 has no function wgpuCreateInstance: .*npm install bun-webgpu-linux-x64@0\.1\.7$/,
  );
});

if (isThere) {
  const dawn = loadDawn(packagedLibrary());

  test('where nothing says what drives the GPU, it is the library that is installed, unless its version is another', () => {
    const asked = (path: string): unknown =>
      probe({ NODE_PATH: path, ONEMEM_WEBGPU_TRANSPORT: '' }).facts?.transport;
    assert.equal(asked(process.env.NODE_PATH ?? ''), 'dawn-ffi');
    assert.equal(withPackage('0.1.8', asked), 'dawn-node');
  });

  test('each number and structure of the table is the one that the library has', async () => {
    assert.deepEqual(await mistakesOf(dawn), []);
  });

  test('the GPU writes what is read of it to memory itself, and only there', async () => {
    const { address, content } = readBytes();
    const gpu = await filled(dawn);
    const read = gpu.readTo(1, 2 * PAGE, READ, address + PAGE, () => undefined);
    if (read === null) {
      note('SKIPPED: this GPU has memory of its own, and is asked for nothing like that');
      gpu.release();
      return;
    }
    await over(gpu, read);
    sameData(content.subarray(PAGE, PAGE + READ), (at) => (at + 2 * PAGE) % 251);
    sameData(content.subarray(0, PAGE), () => 0);
    sameData(content.subarray(PAGE + READ), () => 0);
    gpu.release();
  });

  test('what the GPU does not take for memory to write to is not asked for again', async () => {
    const { address } = readBytes();
    const gpu = await filled(dawn);
    assert.equal(
      gpu.readTo(1, 0, READ, address + 1, () => undefined),
      null,
    );
    assert.equal(
      gpu.readTo(1, 0, READ, address, () => undefined),
      null,
    );
    let found = new Uint8Array();
    await over(
      gpu,
      gpu.read(1, PAGE, READ, (bytes) => (found = bytes.slice())),
    );
    sameData(found, (at) => (at + PAGE) % 251);
    gpu.release();
  });

  test('both transports find the same GPU, with the same limits and features', () => {
    const [node, ffi] = ['dawn-node', 'dawn-ffi'].map(
      (transport) => probe({ ONEMEM_WEBGPU_TRANSPORT: transport }).facts,
    );
    assert.equal(ffi?.transport, 'dawn-ffi');
    // The newer Dawn gives more bindings, and on some GPUs smaller ones.
    const { maxStorageBuffersPerShaderStage, maxStorageBufferBindingSize } = ffi?.limits ?? {};
    const limits = {
      ...node?.limits,
      maxStorageBuffersPerShaderStage,
      maxStorageBufferBindingSize,
    };
    assert.ok(
      Number(node?.limits.maxStorageBuffersPerShaderStage) >=
        Number(maxStorageBuffersPerShaderStage),
    );
    assert.ok(
      Number(node?.limits.maxStorageBufferBindingSize) <= Number(maxStorageBufferBindingSize),
    );
    // The standard has small letters in it, and no others than they and digits.
    const model = ffi?.model.toLowerCase().replace(/[^a-z0-9]+/g, '-');
    assert.deepEqual({ ...ffi, transport: 'dawn-node', model }, { ...node, limits });
  });
}

/** A GPU whose buffer 1 holds a pattern. */
async function filled(dawn: Dawn): Promise<Transport> {
  const gpu = openNative(dawn, null);
  const bytes = READ + 4 * PAGE;
  await gpu.create(1, bytes);
  const pattern = Uint8Array.from({ length: bytes }, (_, at) => at % 251);
  gpu.write(1, 0, bytes, pattern, false);
  return gpu;
}

/** Shared memory, as the host's is. */
function readBytes(): { readonly address: number; readonly content: Uint8Array } {
  const bytes = READ + 2 * PAGE;
  const address = mapShared(createMemoryFile('read', bytes), bytes);
  return { address, content: new Uint8Array(view(address, bytes)) };
}

async function over(gpu: Transport, work: Promise<void> | null): Promise<void> {
  assert.ok(work, 'nothing is under way');
  let isOver = false;
  void work.then(() => {
    isOver = true;
  });
  while (!isOver) {
    gpu.waits?.wait(1e9);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const twice = kernel(
  { x: u32.inout },
  {
    wgsl: `@group(0) @binding(0) var<storage, read_write> x: array<u32>;
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { x[id.x] *= 2u; }`,
  },
);

test('a device says what drives it, and a wrong word is refused', async () => {
  const device = { kind: 'webgpu', memory: '4MiB' } as const;
  await failsWith('TRANSPORT', () =>
    openSpace({ devices: [{ ...device, transport: 'vulkan' as 'dawn-node' }] }),
  );
  await failsWith('TRANSPORT', () =>
    openSpace({ devices: [{ ...device, transport: { library: 'here.so' } }] }),
  );
  const transports = [
    'dawn-node',
    ...(isThere ? ['dawn-ffi', { library: packagedLibrary() }] : []),
  ] as const;
  for (const transport of transports as readonly ('dawn-node' | 'dawn-ffi')[]) {
    await using space = await openSpace({ devices: [{ ...device, transport }] });
    const x = space.array(Uint32Array, 640);
    x.data.fill(21);
    await space.devices[0].run(twice, { x }, { size: x.length });
    sameData(x.data, () => 42);
  }
});

await runTests();
