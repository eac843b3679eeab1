/** A program whose manager ends while a thread sits in a fault. */
import { Worker } from 'node:worker_threads';
import { openSpace, type SpaceOptions } from '../../../src/index.js';
import { say, sayEnding, sayTraces, wait } from './common.js';

const [how, thread] = process.argv.slice(2);
const space = await openSpace({
  devices: [{ kind: 'process', memory: '8MiB' }],
  crash: how as SpaceOptions['crash'],
  heartbeatLimitMs: 1000,
});
const array = space.array(Int32Array, 4096, { name: 'numbers' });
const { data } = array;
sayTraces(space);
if (thread === 'main') {
  sayEnding();
  say(`read ${data[0]}`);
} else {
  sayEnding();
  new Worker(new URL('./exiting-thread.js', import.meta.url), {
    workerData: { what: 'fault', handle: array.handle },
  });
  wait();
}
