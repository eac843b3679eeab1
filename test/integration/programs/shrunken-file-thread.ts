import { workerData } from 'node:worker_threads';
import { type ArrayHandle, attachArray } from '../../../src/index.js';
import { say } from './common.js';

const { data } = attachArray(workerData as ArrayHandle);
say(`survived ${data[786432]}`);
