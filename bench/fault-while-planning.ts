/**
 * What a thread waits for a page of an array that has nothing to do with a launch, while it is
 * found out how to cut that launch: the longest of the touches meanwhile; beside the same with no
 * launch.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type AddressSpace, f32, kernel, openSpace, u32 } from '../src/index.js';
import { type Bench, compare, type Settings, verify } from './harness.js';

const NAME = 'fault-while-planning';
const MIB = 2 ** 20;
const [ROWS, COLUMNS] = [8192, 1024];
const BLOCK_BYTES = 2 * MIB;
/** Each has a block of its own. */
const TOUCHES = 128;

/** Rows of a matrix to rows of heads, as attention has it. */
const split = kernel(
  { x: f32.in, y: f32.inout, rows: u32, columns: u32, turn: u32 },
  {
    wgsl: `
struct Shape { rows: u32, columns: u32, turn: u32 }
@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(8, 8) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= shape.columns || id.y >= shape.rows) { return; }
  y[(id.x / 64u) * 64u * shape.rows + id.y * 64u + id.x % 64u] = x[id.y * shape.columns + id.x];
}`,
  },
  { name: 'split' },
);

/** The longest wait in milliseconds of touches while `lasts`, each of a page that is not there. */
async function longestTouch(space: AddressSpace, lasts: () => boolean): Promise<number> {
  const array = space.array(Uint8Array, TOUCHES * BLOCK_BYTES);
  let longest = 0;
  for (let at = 0; at < array.length && lasts(); at += BLOCK_BYTES) {
    const start = performance.now();
    array.data[at] = 1;
    longest = Math.max(longest, performance.now() - start);
    await sleep(2);
  }
  array.free();
  return longest;
}

async function run(settings: Settings): Promise<void> {
  if (!settings.wants(NAME)) return;
  const space = await openSpace({ devices: [{ kind: 'webgpu', memory: '4MiB' }] });
  const [device] = space.devices;
  const [x, y] = [0, 1].map(() => space.array(Float32Array, ROWS * COLUMNS));
  let turn = 0;
  try {
    await compare(settings, {
      name: NAME,
      unit: 'ms',
      better: 'lower',
      ours: async () => {
        // Another number makes it another launch, of which no plan is known.
        using stream = device.stream();
        const size = [COLUMNS, ROWS] as const;
        const launched = stream.launch(
          split,
          { x, y, rows: ROWS, columns: COLUMNS, turn: ++turn },
          { size },
        );
        const before = device.stats().launchParts;
        const longest = await longestTouch(space, () => device.stats().launchParts === before);
        await launched.synchronize();
        verify(device.stats().launchParts > before, 'the launch was cut');
        return longest;
      },
      references: { 'no launch': () => longestTouch(space, () => true) },
    });
  } finally {
    await space.close();
  }
}

export const faultWhilePlanning: Bench = {
  name: NAME,
  what: 'ms that the longest of the touches of other pages takes while it is found out how to cut a launch of a GPU; beside the same with no launch',
  run,
};
