/** A thread that touches one element and then does nothing any more. */
import { parentPort, workerData } from 'node:worker_threads';
import { type ArrayHandle, attachArray } from '../../../src/index.js';

const { handle, element } = workerData as { handle: ArrayHandle; element: number };
parentPort?.postMessage((attachArray(handle).data as Int32Array)[element]);
setInterval(() => undefined, 1000);
