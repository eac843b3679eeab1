/** A launch that follows a chain through an array which is larger than the GPU: many rounds. */
import { kernel, openSpace, u32 } from '../../../src/index.js';

const STEPS = 100;
const follow = kernel(
  { next: u32.in, ends: u32.out },
  {
    wgsl: `@group(0) @binding(0) var<storage> next: array<u32>;
@group(0) @binding(1) var<storage, read_write> ends: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  var at = id.x;
  for (var step = 0u; step < ${STEPS}u; step++) { at = next[at]; }
  ends[id.x] = at;
}`,
  },
  { name: 'follow' },
);

await using space = await openSpace({ devices: [{ kind: 'webgpu', memory: '8MiB', name: 'gpu' }] });
const next = space.array(Uint32Array, 2 ** 22);
for (let i = 0; i < next.length; i++) next.data[i] = (i + 1_000_003) % next.length;
const ends = space.array(Uint32Array, 64);
for (let time = 0; time < 2; time++)
  await space.devices[0].run(follow, { next, ends }, { size: ends.length });
console.log(ends.data.every((end, i) => end === (i + STEPS * 1_000_003) % next.length));
