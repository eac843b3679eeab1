/**
 * A thread that has a stream take the memory of a view, and forgets everything else of the array.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { type ArrayHandle, attachArray } from '../../../src/index.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const said = (): Promise<unknown> => new Promise((resolve) => parentPort?.once('message', resolve));

async function take(): Promise<Uint8Array> {
  const stream = new ReadableStream<Uint8Array>({
    type: 'bytes',
    start: (controller: ReadableByteStreamController) => {
      controller.enqueue(attachArray(workerData as ArrayHandle).data as Uint8Array<ArrayBuffer>);
      controller.close();
    },
  } as never);
  const { value } = await stream.getReader().read();
  return value as Uint8Array;
}

const taken = await take();
parentPort?.postMessage('taken');
await said();
for (let i = 0; i < 5; i++) {
  collect();
  await new Promise((resolve) => setTimeout(resolve, 10));
}
parentPort?.postMessage('collected');
await said();
parentPort?.postMessage(taken[0]);
