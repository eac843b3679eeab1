/** A thread as a new user writes it: what comes as workerData has no type. */
import { parentPort, workerData } from 'node:worker_threads';
import { attachArray } from '../../../src/index.js';

const array = attachArray(workerData);
array.data.fill(5);
parentPort?.postMessage('done');
