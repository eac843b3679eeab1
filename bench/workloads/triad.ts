/** a = b + s c (McCalpin's STREAM), some passes. */
import { f32 } from '../../src/index.js';
import { expect, task, type Workload } from './workload.js';

const PASSES = 4;
const add = task(
  { a: f32.out, b: f32.in, c: f32.in, s: f32 },
  (
    { a, b, c, s }: { a: Float32Array; b: Float32Array; c: Float32Array; s: number },
    { begin, end },
  ) => {
    for (let i = begin; i < end; i++) a[i] = b[i] + s * c[i];
  },
);

export const triad: Workload = {
  name: 'triad',
  make(bytes) {
    const size = Math.floor(bytes / 12);
    const b = Float32Array.from({ length: size }, (_, i) => i % 1000);
    const arrays = { a: new Float32Array(size), b, c: new Float32Array(size).fill(2) };
    const launch = { task: add, args: { a: 'a', b: 'b', c: 'c', s: 3 }, size };
    return {
      arrays,
      launches: new Array(PASSES).fill(launch),
      known: ({ a }) => expect(a[1234] === 234 + 6, 'a[1234] is b + 3 c'),
    };
  },
};
