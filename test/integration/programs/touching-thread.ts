/**
 * Touches page after page of an array that was never touched, as long as it is told to, and counts
 * them.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { type ArrayHandle, attachArray } from '../../../src/index.js';

const ELEMENTS_PER_PAGE = 1024;
const { handle, words } = workerData as { handle: ArrayHandle; words: SharedArrayBuffer };
const data = attachArray(handle).data as Int32Array;
/** Whether to touch, and how many pages have been. */
const [goOn, touched] = [new Int32Array(words, 0, 1), new Int32Array(words, 4, 1)];
parentPort?.postMessage('up');
for (let at = 0; at < data.length; at += ELEMENTS_PER_PAGE) {
  Atomics.wait(goOn, 0, 0);
  data[at] = 1;
  Atomics.add(touched, 0, 1);
}
