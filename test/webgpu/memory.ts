/**
 * The memory of devices that are told none: by what the GPU's driver says is left, or refused with
 * what to say.
 */
import assert from 'node:assert/strict';
import { probeGpu } from '../../src/api/options/gpu-probe.js';
import { memoryLimit } from '../../src/api/options/host-memory.js';
import { openSpace } from '../../src/index.js';
import { gpuBudget } from '../../src/policy/gpu-budget.js';
import { saxpy } from '../harness/gpu.js';
import { ownGpu } from '../harness/own-gpu.js';
import { failsWith, filled, runTests, sameData, test } from '../harness/suite.js';
import { warningsOf } from '../harness/warnings.js';

const GIB = 2 ** 30;
const GPU = { kind: 'webgpu' } as const;

const found = await probeGpu();
assert.ok('facts' in found && found.memory !== null, JSON.stringify(found));
const { leftBytes, isHosts } = found.memory;

/** What else runs on the machine takes some of it meanwhile, or gives it back. */
function isAbout(bytes: number, expected: number): void {
  assert.ok(
    Math.abs(bytes - expected) < expected / 4,
    `${bytes} bytes instead of about ${expected}`,
  );
}

if (leftBytes === null) {
  test('a device that is told no memory is refused where the driver does not tell what is left', async () => {
    const error = await failsWith('DEVICE_MEMORY', () => openSpace({ devices: [GPU] }));
    assert.match(
      error.message,
      /^device webgpu0 was given no memory.*lacks VK_EXT_memory_budget.*memory: '256MiB'/,
    );
  });
} else {
  /** Of each of some devices, in a space that has so much of the host's memory. */
  const expected = (budget: number, devices: number): number =>
    gpuBudget({ leftBytes, isHosts }, { limit: memoryLimit(), budget }, devices);

  test('a device that is told no memory has a part of what the driver says is left', async () => {
    await using space = await openSpace({ devices: [GPU], hostMemory: GIB });
    const [device] = space.devices;
    isAbout(device.memory, expected(GIB, 1));
    const [x, y] = [space.array(Float32Array, 100_000), space.array(Float32Array, 100_000)];
    filled(x.data, (i) => i);
    await device.run(saxpy, { x, y, alpha: 2 }, { size: y.length });
    sameData(y.data, (i) => 2 * i);
  });

  test('two devices of one GPU share it, and one that comes later has as much', async () => {
    await using space = await openSpace({
      devices: [{ ...GPU, memory: '8MiB' }, GPU, GPU],
      hostMemory: GIB,
    });
    await space.setHostMemory(2 * GIB);
    await space.addDevice({ ...GPU, name: 'later' });
    const [told, first, second, later] = space.devices.map((each) => each.memory);
    assert.equal(told, 2 ** 23);
    isAbout(first, expected(GIB, 2));
    assert.equal(first, second);
    isAbout(later, expected(2 * GIB, 1));
  });

  if (isHosts)
    test('a device is refused that the host’s arrays leave no memory', async () => {
      const hostMemory = memoryLimit();
      const error = await failsWith('DEVICE_MEMORY', () =>
        openSpace({ devices: [GPU], hostMemory }),
      );
      assert.match(
        error.message,
        /too little left.*which are the host's.*lower hostMemory, or give it memory/,
      );
    });
}

test('a GPU that is lent is told how much of it may be used', async () => {
  const device = await ownGpu();
  const error = await failsWith('DEVICE_MEMORY', () =>
    openSpace({ devices: [{ ...GPU, device }] }),
  );
  assert.match(error.message, /a GPU that is lent.*memory: '256MiB'/);
  device.destroy();
});

test('where there is no GPU, none is asked for its memory', async () => {
  const names = ['VK_DRIVER_FILES', 'VK_ICD_FILENAMES'];
  const before = names.map((name) => process.env[name]);
  for (const name of names) process.env[name] = '/dev/null';
  const error = await failsWith('DEVICE_START', () => openSpace({ devices: [GPU] })).finally(() => {
    for (const [index, name] of names.entries())
      if (before[index] === undefined) delete process.env[name];
      else process.env[name] = before[index];
  });
  assert.match(error.message, /^device webgpu0 did not start: no GPU was found/);
});

test('a GPU may have more memory than the host, which needs no warning', async () => {
  const bytes = memoryLimit() + GIB;
  const warnings = await warningsOf(async () => {
    await using space = await openSpace({ devices: [{ ...GPU, memory: bytes }] });
    assert.ok(space.devices[0].memory > memoryLimit());
  });
  assert.deepEqual(warnings, []);
});

await runTests();
