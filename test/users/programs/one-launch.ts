/** Launches once, and prints the result. */
import { f32, kernel, openSpace } from '../../../src/index.js';

const space = await openSpace({
  hostMemory: '32MiB',
  devices: [{ kind: 'process', memory: '8MiB' }],
});
const x = space.array(Float32Array, 1);
x.data.fill(1);
const add = kernel({ x: f32.inout }, ({ x }) => {
  x[0] += 1;
});
await space.devices[0].run(add, { x }, { size: 1 });
process.stdout.write(`${x.data[0]}\n`, () => space.close());
