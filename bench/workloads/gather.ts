/** Rows of a table of embeddings by indices, some of which are used very often (Zipf's law). */
import { f32, i32 } from '../../src/index.js';
import { expect, randomNumbers, task, type Workload } from './workload.js';

const WIDTH = 64;
const ROUNDS = 3;
const pick = task(
  { table: f32.in, order: i32.in, sums: f32.out, width: i32 },
  (
    {
      table,
      order,
      sums,
      width,
    }: { table: Float32Array; order: Int32Array; sums: Float32Array; width: number },
    { begin, end },
  ) => {
    for (let i = begin; i < end; i++) {
      let sum = 0;
      for (let column = 0; column < width; column++) sum += table[order[i] * width + column];
      sums[i] = sum;
    }
  },
);

export const gather: Workload = {
  name: 'gather',
  make(bytes) {
    const rows = Math.floor(bytes / 4 / (WIDTH + 1));
    const count = rows >> 1;
    const random = randomNumbers(3);
    // The index of rank r comes about as often as 1 / r.
    const order = Int32Array.from(
      { length: count },
      () => (Math.floor(rows ** random()) * 7919) % rows,
    );
    const table = Float32Array.from({ length: rows * WIDTH }, (_, i) => Math.floor(i / WIDTH) % 64);
    const args = { table: 'table', order: 'order', sums: 'sums', width: WIDTH };
    return {
      arrays: { table, order, sums: new Float32Array(count) },
      launches: new Array(ROUNDS).fill({ task: pick, args, size: count }),
      known: ({ sums }) => expect(sums[7] === (order[7] % 64) * WIDTH, 'sums[7] is of its row'),
    };
  },
};
