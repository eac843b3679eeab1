/** Kernels of the benches of GPUs, for onemem and for what is written by hand. */

export const SAXPY = `
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&y)) { y[id.x] += 3.0 * x[id.x]; }
}`;

/** Launches in a row that are waited for together. */
export const LAUNCHES = 100;

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

/** Rows by id; elements of a row are 4 bytes. */
export const LOOKUP = {
  width: 1024,
  source: `
@group(0) @binding(0) var<storage, read> table: array<f32>;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> rows: array<f32>;
@compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  if (i < arrayLength(&rows)) { rows[i] = 2.0 * table[ids[i / 1024u] * 1024u + i % 1024u]; }
}`,
} as const;

/** Ids of so many rows of a table in no order, none of them twice. */
export function idsOf(count: number, rows: number): Uint32Array<ArrayBuffer> {
  return Uint32Array.from({ length: count }, (_, i) => (i * 1031) % rows);
}
