/** C += A B by tiles; A is a tall panel and B a wide one, so that C has nearly all bytes. */
import { f32, i32 } from '../../src/index.js';
import { expect, task, type Workload } from './workload.js';

interface Args {
  a: Float32Array;
  b: Float32Array;
  c: Float32Array;
  width: number;
  depth: number;
}

const TILE = 64;
const DEPTH = 8;
const PASSES = 2;
/** A work item is a row of tiles. */
const multiply = task(
  { a: f32.in, b: f32.in, c: f32.inout, width: i32, depth: i32 },
  ({ a, b, c, width, depth }: Args, { begin, end }) => {
    for (let tileRow = begin; tileRow < end; tileRow++)
      for (let left = 0; left < width; left += 64)
        for (let row = tileRow * 64; row < (tileRow + 1) * 64; row++)
          for (let k = 0; k < depth; k++) {
            const factor = a[row * depth + k];
            for (let column = left; column < left + 64; column++)
              c[row * width + column] += factor * b[k * width + column];
          }
  },
);

export const sgemm: Workload = {
  name: 'sgemm',
  make(bytes) {
    const width = Math.floor(Math.sqrt(bytes / 4) / TILE) * TILE;
    const a = Float32Array.from({ length: width * DEPTH }, (_, i) => i % 3);
    const b = new Float32Array(width * DEPTH).fill(2);
    const args = { a: 'a', b: 'b', c: 'c', width, depth: DEPTH };
    const row = a.subarray(5 * DEPTH, 6 * DEPTH).reduce((sum, each) => sum + each, 0);
    return {
      arrays: { a, b, c: new Float32Array(width * width) },
      launches: new Array(PASSES).fill({ task: multiply, args, size: width / TILE }),
      known: ({ c }) => expect(c[5 * width + 77] === PASSES * 2 * row, 'c[5, 77]'),
    };
  },
};
