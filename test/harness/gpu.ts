/** What tests of GPUs have in common: spaces with one, and two kernels. */
import { type AddressSpace, f32, kernel, u32 } from '../../src/index.js';
import { sharedSpace } from './spaces.js';

/** Options of one that has so much memory. */
export function gpuWith(memory: string) {
  return { kind: 'webgpu', memory, name: 'gpu' } as const;
}

/** Has actions run in a space with the device alone, and looks at what they leave. */
export function inSpaceWith(device: ReturnType<typeof gpuWith>) {
  return async (action: (space: AddressSpace) => Promise<void>): Promise<void> => {
    await using space = await sharedSpace({ devices: [device] });
    await action(space);
    space.checkInvariants();
  };
}

export const saxpy = kernel(
  { x: f32.in, y: f32.inout, alpha: f32 },
  {
    wgsl: `
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<uniform> alpha: f32;
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&y)) { y[id.x] += alpha * x[id.x]; }
}`,
  },
  { name: 'saxpy' },
);

/** Rows of a table by id. */
export const lookup = kernel(
  { table: u32.in, ids: u32.in, rows: u32.out, width: u32 },
  {
    wgsl: `
@group(0) @binding(0) var<storage, read> table: array<u32>;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> rows: array<u32>;
@group(0) @binding(3) var<uniform> width: u32;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  if (i < arrayLength(&rows)) { rows[i] = table[ids[i / width] * width + i % width]; }
}`,
  },
  { name: 'lookup' },
);
