/** Particles that a centre draws, in a plane. */
import { f32 } from '../../src/index.js';
import { expect, task, type Workload } from './workload.js';

interface Args {
  x: Float32Array;
  y: Float32Array;
  u: Float32Array;
  v: Float32Array;
}

const STEPS = 5;
const move = task(
  { x: f32.inout, y: f32.inout, u: f32.inout, v: f32.inout },
  ({ x, y, u, v }: Args, { begin, end }) => {
    for (let i = begin; i < end; i++) {
      u[i] -= x[i] / 64;
      v[i] -= y[i] / 64;
      x[i] += u[i] / 64;
      y[i] += v[i] / 64;
    }
  },
);

export const particles: Workload = {
  name: 'particles',
  make(bytes) {
    const size = Math.floor(bytes / 16);
    const place = (seed: number) =>
      Float32Array.from({ length: size }, (_, i) => ((i * seed) % 200) / 100 - 1);
    const launch = { task: move, args: { x: 'x', y: 'y', u: 'u', v: 'v' }, size };
    const arrays = { x: place(7), y: place(13), u: new Float32Array(size), v: place(0) };
    return {
      arrays,
      launches: new Array(STEPS).fill(launch),
      known: ({ x }) => expect(Math.abs(x[0]) < 1 && x[0] < -0.99, 'a particle goes inwards'),
    };
  },
};
