/** A thread that opens a space, says how that went, and ends without closing it. */
import { parentPort } from 'node:worker_threads';
import { openSpace } from '../../../src/index.js';

await openSpace({ hostMemory: '32MiB', addressSpace: '9TiB' }).then(
  () => parentPort?.postMessage('open'),
  (error: Error) => parentPort?.postMessage(error.message),
);
process.exit();
