/** A program of `cluster`: the primary opens the space, and four workers use its array. */
import assert from 'node:assert/strict';
import cluster from 'node:cluster';
import { once } from 'node:events';
import { openSpace } from '../../../src/index.js';
import add from './summing.js';

const WORKERS = 4;
const LENGTH = 4 * 2 ** 20;

if (cluster.isPrimary) {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const x = space.array(Int32Array, LENGTH, { name: 'x' });
  x.data.fill(1);
  const workers = Array.from({ length: WORKERS }, (_, at) =>
    cluster.fork({ ONEMEM_SPACE: space.share(), PART: String(at) }),
  );
  const codes = await Promise.all(workers.map((worker) => once(worker, 'exit')));
  assert.deepEqual(
    codes.map(([code]) => code as number),
    workers.map(() => 0),
  );
  assert.ok(x.data.every((value) => value === 2));
  console.log('right');
} else {
  const at = Number(process.env.PART);
  const [begin, end] = [(at * LENGTH) / WORKERS, ((at + 1) * LENGTH) / WORKERS];
  const where = { space: process.env.ONEMEM_SPACE ?? '', name: 'x' };
  assert.equal(add({ where, begin, end }), LENGTH / WORKERS);
  cluster.worker?.disconnect();
}
