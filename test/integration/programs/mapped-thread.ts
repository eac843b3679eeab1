/** Reads the last element of a mapped array by its handle, and counts the mappings of its file. */
import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { attachSpace } from '../../../src/index.js';

const space = await attachSpace(workerData.space);
const array = space.attachArray<Int32Array>(workerData);
const last = array.data[array.length - 1];
const mappings = readFileSync('/proc/self/maps', 'utf8')
  .split('\n')
  .filter((line) => line.endsWith(array.name)).length;
parentPort?.postMessage([last, mappings]);
