/** A kernel that lives in a module of TypeScript. */
import { f32, kernel, openSpace } from 'onemem';

const fill = kernel({ x: f32.inout }, { module: new URL('./module-kernel.ts', import.meta.url) });
const space = await openSpace({ devices: [{ kind: 'process', memory: '16MiB' }] });
const x = space.array(Float32Array, 8);
try {
  await space.devices[0].run(fill, { x }, { size: 8 });
  console.log(`ok ${x.data[7]}`);
} catch (error) {
  console.log((error as Error).message);
}
await space.close();
