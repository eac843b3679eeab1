/** Uses memory that it has given back. */
import { Worker } from 'node:worker_threads';
import { i32, kernel, openSpace } from '../../../src/index.js';
import { view } from '../../../src/linux/memory/memory.js';
import { say, wait } from './common.js';

const [how] = process.argv.slice(2);
const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
const n = 2 ** 18;
const array = space.array(Int32Array, n, { name: 'late' });
const { data } = array;
data.fill(5);
const add = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i]++;
});
await space.devices[0].run(add, { x: array }, { size: n });

function sum(): number {
  let result = 0;
  for (let i = 0; i < n; i++) result += data[i];
  return result;
}

if (how === 'write in a thread') {
  new Worker(new URL('./late-use-thread.js', import.meta.url), { workerData: array.handle }).once(
    'message',
    () => {
      array.free();
    },
  );
  wait();
} else if (how === 'outside') {
  const beyond = new Int32Array(view(Number(array.address) + 2 ** 30, 4096));
  say(`survived ${beyond[0]}`);
} else {
  array.free();
  if (how !== 'write') say(`sum ${sum()}`);
  if (how !== 'read') {
    data[n / 2] = 1;
    say('survived');
  }
}
