/** Reads an array whose only copy died with a lossy device. */
import { i32, kernel, openSpace } from '../../../src/index.js';
import { say } from './common.js';

const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB', lossy: true }] });
const [device] = space.devices;
const kept = space.array(Int32Array, 4096, { name: 'kept' });
const gone = space.array(Int32Array, 4096, { name: 'gone' });
kept.data.fill(11);
const fill = kernel({ x: i32.out, y: i32.in }, ({ x, y }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = y[i];
});
await device.run(fill, { x: gone, y: kept }, { size: 4096 });
const { data } = gone;
process.kill(device.pid as number, 'SIGKILL');
// The space has heard of it when a launch of something else fails.
const other = space.array(Int32Array, 4096);
await device.run(fill, { x: other, y: kept }, { size: 4096 }).catch(() => undefined);
say(`kept ${kept.data[4095]}`);
say(`survived ${data[0]}`);
