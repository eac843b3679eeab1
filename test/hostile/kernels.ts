/**
 * The kernels of the hostile calls. Each keeps to its arrays whatever the size of the launch: the
 * size may be anything.
 */
import { f32, i64, type Kernel, kernel, u8 } from '../../src/index.js';
import { added, addedOnGpus } from './typegpu-kernels.js';

export const KERNELS: readonly Kernel[] = [
  kernel({ x: f32.inout, by: f32 }, ({ x, by }, { begin, end }) => {
    for (let i = begin; i < Math.min(end, x.length); i++) x[i] += by;
  }),
  kernel({ x: f32.in, y: f32.inout }, ({ x, y }, { begin, end }) => {
    for (let i = begin; i < Math.min(end, x.length, y.length); i++) y[i] += x[i];
  }),
  kernel({ y: f32.out }, ({ y }, { begin, end }) => {
    y.fill(1, begin, Math.min(end, y.length));
  }),
  kernel({ x: u8.in, y: u8.out }, ({ x, y }, { begin, end }) => {
    for (let i = begin; i < Math.min(end, x.length, y.length); i++) y[i] = x[i] + 1;
  }),
  kernel({ x: i64.inout, by: i64 }, ({ x, by }, { begin, end }) => {
    for (let i = begin; i < Math.min(end, x.length); i++) x[i] += by;
  }),
  kernel({}, () => undefined),
  kernel({ x: f32.inout }, () => {
    throw new RangeError('on purpose');
  }),
  kernel({ x: f32.in }, () => {
    throw undefined;
  }),
  kernel({ x: f32.in }, () => {
    throw Symbol('on purpose');
  }),
  kernel({ x: f32.in }, () => {
    throw Object.create(null);
  }),
  kernel({ x: f32.in }, () => {
    throw Object.assign(new Error('on purpose'), { code: 5, message: { no: 'text' }, stack: 5 });
  }),
  kernel({ x: f32.in }, () => Promise.reject(null)),
  kernel({ y: f32.inout }, async ({ y }) => {
    y[0] = 1;
  }),
  added,
  addedOnGpus,
] as unknown as Kernel[];
