/**
 * A thread that attaches to a space, looks at an array, works on it, and leaves in the way that it
 * is told.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { type ArrayHandle, attachArray, type NumericArray } from '../../src/index.js';
import { KERNELS } from './kernels.js';

export interface Visit {
  readonly handle: ArrayHandle;
  readonly expected: NumericArray;
  readonly begin: number;
  readonly end: number;
  readonly value: number;
  /** Name of a device on which it adds the value as well, or null. */
  readonly device: string | null;
  readonly leave: 'end' | 'close' | 'exit' | 'wait';
}

const { handle, expected, begin, end, value, device: deviceName, leave } = workerData as Visit;
const array = attachArray(handle);
const { data } = array;
for (let i = 0; i < expected.length; i++) {
  if (data[i] !== expected[i])
    throw new Error(`array ${handle.name}[${i}] is ${data[i]} in a thread, not ${expected[i]}`);
}
const big = typeof data[0] === 'bigint';
const item = (big ? BigInt(value) : value) as never;
data.fill(item, begin, end);
const device = array.space.devices.find((each) => each.name === deviceName);
if (device !== undefined) {
  await device.run(KERNELS[handle.type].add, { x: array, by: item } as never, {
    size: array.length,
  });
}
parentPort?.postMessage('done');
if (leave === 'close') await array.space.close();
if (leave === 'exit') process.exit(0);
// Until it is ended or told to end.
if (leave === 'wait') parentPort?.once('message', () => parentPort?.unref());
