/** A thread that pins an array and waits; or only attaches to a space. */
import { parentPort, workerData } from 'node:worker_threads';
import {
  type ArrayHandle,
  attachArray,
  attachSpace,
  type SpaceHandle,
} from '../../../src/index.js';

const handle = workerData as ArrayHandle | null;
if (handle === null) {
  parentPort?.on('message', (space: SpaceHandle) => {
    attachSpace(space);
    parentPort?.postMessage('attached');
  });
} else {
  const pin = await attachArray(handle).pin();
  parentPort?.postMessage(pin.bytes);
  setInterval(() => undefined, 1000);
}
