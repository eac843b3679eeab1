/** How a thread closes its space: for all, if it is the thread that opened the space, and otherwise for itself. */
import type { Worker } from 'node:worker_threads';
import type { SpaceHandle } from '../pager/protocol/space.js';
import type { Client } from './client.js';
import { Takeover } from './late-uses.js';
import { type Leftover, leaveBehind, reclaim } from './leftovers.js';
import type { Views } from './views.js';

/** A space as one thread has it. */
export interface OpenedSpace {
  readonly client: Client;
  readonly views: Views;
  readonly handle: SpaceHandle;
  /** The thread that watches the manager; null where another thread opened the space. */
  readonly sentinel: Worker | null;
  /** Called when this thread has nothing to do with the space any more. */
  readonly onClosed: () => void;
}

export async function closeSpace(space: OpenedSpace, timeoutMs: number | null): Promise<void> {
  const { client, views, handle, sentinel, onClosed } = space;
  if (sentinel === null) {
    client.close();
    views.freed(null);
    onClosed();
    return;
  }
  const { wakeFd, bytes } = handle;
  const leftover: Leftover = { views, control: new Int32Array(handle.control), wakeFd, bytes, answers: false };
  // As long as views are left, the manager's thread answers who uses them.
  const answers = !client.isClosed && (await endManager(space, sentinel, timeoutMs, leftover));
  client.close();
  if (!answers) onClosed();
  views.freed(null);
  views.tryUnmap();
  leftover.answers = answers;
  leaveBehind(leftover);
}

/** Whether the manager's thread goes on, for views that are left. */
async function endManager(
  { client, handle, onClosed }: OpenedSpace,
  sentinel: Worker,
  timeoutMs: number | null,
  leftover: Leftover,
): Promise<boolean> {
  const gone = new Promise<void>((resolve) => sentinel.once('exit', () => resolve()));
  sentinel.ref();
  const takeover = new Takeover();
  const request = client.request('close', { timeoutMs, closed: takeover.spaces });
  // A manager that fails on its way out does not answer.
  const closed = await Promise.race([request, gone]).catch((error: unknown) => {
    takeover.cancel();
    sentinel.unref();
    throw error;
  });
  if (!closed) {
    takeover.cancel();
    await gone;
    return false;
  }
  takeover.complete(sentinel, handle, closed);
  void gone.then(() => {
    onClosed();
    leftover.answers = false;
    reclaim();
  });
  sentinel.unref();
  return true;
}
