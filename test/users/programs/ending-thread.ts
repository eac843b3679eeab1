/**
 * A thread that says that it is there, and then lives on, or goes into a fault that is never
 * answered.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { type ArrayHandle, attachArray } from '../../../src/index.js';

const { thread, handle } = workerData as { thread: string; handle: ArrayHandle };
const { data } = attachArray(handle);
parentPort?.postMessage('up');
if (thread === 'fault') parentPort?.postMessage(data[0]);
else setInterval(() => undefined, 1000);
