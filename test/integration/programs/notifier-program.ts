/** A program whose module is told of an invalidation, and does not behave. */
import { f32, kernel, openSpace } from '../../../src/index.js';
import { say, sayEnding, sayTraces } from './common.js';

const [name] = process.argv.slice(2);
const space = await openSpace({
  devices: [{ kind: 'process', memory: '8MiB' }],
  ...(name === 'endless' ? { heartbeatLimitMs: 2000 } : {}),
});
const add = kernel({ x: f32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});
const x = space.array(Float32Array, 4096, { name: 'numbers' });
x.data.fill(1);
const calls = new Int32Array(new SharedArrayBuffer(4));
let detached = '';
const notifier = await x.watch({
  module: new URL('./notifier-modules.js', import.meta.url),
  export: name,
  data: calls,
  onDetached: (reason) => {
    detached = reason;
  },
});
sayTraces(space);
sayEnding();
for (let round = 0; round < 3; round++) {
  await space.devices[0].run(add, { x }, { size: x.length });
  say(`element ${x.data[4095]}`);
}
await new Promise((resolve) => setTimeout(resolve, 50));
const begun = notifier.readBegin();
const same = notifier.readRetry(begun);
say(`told ${JSON.stringify({ calls: calls[0], detached, also: notifier.detached, begun, same })}`);
await space.close();
