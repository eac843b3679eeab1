/** Threads that follow a space for its program: they end when they are told to, or with it. */
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { startThread } from '../../linux/threads/threads.js';
import type { Failed } from '../../live/protocol.js';
import type { Client } from '../line/client.js';
import { OnememError } from '../values/errors.js';

interface LiveThread {
  readonly name: string;
  readonly what: string;
  readonly problem?: (failed: Failed) => string;
}

/**
 * Starts one, and waits for what it says first. Rejects with SERVE where it could not begin, and
 * with OTHER_PROCESS where the manager leaves that to the owner.
 * @param what is not done then
 * @param problem what is told of why
 */
export async function startLiveThread<T extends object>(
  client: Client,
  file: URL,
  workerData: object,
  { name, what, problem }: LiveThread,
): Promise<{ readonly thread: Worker; readonly said: Exclude<T, Failed> }> {
  client.assertOpen(what);
  const thread = startThread(file, { execArgv: [], workerData, name });
  const said = await firstMessage<T>(thread);
  if (!('failed' in said)) return { thread, said: said as Exclude<T, Failed> };
  await thread.terminate();
  client.assertOpen(what);
  if (said.code === 'OTHER_PROCESS')
    throw new OnememError('OTHER_PROCESS', `${what}: ${said.failed}`);
  throw new OnememError('SERVE', `${what}: ${problem?.(said as Failed) ?? said.failed}`);
}

async function firstMessage<T>(thread: Worker): Promise<T | Failed> {
  const ended = once(thread, 'exit').then(() => [{ failed: 'its thread has ended', code: '' }]);
  try {
    const [said] = await Promise.race([once(thread, 'message'), ended]);
    return said as T | Failed;
  } catch (error) {
    // What the thread did not catch.
    return { failed: (error as Error).message, code: '' };
  } finally {
    // From now on the process may end when the program has.
    thread.unref();
  }
}

export async function endLiveThread(thread: Worker): Promise<void> {
  // It has ended already, with a space that another thread closed.
  if (thread.threadId === -1) return;
  thread.ref();
  const exit = once(thread, 'exit');
  thread.postMessage('end');
  await exit;
}
