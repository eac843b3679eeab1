/**
 * A thread whose stream calls a function that never ends; then the thread ends, or leaves the
 * space.
 */
import { once } from 'node:events';
import { parentPort, workerData } from 'node:worker_threads';
import { type ArrayHandle, attachArray } from '../../../src/index.js';

const { array, how } = workerData as { array: ArrayHandle; how: string };
const { space } = attachArray(array);
const stream = space.devices[0].stream();
const started = new Promise<void>((resolve) => {
  stream.call(() => {
    resolve();
    return new Promise(() => undefined);
  });
});
const event = stream.record();
await started;
// How the manager knows them, which is nothing that users see.
const { id } = stream as unknown as { id: number };
const { sequence } = event as unknown as { sequence: number };
parentPort?.postMessage({ id, sequence });
if (how === 'leave') {
  await once(parentPort as NonNullable<typeof parentPort>, 'message');
  await space.close();
}
// Something keeps the thread alive, so that only what the test does can have ended the function.
setInterval(() => undefined, 1000);
