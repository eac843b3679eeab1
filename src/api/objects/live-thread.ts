/** Threads that follow a space for its program: they end when they are told to, or with it. */
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { startThread } from '../../linux/threads/threads.js';

/** Starts one, and waits for what it says first. */
export async function startLiveThread<T>(
  file: URL,
  workerData: object,
  name: string,
): Promise<{ readonly thread: Worker; readonly said: T | { readonly failed: string } }> {
  const thread = startThread(file, { execArgv: [], workerData, name });
  const ended = once(thread, 'exit').then(() => [{ failed: 'its thread has ended' }]);
  try {
    const [said] = await Promise.race([once(thread, 'message'), ended]);
    return { thread, said: said as T };
  } catch (error) {
    // What the thread did not catch.
    return { thread, said: { failed: (error as Error).message } };
  } finally {
    // From now on the process may end when the program has.
    thread.unref();
  }
}

export async function endLiveThread(thread: Worker): Promise<void> {
  thread.ref();
  const exit = once(thread, 'exit');
  thread.postMessage('end');
  await exit;
}
