/** How threads of this process are started, and why one is not. */
import { closeSync, openSync } from 'node:fs';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/** What may stand in the way of a thread, or of a process. */
export const LIMITS =
  'look whether a limit is reached: of processes and threads (ulimit -u, pids.max of the control group), ' +
  'of file descriptors (ulimit -n) or of memory';

/** As many as a thread needs while it starts; it keeps four or five of them. */
export const THREAD_DESCRIPTORS = 8;

export class ThreadError extends Error {
  /** @param code the name of an error number */
  constructor(
    readonly code: string,
    cause?: unknown,
  ) {
    super(
      `a thread could not be started (${code}); ${LIMITS}`,
      cause === undefined ? {} : { cause },
    );
  }
}

export function startThread(file: URL, options: WorkerOptions): Worker {
  const shortage = descriptorShortage();
  if (shortage !== null) throw new ThreadError(shortage);
  try {
    return new Worker(file, options);
  } catch (error) {
    // What Node.js says then is the name of the error alone.
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_WORKER_INIT_FAILED') throw error;
    throw new ThreadError(message, error);
  }
}

/** Looked at before: Node.js loses those that it has opened when there are too few. */
function descriptorShortage(): string | null {
  const opened: number[] = [];
  try {
    while (opened.length < THREAD_DESCRIPTORS) opened.push(openSync('/dev/null', 'r'));
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'EMFILE' || code === 'ENFILE') return code;
  } finally {
    for (const fd of opened) closeSync(fd);
  }
  return null;
}
