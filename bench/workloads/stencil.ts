/** Jacobi's five points on a plane, there and back between two arrays. */
import { f32, i32 } from '../../src/index.js';
import { expect, task, type Workload } from './workload.js';

const STEPS = 6;
const WIDTH = 1024;
const step = task(
  { from: f32.in, to: f32.inout, width: i32 },
  (
    { from, to, width }: { from: Float32Array; to: Float32Array; width: number },
    { begin, end, size },
  ) => {
    for (let y = begin; y < end; y++) {
      if (y === 0 || y === size - 1) continue;
      for (let i = y * width + 1; i < (y + 1) * width - 1; i++)
        to[i] = (from[i - 1] + from[i + 1] + from[i - width] + from[i + width]) / 4;
    }
  },
);

export const stencil: Workload = {
  name: 'stencil',
  make(bytes) {
    const height = Math.floor(bytes / 8 / WIDTH);
    const a = Float32Array.from({ length: height * WIDTH }, (_, i) => (i * 7919) % 100);
    // What is linear stays as it is.
    for (let i = 0; i < 64 * WIDTH; i++) a[i] = i % WIDTH;
    const launches = Array.from({ length: STEPS }, (_, at) => ({
      task: step,
      args: { from: at % 2 === 0 ? 'a' : 'b', to: at % 2 === 0 ? 'b' : 'a', width: WIDTH },
      size: height,
    }));
    return {
      arrays: { a, b: a.slice() },
      launches,
      known: (result) =>
        expect(result['a'][20 * WIDTH + 500] === 500, 'a plane that is linear stays as it is'),
    };
  },
};
