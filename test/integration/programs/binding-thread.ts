/**
 * A thread that binds itself to the manager's CPU when it is told, and says how that went and which
 * CPUs it has.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { attachSpace, type SpaceHandle, type ThreadBinding } from '../../../src/index.js';
import { threadId } from '../../../src/linux/processes/process.js';
import { getAffinity } from '../../../src/linux/threads/affinity.js';

const handle = workerData as SpaceHandle | null;
let binding: ThreadBinding | null = null;

function carryOut(order: string | number | null): string | undefined {
  if (order === 'release') binding?.release();
  else if (order === 'leave' && handle !== null) void attachSpace(handle).close();
  else if (handle !== null) {
    try {
      binding = attachSpace(handle).bindThread(typeof order === 'number' ? { cpu: order } : {});
    } catch (error) {
      return `${(error as { code?: string }).code}: ${(error as Error).message}`;
    }
  }
  return undefined;
}

parentPort?.on('message', (order: string | number | null) => {
  const failure = carryOut(order);
  parentPort?.postMessage({
    thread: threadId(),
    cpus: getAffinity(),
    ...(failure === undefined ? {} : { failure }),
  });
});
parentPort?.postMessage({ thread: threadId(), cpus: getAffinity() });
