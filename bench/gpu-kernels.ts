/** Kernels of the benches of GPUs, for onemem and for what is written by hand. */

export const SAXPY = `
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&y)) { y[id.x] += 3.0 * x[id.x]; }
}`;

export const SEARCH = {
  columns: 64,
  queries: 2,
  source: `
struct Shape { rows: u32, columns: u32, queries: u32 }
@group(0) @binding(0) var<storage, read> vectors: array<f32>;
@group(0) @binding(1) var<storage, read> asked: array<f32>;
@group(0) @binding(2) var<storage, read_write> scores: array<f32>;
@group(0) @binding(3) var<uniform> shape: Shape;
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= shape.rows) { return; }
  for (var query = 0u; query < shape.queries; query++) {
    var sum = 0.0;
    for (var column = 0u; column < shape.columns; column++) {
      sum += vectors[id.x * shape.columns + column] * asked[query * shape.columns + column];
    }
    scores[id.x * shape.queries + query] = sum;
  }
}`,
} as const;
