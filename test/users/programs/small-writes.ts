/**
 * Writes a number to pages in many places of an array that a GPU has, then has the GPU add one to
 * all. Prints in how many transfers the pages went back, and how many elements are wrong.
 */
import { f32, kernel, openSpace } from '../../../src/index.js';

const WRITES = 16;
/** Elements between two of them: 128 KiB. */
const STRIDE = 2 ** 15;
const add = kernel(
  { x: f32.inout },
  {
    wgsl: `
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(256) fn main(
  @builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < arrayLength(&x); i += groups.x * 256) { x[i] += 1; }
}`,
  },
);

const space = await openSpace({
  devices: [{ kind: 'webgpu', memory: '64MiB' }],
  checkInvariants: true,
});
const [device] = space.devices;
const x = space.array(Float32Array, WRITES * STRIDE);
x.advise({ pattern: 'random' });
await device.run(add, { x }, { size: 2 ** 14 });
for (let at = 0; at < x.length; at += STRIDE) x.data[at] = at;
const { transfersIn, bytesIn } = device.stats();
await device.run(add, { x }, { size: 2 ** 14 });
const after = device.stats();
let wrong = 0;
for (let at = 0; at < x.length; at++) if (x.data[at] !== (at % STRIDE === 0 ? at + 1 : 2)) wrong++;
const said = {
  writeCombining: device.capabilities.writeCombining,
  transfers: after.transfersIn - transfersIn,
  bytes: after.bytesIn - bytesIn,
  wrong,
};
await space.close();
console.log(JSON.stringify(said));
