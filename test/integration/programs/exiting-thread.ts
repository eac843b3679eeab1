/** A thread that attaches to the space of exiting.ts. */
import { parentPort, workerData } from 'node:worker_threads';
import { type ArrayHandle, attachArray } from '../../../src/index.js';

const { what, handle } = workerData as { what: string; handle: ArrayHandle };
const data = attachArray(handle).data as Int32Array;
parentPort?.postMessage('up');

let sum = 0;
switch (what) {
  case 'exit':
    process.exit(7);
    break;
  case 'throw':
    throw new Error('thrown by the thread');
  case 'fault':
    sum += data[0];
    break;
  case 'busy':
    for (;;) sum += data[0];
  case 'faults':
    for (let at = 0; ; at = (at + 1024) % data.length) data[at]++;
}
console.log(sum);
