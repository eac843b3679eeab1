/** A thread that opens a space, says how that went, and goes on until it is terminated. */
import { parentPort } from 'node:worker_threads';
import { openSpace } from '../../../src/index.js';

await openSpace({ hostMemory: '32MiB', addressSpace: '9TiB' }).then(
  () => parentPort?.postMessage('open'),
  (error: Error) => parentPort?.postMessage(error.message),
);
setInterval(() => undefined, 1000);
