/** An array whose provider takes a second, which it says when it has begun, and may take three. */
import { openSpace } from '../../../src/index.js';

const provider = `export default ({ values, data }) => {
  Atomics.store(data, 0, 1);
  // In small steps, so that a second that the process was stopped for does not count.
  for (let step = 0; step < 20; step++) Atomics.wait(data, 1, 0, 50);
  values.fill(7);
}`;
const begun = new Int32Array(new SharedArrayBuffer(8));
const space = await openSpace();
const module = `data:text/javascript,${encodeURIComponent(provider)}`;
const x = await space.providedArray(Uint32Array, 1024, {
  module,
  name: 'x',
  timeoutMs: 3000,
  data: begun,
});
const pinned = x.pin();
while (Atomics.load(begun, 0) === 0) await new Promise((resolve) => setTimeout(resolve, 10));
// The manager has seen it, too.
await new Promise((resolve) => setTimeout(resolve, 200));
console.log('asked');
await pinned;
console.log(`given ${x.data[1023]}`);
await space.close();
