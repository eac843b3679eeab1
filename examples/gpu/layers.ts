/**
 * A network whose layers lie in a NumPy file and together are larger than the GPU: each layer is
 * one launch, which fits, and layers come as they are needed and go as others need the room.
 * Activations never leave the GPU until the CPU looks at the result.
 *
 *   node .build/examples/gpu/layers.js [--layers 8] [--width 640] [--batch 4] [--memory 6MiB]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { f32, kernel, openSpace, u32 } from 'onemem';

const { values: options } = parseArgs({
  options: {
    layers: { type: 'string', default: '8' },
    width: { type: 'string', default: '640' },
    batch: { type: 'string', default: '4' },
    memory: { type: 'string', default: '6MiB' },
  },
});
const layers = Number(options.layers);
const width = Number(options.width);
const batch = Number(options.batch);
const MIB = 2 ** 20;
const PASSES = 2;

const layer = kernel(
  { weights: f32.in, before: f32.in, after: f32.out, width: u32 },
  {
    wgsl: `
      @group(0) @binding(0) var<storage, read> weights: array<f32>;
      @group(0) @binding(1) var<storage, read> before: array<f32>;
      @group(0) @binding(2) var<storage, read_write> after: array<f32>;
      @group(0) @binding(3) var<uniform> width: u32;

      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
        if (id.x >= width) { return; }
        var sum = 0.0;
        for (var i = 0u; i < width; i++) { sum += weights[id.x * width + i] * before[id.y * width + i]; }
        after[id.y * width + id.x] = clamp(floor(sum / 256.0), 0.0, 63.0);
      }`,
  },
  { name: 'layer' },
);

/**
 * Whole numbers, the same in every run: their sums are exact, in whatever order a GPU adds them up.
 */
let state = 1;
function random(from: number, to: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
  return from + ((state >>> 8) % (to - from + 1));
}

/** The same without onemem: everything in ordinary memory. */
function plainLayer(weights: Float32Array, before: Float32Array): Float32Array {
  const after = new Float32Array(before.length);
  for (let sample = 0; sample < batch; sample++) {
    for (let row = 0; row < width; row++) {
      let sum = 0;
      for (let i = 0; i < width; i++) sum += weights[row * width + i] * before[sample * width + i];
      after[sample * width + row] = Math.min(Math.max(Math.floor(sum / 256), 0), 63);
    }
  }
  return after;
}

const folder = mkdtempSync(join(tmpdir(), 'onemem-layers-'));
try {
  await using space = await openSpace({ devices: [{ kind: 'webgpu', memory: options.memory }] });
  const [gpu] = space.devices;
  const path = join(folder, 'layers.npy');

  // The data: in practice training writes the file.
  const each = width * width;
  const plain = Float32Array.from({ length: layers * each }, () => random(-31, 32));
  const made = space.array(Float32Array, plain.length);
  made.data.set(plain);
  await space.saveNpy(path, made, { shape: [layers, width, width] });
  made.free();

  const { array: weights } = space.openNpy(path, { type: Float32Array });
  const activations = [0, 1].map(() => space.array(Float32Array, batch * width));
  console.log(
    `${layers} layers in ${(weights.byteLength / MIB).toFixed(1)} MiB, on a GPU with ${gpu.memory / MIB} MiB`,
  );
  for (let pass = 1; pass <= PASSES; pass++) {
    const given = Float32Array.from({ length: batch * width }, () => random(0, 63));
    let expected: Float32Array = given;
    activations[0].data.set(given);
    const before = gpu.stats();
    const stream = gpu.stream();
    for (let number = 0; number < layers; number++) {
      const own = weights.range(number * each, (number + 1) * each);
      const [from, to] = number % 2 === 0 ? activations : activations.toReversed();
      stream.launch(
        layer,
        { weights: own, before: from, after: to, width },
        { size: [width, batch] },
      );
      expected = plainLayer(plain.subarray(number * each, (number + 1) * each), expected);
    }
    await stream.synchronize();
    const { data } = activations[layers % 2];
    for (let at = 0; at < data.length; at++) {
      if (data[at] !== expected[at])
        throw new Error(`activation ${at} is ${data[at]} instead of ${expected[at]}`);
    }
    const { bytesIn, bytesFromFiles, peakBytes } = gpu.stats();
    const moved = bytesIn + bytesFromFiles - before.bytesIn - before.bytesFromFiles;
    if (peakBytes > gpu.memory) throw new Error(`the device used ${peakBytes} bytes`);
    console.log(
      `pass ${pass}: ${(moved / MIB).toFixed(1)} MiB went to the GPU, and all ${data.length} activations are right`,
    );
  }
} finally {
  rmSync(folder, { recursive: true });
}
