/** Opens a space with the options that it is given as JSON, uses it, and says how that went. */
import { f32, kernel, openSpace } from '../../../src/index.js';

const addOne = kernel({ x: f32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});

try {
  const space = await openSpace(JSON.parse(process.argv[2] ?? '{}'));
  const x = space.array(Float32Array, 100_000);
  x.data.fill(1);
  for (const device of space.devices) await device.run(addOne, { x }, { size: x.length });
  console.log(`ok ${x.data[99_999]} ${space.handle.bytes}`);
  await space.close();
} catch (error) {
  const { name, code, message } = error as Error & { code?: string };
  console.log(`${name} ${code} ${message}`);
}
