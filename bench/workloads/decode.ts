/** A language model that decodes: each step adds keys and values, and looks at all before. */
import { f32, i32 } from '../../src/index.js';
import { expect, type Launch, task, type Workload } from './workload.js';

interface Args {
  keys: Float32Array;
  values: Float32Array;
  scores: Float32Array;
  out: Float32Array;
  width: number;
  first: number;
  rows: number;
}

const WIDTH = 128;
const STEPS = 12;
const append = task(
  { keys: f32.inout, values: f32.inout, width: i32, first: i32 },
  ({ keys, values, width, first }: Args, { begin, end }) => {
    for (let row = first + begin; row < first + end; row++)
      for (let i = row * width; i < (row + 1) * width; i++) {
        keys[i] = ((i * 31) % 17) / 17;
        values[i] = 1;
      }
  },
);
const score = task(
  { keys: f32.in, scores: f32.inout, width: i32 },
  ({ keys, scores, width }: Args, { begin, end }) => {
    for (let row = begin; row < end; row++) {
      let sum = 0;
      for (let column = 0; column < width; column++) sum += keys[row * width + column];
      scores[row] = sum;
    }
  },
);
const attend = task(
  { values: f32.in, scores: f32.in, out: f32.inout, width: i32, rows: i32 },
  ({ values, scores, out, width, rows }: Args, { begin, end }) => {
    let weight = 0;
    for (let row = 0; row < rows; row++) weight += scores[row];
    for (let column = begin; column < end; column++) out[column] = 0;
    for (let row = 0; row < rows; row++)
      for (let column = begin; column < end; column++)
        out[column] += (scores[row] / weight) * values[row * width + column];
  },
);

export const decode: Workload = {
  name: 'llm-decode',
  make(bytes) {
    const chunk = Math.floor(bytes / 4 / (2 * WIDTH + 1) / STEPS);
    const rows = chunk * STEPS;
    const launches = Array.from({ length: STEPS }, (_, at): Launch[] => {
      const known = (at + 1) * chunk;
      const cache = { keys: 'keys', values: 'values', width: WIDTH };
      const looked = { values: 'values', scores: 'scores', out: 'out', width: WIDTH, rows: known };
      return [
        { task: append, args: { ...cache, first: at * chunk }, size: chunk },
        { task: score, args: { keys: 'keys', scores: 'scores', width: WIDTH }, size: known },
        { task: attend, args: looked, size: WIDTH },
      ];
    });
    const arrays = {
      keys: new Float32Array(rows * WIDTH),
      values: new Float32Array(rows * WIDTH),
      scores: new Float32Array(rows),
      out: new Float32Array(WIDTH),
    };
    return {
      arrays,
      launches: launches.flat(),
      known: ({ out }) => expect(Math.abs(out[5] - 1) < 0.01, 'a mean of ones is one'),
    };
  },
};
