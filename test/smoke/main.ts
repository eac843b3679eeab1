/**
 * A short walk through what depends on the version of Node.js: devices, files, threads, views and
 * their ends. The conformance suite goes deeper; `npm run -s node-versions` runs both under every
 * version that package.json promises.
 *
 *   node .build/test/smoke/main.js
 */
import assert from 'node:assert/strict';
import { mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { f32, kernel, type OnememError, openSpace } from '../../src/index.js';

const major = Number(process.versions.node.split('.')[0]);
let passed = 0;
let failed = 0;

async function check(name: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
    passed++;
    console.log(`ok   ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}\n${error instanceof Error ? error.stack : error}`);
  }
}

const saxpy = kernel({ x: f32.in, y: f32.inout, alpha: f32 }, ({ x, y, alpha }, { begin, end }) => {
  for (let i = begin; i < end; i++) y[i] += alpha * x[i];
});

console.log(`Node.js ${process.versions.node}`);

for (const kind of ['process', 'simulated'] as const) {
  await check(`saxpy on a ${kind} device`, async () => {
    const space = await openSpace({ devices: [{ kind, memory: '16MiB' }] });
    // Larger than the device where that is possible, and inside its memory where it is not.
    const length = kind === 'process' ? 4_000_000 : 1_000_000;
    const x = space.array(Float32Array, length);
    const y = space.array(Float32Array, length);
    x.data.fill(2);
    y.data.fill(1);
    await space.devices[0].run(saxpy, { x, y, alpha: 3 }, { size: length });
    assert.ok(y.data.every((value) => value === 7));
    space.checkInvariants();
    await space.close();
  });
}

await check('files', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-smoke-'));
  const path = join(folder, 'numbers');
  const numbers = Float64Array.from({ length: 100_000 }, (_, index) => index / 3);
  writeFileSync(path, new Uint8Array(numbers.buffer));
  const space = await openSpace();
  const mapped = space.fileArray(Float64Array, path);
  assert.deepEqual(mapped.data.slice(70_000, 70_010), numbers.slice(70_000, 70_010));
  const read = space.array(Float64Array, numbers.length);
  assert.equal(await read.readFrom(openSync(path, 'r')), numbers.byteLength);
  assert.equal(read.data[99_999], numbers[99_999]);
  await space.close();
  rmSync(folder, { recursive: true });
});

await check('a thread sees an array and writes it', async () => {
  const space = await openSpace();
  const x = space.array(Int32Array, 5000);
  x.data.fill(1);
  const worker = new Worker(new URL('./thread.js', import.meta.url), { workerData: x.handle });
  const code = await new Promise<number>((resolve, reject) =>
    worker.once('exit', resolve).once('error', reject),
  );
  assert.equal(code, 0);
  assert.ok(x.data.every((value) => value === 2));
  await space.close();
});

await check('what a view is after its array has been freed', async () => {
  const space = await openSpace();
  const x = space.array(Uint8Array, 10_000);
  const { data } = x;
  data.fill(1);
  x.free();
  assert.equal(data.length, 10_000);
  assert.ok(data.every((value) => value === 0));
  await space.close();
});

await check('an array above 4 GiB', async () => {
  const space = await openSpace({ hostMemory: '6GiB' });
  const length = 5 * 2 ** 30;
  if (major >= 22) {
    const x = space.array(Uint8Array, length);
    x.data[length - 1] = 7;
    assert.equal(x.data[length - 1], 7);
  } else {
    assert.throws(
      () => space.array(Uint8Array, length),
      (error: OnememError) => error.code === 'VIEW_SIZE',
    );
  }
  await space.close();
});

await check('more spaces, one after the other, than there are addresses for at once', async () => {
  for (let index = 0; index < 18; index++) {
    const space = await openSpace();
    const x = space.array(Int32Array, 10);
    x.data.fill(index);
    assert.equal(x.data[9], index);
    await space.close();
  }
});

console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
