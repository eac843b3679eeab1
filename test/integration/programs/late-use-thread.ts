/** Goes on writing an array that another thread frees. */
import { parentPort, workerData } from 'node:worker_threads';
import { type ArrayHandle, attachArray } from '../../../src/index.js';

const data = attachArray(workerData as ArrayHandle).data as Int32Array;
data[0] = 1;
parentPort?.postMessage('up');
for (let i = 0; ; i = (i + 1) % data.length) data[i] = 1;
