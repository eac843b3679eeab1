/** Kills a device while it runs a kernel, and says what became of the launch. */
import { f32, kernel, openSpace } from '../../../src/index.js';

const endless = kernel({ x: f32.inout }, ({ x }) => {
  x[0] = 1;
  for (;;);
});

const space = await openSpace({ devices: [{ kind: 'process', memory: '16MiB' }] });
const x = space.array(Float32Array, 1000);
const launch = space.devices[0].run(endless, { x }, { size: 1000 });
const shown = launch.catch((error: { code: string }) => console.log(error.code));
// The page is there once the kernel runs.
while (space.stats().processors[1].writeFaults === 0) await new Promise(setImmediate);
space.devices[0].kill();
await shown;
await space.close();
