/** Uses an array before and after another thread has resized it. */
import { openSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import {
  type ArrayHandle,
  attachArray,
  i32,
  kernel,
  type ManagedArray,
} from '../../../src/index.js';

const add = kernel({ x: i32.inout, by: i32 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += by;
});
const array = attachArray(workerData as ArrayHandle) as ManagedArray<Int32Array>;
const fresh = attachArray(workerData as ArrayHandle);
parentPort?.once('message', () => {
  const [device] = array.space.devices;
  const acts: Record<string, () => unknown> = {
    data: () => fresh.data,
    launch: () => device.run(add, { x: array, by: 1 }, { size: 5000 }),
    prefetch: () => device.stream().prefetch(array.range()),
    copy: () => device.stream().copy(array, new Int32Array(5000)),
    writeTo: () => array.writeTo(openSync('/dev/null', 'w')),
    residency: () => array.residency(),
    protect: () => array.protect('read'),
    resize: () => array.resize(10),
    clone: () => array.clone(),
    pin: () => array.pin(),
    free: () => array.free(),
    handle: () => array.handle,
  };
  void (async () => {
    const codes: Record<string, string> = {};
    for (const [name, act] of Object.entries(acts)) {
      codes[name] = 'none';
      try {
        await act();
      } catch (error) {
        codes[name] = (error as { code: string }).code;
      }
    }
    parentPort?.postMessage(codes);
  })();
});
parentPort?.postMessage(array.data[4999]);
