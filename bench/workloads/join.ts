/** A hash join: one launch builds a table of the small side, others probe it with the large one. */
import { i32 } from '../../src/index.js';
import { expect, randomNumbers, task, type Workload } from './workload.js';

interface Args {
  keys: Int32Array;
  slots: Int32Array;
  found: Int32Array;
  mask: number;
}

const ROUNDS = 2;
/** Keys are above 0, and 0 is an empty slot. One work item does all. */
const build = task(
  { keys: i32.in, slots: i32.inout, mask: i32 },
  ({ keys, slots, mask }: Args, { begin, end }) => {
    for (let all = begin; all < end; all++)
      for (let i = 0; i < keys.length; i++) {
        let at = (Math.imul(keys[i], 0x9e3779b1) >>> 5) & mask;
        while (slots[at] !== 0) at = (at + 1) & mask;
        slots[at] = keys[i];
      }
  },
);
const probe = task(
  { keys: i32.in, slots: i32.in, found: i32.out, mask: i32 },
  ({ keys, slots, found, mask }: Args, { begin, end }) => {
    for (let i = begin; i < end; i++) {
      let at = (Math.imul(keys[i], 0x9e3779b1) >>> 5) & mask;
      while (slots[at] !== 0 && slots[at] !== keys[i]) at = (at + 1) & mask;
      found[i] = slots[at] === 0 ? 0 : 1;
    }
  },
);

export const join: Workload = {
  name: 'hash-join',
  make(bytes) {
    const slots = 2 ** Math.floor(Math.log2(bytes / 8));
    const small = Int32Array.from({ length: slots / 64 }, (_, i) => 2 * i + 2);
    const random = randomNumbers(11);
    const large = Int32Array.from({ length: slots / 4 }, () =>
      Math.floor(1 + random() * 2 * small.length),
    );
    const mask = slots - 1;
    const args = { keys: 'large', slots: 'slots', found: 'found', mask };
    const probing = { task: probe, args, size: large.length };
    return {
      arrays: { small, large, slots: new Int32Array(slots), found: new Int32Array(large.length) },
      launches: [
        { task: build, args: { keys: 'small', slots: 'slots', mask }, size: 1 },
        ...new Array<typeof probing>(ROUNDS).fill(probing),
      ],
      known: ({ found }) =>
        expect(
          found.every((each, i) => each === 1 - (large[i] % 2)),
          'even keys are found',
        ),
    };
  },
};
