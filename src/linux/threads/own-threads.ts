/** How threads that are onemem's own start others. */
import type { Worker, WorkerOptions } from 'node:worker_threads';
import { CLONE_FS } from '../base/constants.js';
import { libc } from '../base/libc.js';
import { workingFolderIsGone } from '../processes/working-folder.js';
import { startThread } from './threads.js';

/**
 * Starts a thread. Where the working folder of the process was removed, in which Node.js starts
 * none, this thread has a folder of its own from then on, and so have those that it starts; that of
 * the program stays as it is.
 */
export function startOwnThread(file: URL, options: WorkerOptions): Worker {
  if (workingFolderIsGone() && libc.unshare(CLONE_FS) === 0) libc.chdir('/');
  return startThread(file, options);
}
