/** Writes to an array all the time, until it is told to stop. */
import { parentPort, workerData } from 'node:worker_threads';
import { type ArrayHandle, attachArray } from '../../../src/index.js';

const { handle, words, begin, end } = workerData as {
  handle: ArrayHandle;
  words: Int32Array;
  begin: number;
  end: number;
};
const data = attachArray(handle).data as Int32Array;
parentPort?.postMessage('ready');
let steps = 0;
while (Atomics.load(words, 0) === 0) {
  steps++;
  // An element of every page, and a number of steps that tells which one was the last.
  for (let i = begin; i < end; i += 1024) data[i] = steps;
}
parentPort?.postMessage(steps);
