/** How threads of this process are started, and why one is not. */
import { Worker, type WorkerOptions } from 'node:worker_threads';

/** What may stand in the way of a thread, or of a process. */
export const LIMITS =
  'look whether a limit is reached: of processes and threads (ulimit -u, pids.max of the control group), ' +
  'of file descriptors (ulimit -n) or of memory';

export function startThread(file: URL, options: WorkerOptions): Worker {
  try {
    return new Worker(file, options);
  } catch (error) {
    // What Node.js says then is the name of the error alone.
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_WORKER_INIT_FAILED') throw error;
    const explained = new Error(`a thread could not be started (${message}); ${LIMITS}`, { cause: error });
    throw Object.assign(explained, { code: message });
  }
}
