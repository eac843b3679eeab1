/** `x.data[i]` in a loop costs little more than a property of a plain object. */
import assert from 'node:assert/strict';
import { openSpace } from '../../src/index.js';
import { note, runTests, test } from '../harness/suite.js';

const LENGTH = 2 ** 14;
const ROUNDS = 256;
const RUNS = 7;
/** A call and a look at shared memory for each element made it ten times a plain property. */
const LIMIT = 4;

type Holder = { readonly data: Float32Array };

// Two functions, so that each is compiled for what it is called with, and two calls in each run
// have the same shape.
function storeManaged(x: Holder): void {
  for (let round = 0; round < ROUNDS; round++) for (let i = 0; i < LENGTH; i++) x.data[i] = i;
}
function storePlain(x: Holder): void {
  for (let round = 0; round < ROUNDS; round++) for (let i = 0; i < LENGTH; i++) x.data[i] = i;
}

/**
 * Nanoseconds of this process's own time for each store, which others on the machine hardly change.
 */
function cost(store: (x: Holder) => void, x: Holder): number {
  const { user } = process.cpuUsage();
  store(x);
  return ((process.cpuUsage().user - user) * 1000) / (LENGTH * ROUNDS);
}

test('data costs about what a plain property costs', async () => {
  await using space = await openSpace({ hostMemory: '256MiB' });
  const managed = space.array(Float32Array, LENGTH);
  const plain = { data: new Float32Array(LENGTH) };
  let ours = Number.POSITIVE_INFINITY;
  let reference = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS; run++) {
    ours = Math.min(ours, cost(storeManaged, managed));
    reference = Math.min(reference, cost(storePlain, plain));
  }
  note(`${ours.toFixed(2)} ns, a plain property ${reference.toFixed(2)} ns`);
  assert.ok(ours < LIMIT * reference, `${ours} ns, ${ours / reference} times a plain property`);
});

test('data says at once that the array was freed or the space closed', async () => {
  const space = await openSpace({ hostMemory: '256MiB' });
  const freed = space.array(Int32Array, 16, { name: 'freed' });
  const kept = space.array(Int32Array, 16, { name: 'kept' });
  freed.data[0] = kept.data[0] = 1;
  freed.free();
  assert.throws(() => freed.data, { code: 'USE_AFTER_FREE' });
  await space.close();
  assert.throws(() => kept.data, { code: 'SPACE_CLOSED' });
});

await runTests();
