/** A thread that hands a typed array of its own to a device, and says whether the result is right. */
import { parentPort, workerData } from 'node:worker_threads';
import { attachSpace, i32, kernel, type SpaceHandle } from '../../../src/index.js';

const add = kernel({ x: i32.inout, by: i32 }, ({ x, by }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += by;
});

async function work(handle: SpaceHandle): Promise<void> {
  const [device] = attachSpace(handle).devices;
  const plain = new Int32Array(300_000);
  await device.run(add, { x: plain, by: 3 }, { size: plain.length });
  parentPort?.postMessage(plain.every((each) => each === 3));
  // It never gets round to giving anything back.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

if (workerData !== null) await work(workerData as SpaceHandle);
// Without one it only comes, and has the manager look who is still there.
else
  parentPort?.once('message', (handle: SpaceHandle) => {
    attachSpace(handle);
    parentPort?.postMessage(true);
  });
