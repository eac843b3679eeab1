/** A kernel that fails: the error must show this file. */
import { f32, kernel, openSpace } from 'onemem';

interface Nothing {
  readonly at: number;
}

const broken = kernel({ x: f32.inout }, ({ x }, { begin }) => {
  const nothing: Nothing | null = null;
  x[begin] = (nothing as unknown as Nothing).at; // line 10
});
const space = await openSpace({ devices: [{ kind: 'process', memory: '16MiB' }] });
await space.devices[0]
  .run(broken, { x: new Float32Array(8) }, { size: 8 })
  .catch((error) => console.log(error.stack));
await space.close();
