/** A program that a daemon started: it attaches in two threads by what its environment says. */
import { once } from 'node:events';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { attachSpace } from '../../../src/index.js';
import add from './summing.js';

const where = { space: process.env.ONEMEM_SPACE ?? '', name: 'x' };
if (isMainThread) {
  const space = attachSpace(where.space);
  const middle = (space.find('x')?.length ?? 0) / 2;
  const worker = new Worker(new URL(import.meta.url), { workerData: { begin: 0, end: middle } });
  add({ where, begin: middle, end: 2 * middle });
  await once(worker, 'exit');
  await space.close();
} else add({ where, ...(workerData as { begin: number; end: number }) });
