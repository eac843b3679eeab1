/**
 * Launches modules in WGSL, each once, and prints twice how much memory the device's process has,
 * in KiB.
 */
import { readFileSync } from 'node:fs';
import { f32, kernel, openSpace } from '../../../src/index.js';

const space = await openSpace({
  hostMemory: '64MiB',
  devices: [{ kind: 'webgpu', memory: '16MiB' }],
});
const [device] = space.devices;
const x = space.array(Float32Array, 64);
const moduleOf = (value: number) => `
@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { x[id.x] = ${value}.0; }`;

for (let made = 1; made <= 500; made++) {
  await device.run(kernel({ x: f32.out }, { wgsl: moduleOf(made) }), { x }, { size: 64 });
  if (made !== 260 && made !== 500) continue;
  console.log(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${device.pid}/status`, 'latin1'))?.[1]);
}
if (x.data[63] !== 500) process.exitCode = 1;
await space.close();
