/**
 * Kernels that are used once are given back: programs that put numbers into their text make
 * thousands.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { f32, kernel, openSpace } from '../../src/index.js';
import { longTest, note, runTests, test } from '../harness/suite.js';

const gpuScript = fileURLToPath(new URL('../../../scripts/software-gpu.mjs', import.meta.url));
const program = fileURLToPath(new URL('./programs/modules-used-once.js', import.meta.url));

test('functions', () => {
  const args = [
    '--expose-gc',
    fileURLToPath(new URL('./programs/functions-used-once.js', import.meta.url)),
  ];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const grown = Number(stdout);
  assert.ok(grown > 0 && grown < 2_000_000, `10000 kernels took ${grown} bytes ${stderr}`);
});

longTest('a kernel that others have pushed out runs as before', async () => {
  await using space = await openSpace({
    hostMemory: '64MiB',
    devices: [{ kind: 'process', memory: '8MiB' }],
  });
  const [device] = space.devices;
  const x = space.array(Float32Array, 100);
  const set = (value: number) =>
    kernel({ x: f32.inout }, new Function('{ x }', `x[0] = ${value};`) as () => void, {
      name: 'set',
    });
  const first = set(0.5);
  for (const each of [first, ...Array.from({ length: 300 }, (_, value) => set(value)), first])
    await device.run(each, { x }, { size: 1 });
  assert.equal(x.data[0], 0.5);
});

longTest('modules in WGSL', () => {
  const options = { encoding: 'utf8', timeout: 240_000 } as const;
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [gpuScript, process.execPath, program],
    options,
  );
  if (/no GPU|cannot/.test(stderr) && stdout === '') {
    note(`SKIPPED, for want of a GPU in software: ${stderr}`);
    return;
  }
  assert.equal(status, 0, stderr);
  const [first, last] = stdout.trim().split('\n').map(Number);
  assert.ok(last - first < 7_000, `the device grew by ${last - first} KiB`);
});

await runTests();
