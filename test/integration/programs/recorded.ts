/**
 * Two spaces one after the other, each of which does a little of everything; it is told a folder
 * for a file.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { i32, kernel, openSpace } from '../../../src/index.js';

/** More than the device has. */
const N = 1_700_000;
const path = join(process.argv[2], 'numbers');
writeFileSync(path, new Int32Array(N / 4).fill(3));
const add = kernel({ x: i32.inout, by: i32 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += by;
});

for (const prefetch of ['pattern', 'none'] as const) {
  const space = await openSpace({
    devices: [
      { kind: 'process', memory: '6MiB', units: 2, lossy: true },
      { kind: 'simulated', memory: '32MiB' },
    ],
    policies: { prefetch },
  });
  const [first, second] = space.devices;
  const x = space.array(Int32Array, N, { maxLength: 2 * N });
  using _watched = await x.watch();
  const file = space.fileArray(Int32Array, path, { writable: true });
  x.data.fill(1);
  await first.run(add, { x, by: 1 }, { size: N });
  await second.run(add, { x, by: 1 }, { size: N });
  await second.run(add, { x: file, by: 1 }, { size: file.length });
  const copy = await x.clone();
  const again = await copy.clone();
  x.data[0] = 7;
  await first.run(add, { x: copy, by: 1 }, { size: 10_000 });
  await x.resize(2 * N);
  await x.discard({ begin: 0, end: 4096 });
  await x.protect('read', { begin: 8192, end: 16_384 });
  x.free({ begin: 100_000, end: 200_000 });
  x.young();
  first.kill();
  const late = await first.run(add, { x: file, by: 1 }, { size: 4096 }).then(
    () => 'done',
    (error: { code?: string }) => error.code,
  );
  if (late !== 'DEVICE_LOST')
    throw new Error(`a launch on a device that was killed ended as ${late}`);
  if (again.data[N - 1] !== 3) throw new Error(`${again.data[N - 1]} instead of 3`);
  await second.run(add, { x: again, by: 1 }, { size: N });
  again.free();
  await space.close();
}
