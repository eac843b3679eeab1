/**
 * A worker thread opens a space, uses it, and ends in the way that it is told, without a close;
 * says what the process has of it then.
 */
import { readdirSync } from 'node:fs';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { kernel, openSpace, u32 } from '../../../src/index.js';
import { memoryFiles } from '../../harness/processes.js';
import { say } from './common.js';

const LENGTH = 1 << 20;

interface Held {
  readonly descriptors: number;
  readonly memoryFiles: number;
}

function held(): Held {
  return { descriptors: readdirSync('/proc/self/fd').length, memoryFiles: memoryFiles().length };
}

async function openInWorker(way: string): Promise<void> {
  const worker = new Worker(new URL(import.meta.url), { workerData: way });
  let pid = 0;
  worker.on('message', (device: number) => {
    pid = device;
  });
  // One that throws says so here, before it has ended.
  worker.on('error', () => undefined);
  const code = await new Promise((resolve) => worker.on('exit', resolve));
  say(`code ${code}, device ${readdirSync('/proc').includes(String(pid)) ? 'left' : 'gone'}`);
}

async function use(way: string): Promise<void> {
  const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  const x = space.array(Uint32Array, LENGTH);
  x.data.fill(1);
  const increment = kernel({ x: u32.inout }, ({ x }, { begin, end }) => {
    for (let i = begin; i < end; i++) x[i]++;
  });
  await space.devices[0].run(increment, { x }, { size: LENGTH });
  parentPort?.postMessage(space.devices[0].pid);
  process.on('exit', () => say(`element ${x.data[LENGTH - 1]}`));
  if (way === 'exit') process.exit(5);
  if (way === 'throw') throw new Error('thrown by the thread');
}

if (isMainThread) {
  const [way] = process.argv.slice(2);
  await openInWorker(way);
  // What the first one leaves that is made once does not count.
  const before = held();
  await openInWorker(way);
  const after = held();
  say(
    `more: ${after.descriptors - before.descriptors} descriptors, ${after.memoryFiles} memory files`,
  );
} else await use(workerData as string);
