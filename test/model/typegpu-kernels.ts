/** Kernels of TypeGPU of the soak. The processes of devices import this module, too. */
import { f32, i32, kernel, u32 } from '../../src/index.js';
import { adding } from '../harness/typegpu.js';

const module = import.meta.url;

export const addF32 = kernel(
  { x: f32.inout, by: f32 },
  { typegpu: adding('f32'), module, export: 'addF32' },
);
export const addI32 = kernel(
  { x: i32.inout, by: i32 },
  { typegpu: adding('i32'), module, export: 'addI32' },
);
export const addU32 = kernel(
  { x: u32.inout, by: u32 },
  { typegpu: adding('u32'), module, export: 'addU32' },
);
