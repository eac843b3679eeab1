/** A thread that is there before a device is. */
import { parentPort, workerData } from 'node:worker_threads';
import {
  type ArrayHandle,
  attachArray,
  i32,
  kernel,
  type ManagedArray,
} from '../../../src/index.js';

const array = attachArray((workerData as { array: ArrayHandle }).array) as ManagedArray<Int32Array>;
const add = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});
const names = (): string[] => array.space.devices.map(({ name }) => name);

parentPort?.once('message', async () => {
  for (const device of array.space.devices)
    await device.run(add, { x: array }, { size: array.length });
  parentPort?.postMessage(names());
});
parentPort?.postMessage(names());
