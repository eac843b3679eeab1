/** Kernels of the scenarios, as functions and for GPUs, and the same in plain JavaScript. */
import { type Kernel, type KernelParameters, kernel, u32 } from '../index.js';

/**
 * A kernel that has a module in WGSL, too. The module is read when a GPU wants it: others do
 * without the package that reads it.
 */
function both<P extends KernelParameters>(made: Kernel<P>, wgsl: string): Kernel<P> {
  let code: Kernel['wgsl'] = null;
  return {
    ...made,
    get wgsl() {
      code ??= kernel(made.parameters, { wgsl }, { name: made.name }).wgsl;
      return code;
    },
  };
}

/** Names each element of the launch; what lies outside of it is left alone. */
const WGSL = (numbers: string, body: string): string => /* wgsl */ `
  @group(0) @binding(0) var<storage, read_write> data: array<u32>;
  struct Numbers { begin: u32, end: u32, ${numbers} }
  @group(0) @binding(1) var<uniform> numbers: Numbers;
  @compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = numbers.begin + id.x;
    if (i < numbers.end) { ${body} }
  }`;

/** Writes a value that depends on index and seed: a page in the wrong place shows. */
export const write = both(
  kernel(
    { data: u32.out, seed: u32 },
    ({ data, seed }, { begin, end }) => {
      for (let i = begin; i < end; i++) data[i] = Math.imul(i, 0x9e3779b1) ^ seed;
    },
    { name: 'write' },
  ),
  WGSL('seed: u32', 'data[i] = (i * 0x9e3779b1u) ^ numbers.seed;'),
);

/** Changes every element, so that each one must have come to the device and must come back. */
export const mix = both(
  kernel(
    { data: u32.inout, seed: u32 },
    ({ data, seed }, { begin, end }) => {
      for (let i = begin; i < end; i++) data[i] = (data[i] + Math.imul(i, 0x85ebca6b)) ^ seed;
    },
    { name: 'mix' },
  ),
  WGSL('seed: u32', 'data[i] = (data[i] + (i * 0x85ebca6bu)) ^ numbers.seed;'),
);

/** Changes one word of each page, and so each page, by as little work as there is. */
export const flip = both(
  kernel(
    { data: u32.inout, mask: u32 },
    ({ data, mask }, { begin, end }) => {
      for (let i = Math.ceil(begin / 1024) * 1024; i < end; i += 1024) data[i] ^= mask;
    },
    { name: 'flip' },
  ),
  WGSL('mask: u32', 'if (i % 1024u == 0u) { data[i] ^= numbers.mask; }'),
);

/** Adds to every element by atomic operations, one at a time. */
export const increment = both(
  kernel(
    { data: u32.inout, times: u32 },
    ({ data, times }, { begin, end }) => {
      for (let time = 0; time < times; time++) {
        for (let i = begin; i < end; i++) Atomics.add(data, i, 1);
      }
    },
    { name: 'increment' },
  ),
  WGSL(
    'times: u32',
    'for (var time = 0u; time < numbers.times; time++) { atomicAdd(&data[i], 1u); }',
  ).replace('array<u32>', 'array<atomic<u32>>'),
);

/** What the device reads, for the CPU to look at. */
export const copy = both(
  kernel(
    { source: u32.in, destination: u32.out },
    ({ source, destination }, { begin, end }) => {
      for (let i = begin; i < end; i++) destination[i] = source[i];
    },
    { name: 'copy' },
  ),
  /* wgsl */ `
      @group(0) @binding(0) var<storage, read> source: array<u32>;
      @group(0) @binding(1) var<storage, read_write> destination: array<u32>;
      @compute @workgroup_size(256) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
        if (id.x < arrayLength(&destination)) { destination[id.x] = source[id.x]; }
      }`,
);

/** As the kernel `write`. */
export function pattern(length: number, seed: number): Uint32Array {
  const data = new Uint32Array(length);
  for (let i = 0; i < length; i++) data[i] = Math.imul(i, 0x9e3779b1) ^ seed;
  return data;
}

/** As the kernel `mix`, on plain memory. */
export function mixed(before: Uint32Array, seed: number): Uint32Array {
  const after = new Uint32Array(before.length);
  for (let i = 0; i < before.length; i++) after[i] = (before[i] + Math.imul(i, 0x85ebca6b)) ^ seed;
  return after;
}
