/**
 * A worker thread that opened a space is terminated. The main thread has a space of its own and,
 * unless the argument is 'alone', is attached to the worker's: then it touches a page there
 * ('touch') or has a kernel run ('launch').
 */
import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type ArrayHandle, attachArray, kernel, openSpace, u32 } from '../../../src/index.js';

const LENGTH = 1 << 20;
const options = { devices: [{ kind: 'process', memory: '8MiB' }] } as const;

async function main(how: string): Promise<void> {
  const fill = kernel({ x: u32.out }, ({ x }, { begin, end }) => {
    x.fill(7, begin, end);
  });
  const own = await openSpace(options);
  const mine = own.array(Uint32Array, LENGTH);
  mine.data.fill(3);
  const worker = new Worker(new URL(import.meta.url), { workerData: null });
  const [handle] = (await once(worker, 'message')) as [ArrayHandle<Uint32Array>];
  const theirs = how === 'alone' ? null : attachArray(handle);
  if (theirs !== null) console.log(`attached: ${theirs.data[0]}`);
  await worker.terminate();
  await own.devices[0].run(fill, { x: mine }, { size: LENGTH });
  console.log(`own: ${mine.data[LENGTH - 1]}`);
  if (how === 'touch') console.log(`theirs: ${theirs?.data[LENGTH - 1]}`);
  if (how === 'launch') await theirs?.space.devices[0].run(fill, { x: theirs }, { size: LENGTH });
  await own.close();
  console.log('closed');
}

async function open(): Promise<void> {
  const space = await openSpace(options);
  const x = space.array(Uint32Array, LENGTH, { name: 'x' });
  x.data[0] = 5;
  parentPort?.postMessage(x.handle);
  setInterval(() => undefined, 1000);
}

if (isMainThread) await main(process.argv[2]);
else if (workerData === null) await open();
