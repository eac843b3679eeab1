/** The kernels of the scenarios, and what they do in plain JavaScript, so that the CPU knows what to expect. */
import { kernel, u32 } from '../index.js';

/** Writes a value to every element that depends on its index and on the seed: a page in the wrong place shows. */
export const write = kernel({ data: u32.out, seed: u32 }, ({ data, seed }, { begin, end }) => {
  for (let i = begin; i < end; i++) data[i] = Math.imul(i, 0x9e3779b1) ^ seed;
});

/** Changes every element, so that each one must have come to the device and must come back. */
export const mix = kernel({ data: u32.inout, seed: u32 }, ({ data, seed }, { begin, end }) => {
  for (let i = begin; i < end; i++) data[i] = (data[i] + Math.imul(i, 0x85ebca6b)) ^ seed;
});

/** Changes one word of each page, and so each page, by as little work as there is. */
export const flip = kernel({ data: u32.inout, mask: u32 }, ({ data, mask }, { begin, end }) => {
  for (let i = Math.ceil(begin / 1024) * 1024; i < end; i += 1024) data[i] ^= mask;
});

/** Adds to every element by atomic operations, one at a time. */
export const increment = kernel({ data: u32.inout, times: u32 }, ({ data, times }, { begin, end }) => {
  for (let time = 0; time < times; time++) {
    for (let i = begin; i < end; i++) Atomics.add(data, i, 1);
  }
});

/** What the device reads, for the CPU to look at. */
export const copy = kernel({ source: u32.in, destination: u32.out }, ({ source, destination }, { begin, end }) => {
  for (let i = begin; i < end; i++) destination[i] = source[i];
});

/** As the kernel `write`. */
export function pattern(length: number, seed: number): Uint32Array {
  const data = new Uint32Array(length);
  for (let i = 0; i < length; i++) data[i] = Math.imul(i, 0x9e3779b1) ^ seed;
  return data;
}

/** As the kernel `mix`, on plain memory. */
export function mixed(before: Uint32Array, seed: number): Uint32Array {
  return before.map((value, i) => (value + Math.imul(i, 0x85ebca6b)) ^ seed);
}
