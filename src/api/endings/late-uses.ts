/**
 * Which thread answers late uses of the spaces that this thread has opened and closed: that of the
 * last one closed, as long as views are left. It takes over those that were closed before, so that
 * one thread answers for all.
 */
import { isMainThread } from 'node:worker_threads';
import { closeDescriptor } from '../../linux/base/libc.js';
import { notifyEventfd } from '../../linux/threads/eventfd.js';
import { type ClosedSpace, forsake, isUnmapped } from '../../pager/protocol/closed-space.js';
import { Control } from '../../pager/protocol/control.js';
import type { SpaceHandle } from '../../pager/protocol/space.js';
import type { ManagerThreads } from '../line/manager-threads.js';

interface Answerer {
  readonly handle: SpaceHandle;
  readonly spaces: readonly ClosedSpace[];
}

const answerers = new Set<Answerer>();
/**
 * How many managers may use the descriptor of a closed space. With the last one it is closed, and
 * only then: its number could be that of another file by the next use.
 */
const users = new Map<ClosedSpace, number>();
/** Those that a closing space is about to take over: no other one takes them meanwhile. */
const promised = new Set<ClosedSpace>();
let watchesExit = false;

/** What a space that is being closed takes over from those that were closed before. */
export class Takeover {
  readonly spaces: readonly ClosedSpace[];

  constructor() {
    const answered = [...answerers].flatMap(({ spaces }) => spaces);
    this.spaces = [...new Set(answered)].filter(
      (space) => !promised.has(space) && !isUnmapped(space.control),
    );
    for (const space of this.spaces) {
      promised.add(space);
      use(space);
    }
  }

  /** The space takes nothing over: it stays open, or no view of it is left and its thread ends. */
  cancel(): void {
    for (const space of this.spaces) {
      promised.delete(space);
      release(space);
    }
  }

  /** The space's manager answers for it and those taken over, until its threads end. */
  complete(threads: ManagerThreads, handle: SpaceHandle, own: ClosedSpace): void {
    const answerer: Answerer = { handle, spaces: [own, ...this.spaces] };
    use(own);
    for (const space of this.spaces) promised.delete(space);
    for (const before of answerers) {
      if (before.spaces.every((space) => isUnmapped(space.control) || this.spaces.includes(space)))
        stop(before);
    }
    answerers.add(answerer);
    threads.once('exit', () => {
      answerers.delete(answerer);
      for (const space of answerer.spaces) release(space);
    });
    watchExit();
  }
}

function use(space: ClosedSpace): void {
  users.set(space, (users.get(space) ?? 0) + 1);
}

function release(space: ClosedSpace): void {
  const left = (users.get(space) ?? 0) - 1;
  if (left > 0) {
    users.set(space, left);
    return;
  }
  users.delete(space);
  closeDescriptor(space.faults);
}

/** The answering threads end with the one that opened the spaces; others may have views. */
function watchExit(): void {
  if (watchesExit || isMainThread) return;
  watchesExit = true;
  process.once('exit', () => {
    for (const answerer of answerers) {
      stop(answerer);
      forsake(answerer.spaces);
    }
  });
}

function stop({ handle }: Answerer): void {
  Atomics.store(new Int32Array(handle.control), Control.Stop, 1);
  notifyEventfd(handle.wakeFd);
}
