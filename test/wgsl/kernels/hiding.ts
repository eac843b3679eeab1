/** Modules that call things of their own by names that WGSL has, too. */
import { floats, type KernelCase, words } from '../kernel-case.js';

export const HIDING: readonly KernelCase[] = [
  {
    name: 'functions, variables, structures and locals have names of WGSL, where pages are looked up',
    source: `@group(0) @binding(0) var<storage, read_write> table: array<f32>;
@group(0) @binding(1) var<storage, read_write> ids: array<i32>;
@group(0) @binding(2) var<storage, read_write> min: array<f32>; // not min()
struct select { bits: vec2<f32>, min: f32 }
fn read(i: i32) -> f32 { return table[ids[i]]; }
fn atomicAddFloat(a: f32, b: f32) -> f32 { return a + b; }
fn subgroupOf(a: select) -> f32 { return a.bits.y + a.min; }
@compute @workgroup_size(64) fn word(@builtin(global_invocation_id) bit: vec3u) {
  let vec3u = i32(bit.x); let u32 = vec3u;
  min[u32] = atomicAddFloat(read(u32), subgroupOf(select(vec2f(1.0, 2.0), 0.5)));
}`,
    workgroups: [16, 1, 1],
    arrays: {
      table: floats(4096),
      ids: Int32Array.from(words(1024, 4096)),
      min: new Float32Array(1024),
    },
    reference: ({ table, ids, min }) =>
      min!.forEach((_, i) => {
        min![i] = table![ids![i]!]! + 2.5;
      }),
    windows: /a single workgroup may touch elements 0 to 4095 of 'table'/,
  },
  {
    name: 'builtins in a structure whose members have names of functions',
    source: `struct Input { @builtin(global_invocation_id) min: vec3<u32>, @builtin(num_workgroups) array: vec3<u32> }
@group(0) @binding(0) var<storage, read_write> a: array<u32>;
fn min(x: u32) -> u32 { return x + 1u; }
fn bitcast(x: u32) -> u32 { return 2u * x; }
@compute @workgroup_size(64) fn main(storage: Input) {
  let vec3u = storage.min.x;
  a[vec3u] = min(a[vec3u]) + bitcast(storage.array.x);
}`,
    workgroups: [16, 1, 1],
    arrays: { a: words(1024, 1000) },
    reference: ({ a }) =>
      a!.forEach((value, i) => {
        a![i] = value + 33;
      }),
    windows: 'cut',
  },
];
