/**
 * Kernels of TypeGPU, as its build plugin leaves them: each function has its syntax tree beside it.
 * The processes of devices import this module, too.
 */
import { d, tgpu } from 'typegpu';
import { f32, kernel, u32 } from '../../../src/index.js';
import { built } from '../../harness/typegpu.js';

const layout = tgpu.bindGroupLayout({
  x: { storage: d.arrayOf(d.f32) },
  y: { storage: d.arrayOf(d.f32), access: 'mutable' },
  numbers: { uniform: d.struct({ alpha: d.f32, count: d.u32 }) },
});

const axpy = built(
  'axpy',
  (x: number, y: number, alpha: number) => y + alpha * x,
  [['x', 'y', 'alpha'], [[10, [1, 'y', '+', [1, 'alpha', '*', 'x']]]]],
  () => ({}),
);

const $ = [7, 'layout', '$'];
const numbers = [7, $, 'numbers'];
const [xi, yi] = [
  [8, [7, $, 'x'], 'i'],
  [8, [7, $, 'y'], 'i'],
];

export const add = built(
  'add',
  (i: number) => {
    const { x, y, numbers } = layout.$;
    if (i < numbers.count) y[i] = axpy(x[i], y[i], numbers.alpha);
  },
  [
    ['i'],
    [
      [
        11,
        [1, 'i', '<', [7, numbers, 'count']],
        [0, [[2, yi, '=', [6, 'axpy', [xi, yi, [7, numbers, 'alpha']]]]]],
      ],
    ],
  ],
  () => ({ layout, axpy }),
);

const parameters = { x: f32.in, y: f32.inout, alpha: f32, count: u32 };

export const saxpy = kernel(parameters, { typegpu: add, module: import.meta.url, export: 'saxpy' });

/** The same in a shell that says what it takes. */
export const shelled = kernel(parameters, {
  typegpu: tgpu.fn([d.u32])(add),
  module: import.meta.url,
  export: 'shelled',
});
