/** A program one of whose devices has a driver that never returns from a command. */
import { openSpace } from '../../../src/index.js';
import { say } from './common.js';

const space = await openSpace({
  devices: [
    {
      kind: 'custom',
      driver: { module: new URL('./drivers.js', import.meta.url), export: 'create' },
      memory: '16MiB',
      options: { trouble: 'never returns' },
    },
  ],
  heartbeatLimitMs: 1000,
});
const array = space.array(Int32Array, 4096);
array.data.fill(1);
using stream = space.devices[0].stream();
stream.prefetch(array.range());
say('prefetching');
// By then the manager has begun the copy, and serves no fault any more: this thread stops below.
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
say(`read ${space.array(Int32Array, 4096).data[0]}`);
