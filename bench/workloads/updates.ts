/** Updates at random (HPCC's RandomAccess). */
import { i32 } from '../../src/index.js';
import { expect, task, type Workload } from './workload.js';

const UPDATES = 20_000;
const update = task(
  { table: i32.inout, mask: i32 },
  ({ table, mask }: { table: Int32Array; mask: number }, { begin, end }) => {
    for (let i = begin; i < end; i++) {
      const at = (Math.imul(i, 0x9e3779b1) >>> 3) & mask;
      table[at] ^= i;
    }
  },
);

export const updates: Workload = {
  name: 'updates',
  make(bytes) {
    const length = 2 ** Math.floor(Math.log2(bytes / 4));
    const launch = { task: update, args: { table: 'table', mask: length - 1 }, size: UPDATES };
    return {
      arrays: { table: new Int32Array(length) },
      // Twice the same: nothing is left.
      launches: [launch, launch],
      known: ({ table }) =>
        expect(
          table.every((each) => each === 0),
          'all is as it was',
        ),
    };
  },
};
