/** A thread that stores to an array when it is told to. */
import { parentPort, workerData } from 'node:worker_threads';
import { type ArrayHandle, attachArray } from '../../../src/index.js';

const { data } = attachArray(workerData as ArrayHandle);
data[0] = 1;
parentPort?.once('message', () => {
  data[1] = 2;
  parentPort?.postMessage('survived');
});
parentPort?.postMessage('up');
