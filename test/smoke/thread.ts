import { workerData } from 'node:worker_threads';
import { type ArrayHandle, attachArray, type ManagedArray } from '../../src/index.js';

const x = attachArray(workerData as ArrayHandle) as ManagedArray<Int32Array>;
for (let i = 0; i < x.length; i++) x.data[i] += 1;
