/** How a thread closes its space: for all if it opened the space, otherwise for itself. */
import type { Lender } from '../../drivers/webgpu/lender.js';
import { closeDescriptor } from '../../linux/base/libc.js';
import { Control } from '../../pager/protocol/control.js';
import type { Requests } from '../../pager/protocol/requests.js';
import type { SpaceHandle } from '../../pager/protocol/space.js';
import type { WireError } from '../../pager/protocol/wire.js';
import type { Client } from '../line/client.js';
import type { ManagerThreads } from '../line/manager-threads.js';
import type { Views } from '../line/views.js';
import { endLending } from '../options/lending.js';
import { fromWire } from '../values/errors.js';
import { keepLoopForCompiler } from './compiler-wait.js';
import { Takeover } from './late-uses.js';
import { type Leftover, leaveBehind, reclaim } from './leftovers.js';

type Closed = Requests['close']['out'];

export interface OpenedSpace {
  readonly client: Client;
  readonly views: Views;
  readonly handle: SpaceHandle;
  /** Of its manager; null where another thread opened the space. */
  readonly threads: ManagerThreads | null;
  /** Of GPUs that this thread has lent to it. */
  readonly lenders: Lender[];
  /** Called when this thread has nothing to do with the space any more. */
  readonly onClosed: () => void;
}

export async function closeSpace(space: OpenedSpace, timeoutMs: number | null): Promise<void> {
  const { client, views, handle, threads, lenders, onClosed } = space;
  if (threads === null) {
    client.unseenFailures.warn();
    client.close();
    views.freed(null);
    onClosed();
    await Promise.all(lenders.splice(0).map((lender) => lender.withdraw()));
    return;
  }
  const { wakeFd, bytes } = handle;
  const leftover: Leftover = {
    views,
    control: new Int32Array(handle.control),
    wakeFd,
    bytes,
    answers: false,
  };
  // As long as views are left, the manager's thread answers the faults on them.
  const none: End = { answers: false, lost: null };
  const { answers, lost } = client.isClosed
    ? none
    : await endManager(space, threads, timeoutMs, leftover);
  await endLending(lenders.splice(0));
  client.unseenFailures.warn();
  client.close();
  if (!answers) onClosed();
  views.freed(null);
  views.tryUnmap();
  leftover.answers = answers;
  leaveBehind(leftover);
  keepLoopForCompiler();
  if (lost !== null) throw fromWire(lost);
}

/**
 * The same for a worker thread that ends with a space open: the process goes on, and would keep the
 * memory of the space, its descriptors and its devices. Nothing of the program runs in this thread
 * any more, so that it may wait; it does for so many milliseconds.
 */
export function closeWithThread({ client, views, handle }: OpenedSpace, limitMs: number): void {
  const { wakeFd, bytes } = handle;
  const control = new Int32Array(handle.control);
  views.threadEnds();
  // What has been taken may be in use by another thread, and no thread would answer for its
  // addresses then.
  if (Atomics.load(control, Control.TakenViews) > 0) return;
  client.tell('close', { timeoutMs: 0, closed: [] });
  views.allGone();
  if (Atomics.wait(control, Control.Ended, 0, limitMs) === 'timed-out') return;
  views.tryUnmap();
  leaveBehind({ views, control, wakeFd, bytes, answers: false });
}

/** How a space has ended. */
interface End {
  /** Whether the manager's thread goes on, for views that are left. */
  readonly answers: boolean;
  /** What was written and is lost with it. */
  readonly lost: WireError | null;
}

async function endManager(
  { client, handle, onClosed }: OpenedSpace,
  threads: ManagerThreads,
  timeoutMs: number | null,
  leftover: Leftover,
): Promise<End> {
  let hasGone = false;
  const gone = new Promise<void>((resolve) => {
    threads.once('exit', () => {
      hasGone = true;
      resolve();
    });
  });
  threads.ref();
  const takeover = new Takeover();
  const request = client.request('close', { timeoutMs, closed: takeover.spaces });
  // A manager that fails on its way out does not answer.
  const { closed, lost } = await Promise.race([
    request,
    gone.then(() => lateAnswer(request)),
  ]).catch((error: unknown) => {
    takeover.cancel();
    threads.unref();
    throw error;
  });
  if (!closed || hasGone) {
    takeover.cancel();
    await gone;
    // The last view went before this thread heard that there was one.
    if (closed) closeDescriptor(closed.faults);
    return { answers: false, lost };
  }
  takeover.complete(threads, handle, closed);
  void gone.then(() => {
    onClosed();
    leftover.answers = false;
    reclaim();
  });
  threads.unref();
  return { answers: true, lost };
}

/**
 * The answer of a manager whose thread has ended already, or nothing where there is none: the two
 * come by different ways, so that what was said first may be heard last, in the next turn of the
 * event loop.
 */
function lateAnswer(request: Promise<Closed>): Promise<Closed> {
  const nothing: Closed = { closed: null, lost: null };
  const none = new Promise<Closed>((resolve) => {
    setImmediate(() => setImmediate(resolve, nothing));
  });
  return Promise.race([request.catch(() => nothing), none]);
}
