/** Training of a network of dense layers: forward and backward through all weights, some rounds. */
import { f32, i32 } from '../../src/index.js';
import { expect, type Launch, task, type Workload } from './workload.js';

interface Args {
  weights: Float32Array;
  x: Float32Array;
  y: Float32Array;
  n: number;
}

const LAYERS = 8;
const ROUNDS = 2;
const forward = task(
  { weights: f32.in, x: f32.in, y: f32.out, n: i32 },
  ({ weights, x, y, n }: Args, { begin, end }) => {
    for (let row = begin; row < end; row++) {
      let sum = 0;
      for (let k = 0; k < n; k++) sum += weights[row * n + k] * x[k];
      y[row] = sum > 0 ? sum : 0;
    }
  },
);
/** Each weight goes down by its input and output. */
const backward = task(
  { weights: f32.inout, x: f32.in, y: f32.in, n: i32 },
  ({ weights, x, y, n }: Args, { begin, end }) => {
    for (let row = begin; row < end; row++)
      for (let k = 0; k < n; k++) weights[row * n + k] -= y[row] * x[k] * (1 / 1024 / 1024);
  },
);

export const dnn: Workload = {
  name: 'dnn',
  make(bytes) {
    const n = Math.floor(Math.sqrt(bytes / 4 / LAYERS));
    const layers = Array.from({ length: LAYERS }, (_, at) => at);
    const argsOf = (at: number) => ({ weights: `w${at}`, x: `x${at}`, y: `x${at + 1}`, n });
    const launches: Launch[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      for (const at of layers) launches.push({ task: forward, args: argsOf(at), size: n });
      for (const at of layers.toReversed())
        launches.push({ task: backward, args: argsOf(at), size: n });
    }
    const weights = layers.map((at) => [`w${at}`, new Float32Array(n * n).fill(1 / n)] as const);
    const inputs = [...layers, LAYERS].map(
      (at) => [`x${at}`, new Float32Array(n).fill(1)] as const,
    );
    return {
      arrays: Object.fromEntries([...weights, ...inputs]),
      launches,
      known: (result) => {
        const last = result[`x${LAYERS}`][3];
        expect(last > 0.5 && last < 1, 'training makes the output smaller');
      },
    };
  },
};
