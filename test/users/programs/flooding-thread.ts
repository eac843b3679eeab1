/** Queues operations without ever waiting for one. */
import { parentPort, workerData } from 'node:worker_threads';
import { type ArrayHandle, attachSpace, type SpaceHandle } from '../../../src/index.js';

const {
  space: handle,
  array,
  seconds,
  how,
} = workerData as {
  space: SpaceHandle;
  array: ArrayHandle;
  seconds: number;
  how: 'prefetch' | 'discard';
};
const space = attachSpace(handle);
const x = space.attachArray(array);
const stream = space.devices[0].stream();
const end = performance.now() + seconds * 1000;
let queued = 0;
for (; performance.now() < end; queued++) {
  if (how === 'prefetch') stream.prefetch(x.range(), 'host');
  else void x.discard().catch(() => undefined);
}
parentPort?.postMessage(queued);
parentPort?.once('message', () => process.exit(0));
