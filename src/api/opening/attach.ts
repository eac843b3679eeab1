/** Spaces and arrays of other threads of this process, from their handles. */
import { isMainThread, type Worker } from 'node:worker_threads';
import type { NumericArray } from '../../core/basics/elements.js';
import { witnessFile } from '../../linux/own-files.js';
import { threadExists, threadId } from '../../linux/processes/process.js';
import { startThread } from '../../linux/threads/threads.js';
import { readHandle, SPACE_NAME } from '../../pager/protocol/attaching.js';
import { Control, LISTED_THREADS } from '../../pager/protocol/control.js';
import type { SpaceHandle } from '../../pager/protocol/space.js';
import { type ArrayHandle, checkArrayHandle } from '../arrays/parts/array-handle.js';
import { checkSpaceHandle, checkUnchanged, FOR_OTHER_PROCESSES } from '../line/space-handle.js';
import { AddressSpace as SpaceClass } from '../objects/address-space.js';
import type { AddressSpace, ManagedArray } from '../public.js';
import { isObject, show } from '../values/arguments.js';
import { OnememError, typeError } from '../values/errors.js';
import { attachProcess } from './attach-process.js';

function listThread(control: Int32Array): void {
  const own = threadId();
  for (let place = 0; place < LISTED_THREADS; place++) {
    const word = Control.Threads + place;
    const there = Atomics.load(control, word);
    if (there === own) return;
    if (there !== 0 && threadExists(there)) continue;
    if (Atomics.compareExchange(control, word, there, own) === there) return;
  }
  Atomics.add(control, Control.UnlistedThreads, 1);
}

const attached = new Map<string, SpaceClass>();

/**
 * The space that another thread or process opened. A thread of the same process passes
 * `space.handle`, another process of the same user the text that `space.share()` gives. Attaching
 * twice gives the same object. Throws OWNER_LOST if the other process has ended, ADDRESS_SPACE if
 * the addresses of the space are taken here, PROCESSES if there is no room for one more, and
 * SPACE_HANDLE for something else.
 * @example
 * import { attachSpace, openSpace } from 'onemem';
 *
 * const space = await openSpace();
 * const same = attachSpace(space.handle); // in a worker, of workerData
 * console.log(same.stats().processors[0].name); // host
 * await space.close();
 */
export function attachSpace(handle: SpaceHandle | string): AddressSpace {
  const text = textOf(handle);
  if (text !== null) return attachByText(text);
  checkSpaceHandle(handle);
  if (handle.owner !== process.pid) {
    throw new OnememError(
      'OTHER_PROCESS',
      `the space belongs to process ${handle.owner}; ${FOR_OTHER_PROCESSES}`,
    );
  }
  checkUnchanged(handle);
  const known = attached.get(handle.name);
  if (known !== undefined && !known.isClosed) return known;
  const control = new Int32Array(handle.control);
  // Counted before the look at the state: a thread that closes the space meanwhile sees the count,
  // or this one sees the space closed.
  Atomics.add(control, Control.AttachedThreads, 1);
  listThread(control);
  const witness = Atomics.load(control, Control.OpenedByWorker) === 1 ? startWitness(handle) : null;
  let counted = true;
  const leave = (): void => {
    if (counted) Atomics.sub(control, Control.AttachedThreads, 1);
    counted = false;
    void witness?.terminate();
    attached.delete(handle.name);
  };
  let space: SpaceClass;
  try {
    space = new SpaceClass(handle, null, leave);
  } catch (error) {
    leave();
    throw error;
  }
  attached.set(handle.name, space);
  if (!isMainThread) {
    process.once('exit', () => {
      space.views.threadEnds();
      space.client.close(true);
      leave();
      space.views.allGone();
    });
  }
  return space;
}

/** The text of a handle for other processes; null: it is for threads of its own process. */
function textOf(handle: unknown): string | null {
  if (typeof handle === 'string') return handle;
  const { attach, attachedBy } = (isObject(handle) ? handle : {}) as {
    attach?: unknown;
    attachedBy?: unknown;
  };
  return typeof attach === 'string' ? attach : typeof attachedBy === 'string' ? attachedBy : null;
}

function attachByText(text: string): AddressSpace {
  const parts = readHandle(text);
  if (parts === null)
    throw typeError(
      'SPACE_HANDLE',
      SPACE_NAME.test(text)
        ? `${show(text)} is no handle of a space; a space of that name opens by openSpace({ at: ${show(text)} })`
        : `${show(text)} is no handle of a space; pass what space.share() gives, as it is`,
    );
  if (parts.owner === process.pid)
    throw typeError(
      'SPACE_HANDLE',
      'this process opened the space: its threads attach by space.handle, which postMessage() and workerData pass',
    );
  const known = attached.get(text);
  if (known !== undefined && !known.isClosed) return known;
  const space = attachProcess(text, parts, () => {
    if (attached.get(text) === space) attached.delete(text);
  });
  attached.set(text, space);
  return space;
}

/** Where a worker thread opened the space, a witness must see whether that thread still lives. */
function startWitness({ control }: SpaceHandle): Worker {
  const witness = startThread(witnessFile(), {
    execArgv: [],
    workerData: control,
    name: 'onemem witness',
  });
  witness.unref();
  return witness;
}

/**
 * The array that another thread of this process made, from its handle. Throws STALE_HANDLE if the
 * array has moved since, and USE_AFTER_FREE if it was freed.
 * @example
 * import { attachArray, openSpace } from 'onemem';
 *
 * const space = await openSpace();
 * const x = space.array(Int32Array, 10);
 * const same = attachArray(x.handle); // in a worker, of workerData
 * same.data[0] = 5;
 * console.log(x.data[0]); // 5
 * await space.close();
 */
// biome-ignore lint/suspicious/noExplicitAny: what came as a message has no type, and then neither has the array.
export function attachArray<T extends NumericArray = any>(handle: ArrayHandle<T>): ManagedArray<T> {
  checkArrayHandle(handle);
  const space = attachSpace(handle.space);
  return space.attachArray({ ...handle, space: space.handle });
}
