/**
 * Has no descriptor left while a space is open, with its thread bound, and while it is closed,
 * until the end.
 */
import { openSync } from 'node:fs';
import { f32, kernel, openSpace } from '../../../src/index.js';
import { say } from '../../integration/programs/common.js';

const doubled = kernel({ x: f32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] *= 2;
});
function takeAll(): void {
  try {
    for (;;) openSync('/dev/null', 'r');
  } catch {
    // None is left.
  }
}

const space = await openSpace({
  hostMemory: '32MiB',
  devices: [{ kind: 'process', memory: '8MiB' }],
});
const [device] = space.devices;
const x = space.array(Float32Array, 4 * 2 ** 20);
x.data.fill(1);
await device.run(doubled, { x }, { size: x.length });
const binding = space.bindThread();
takeAll();
const end = performance.now() + 700;
let launches = 0;
while (performance.now() < end) {
  await device.run(doubled, { x }, { size: x.length });
  launches++;
  if (x.data[launches * 4096] !== 2 ** (launches + 1))
    throw new Error(`${x.data[launches * 4096]} after ${launches} launches`);
  if (launches === 100) break;
}
binding.release();
await space.close();
// Of those that it had none is left, either.
takeAll();
say(`launches ${launches > 0}`);
