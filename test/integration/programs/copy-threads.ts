/** A program one of whose threads of copies ends with its first copy. */
import { openSpace } from '../../../src/index.js';
import { sayTraces } from './common.js';

process.env.ONEMEM_COPY_THREADS = 'on';
const space = await openSpace({ devices: [{ kind: 'process', memory: '24MiB' }], crash: 'copies' });
const [device] = space.devices;
const array = space.array(Int32Array, 4 * 2 ** 20);
sayTraces(space);
const stream = device.stream();
for (;;) {
  array.data.fill(1);
  await stream.prefetch(array.range()).synchronize();
}
