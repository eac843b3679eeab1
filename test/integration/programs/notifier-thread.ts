/**
 * A thread that reads an array by the sequence number of a notifier, or subscribes to one itself.
 */
import { parentPort, workerData } from 'node:worker_threads';
import {
  type ArrayHandle,
  attachArray,
  attachNotifier,
  type NotifierHandle,
} from '../../../src/index.js';

const { what, handle, notifier, stop } = workerData as {
  what: 'read' | 'watch' | 'watch and exit';
  handle: ArrayHandle;
  notifier: NotifierHandle;
  stop: Int32Array;
};
const array = attachArray(handle);

/**
 * Whether these numbers, which are written upwards, each round larger by one, have ever been in the
 * array at one moment.
 */
function isWhole(values: Int32Array): boolean {
  const [first] = values;
  let index = 1;
  while (index < values.length && values[index] === first) index++;
  while (index < values.length && values[index] === first - 1) index++;
  return index === values.length;
}

function read(): {
  good: number;
  torn: number;
  retries: number;
  tornRetries: number;
  rounds: number;
} {
  const data = array.data as Int32Array;
  const copy = new Int32Array(data.length);
  const reader = attachNotifier(notifier);
  let [good, torn, retries, tornRetries, rounds, last] = [0, 0, 0, 0, 0, -1];
  parentPort?.postMessage('ready');
  while (Atomics.load(stop, 0) === 0) {
    const begun = reader.readBegin();
    copy.set(data);
    if (reader.readRetry(begun)) {
      retries++;
      if (!isWhole(copy)) tornRetries++;
    } else if (isWhole(copy)) {
      good++;
      if (copy[0] !== last) rounds++;
      last = copy[0];
    } else torn++;
  }
  return { good, torn, retries, tornRetries, rounds };
}

if (what === 'read') parentPort?.postMessage(read());
else {
  const events: unknown[] = [];
  await array.watch({ onInvalidate: (event) => events.push(event) });
  await array.watch();
  parentPort?.postMessage('ready');
  // Lives until it is ended, or for as long as something is said to it.
  if (what === 'watch') setInterval(() => undefined, 1000);
}
